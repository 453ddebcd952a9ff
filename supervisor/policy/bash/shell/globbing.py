"""Patterns inside expansions: `${x#pattern}`, `${x/pattern/text}`."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from supervisor.policy.bash.shell.algebra import alone, escaped, literal
from supervisor.policy.bash.shell.syntax import Parts
from supervisor.policy.bash.value import HOLE, UNKNOWN, Value

if TYPE_CHECKING:
    from supervisor.policy.bash.shell.expand import Machine

_LONGEST: Final = 600
_MOST_STARS: Final = 4
_LONGEST_MATCHED: Final = 100
_HEAVY: Final = re.compile(r"\)[*+{?]|(?:[*+{].*){4}|\(\?|\[\[:|\\|.{200}", re.DOTALL)
"""Expressions that could take long, or that mean something else elsewhere."""

_CLASS: Final = re.compile(r"\[[!^]?\]?[^\]/]*\]")


def pattern_of(machine: "Machine", parts: Parts) -> str | None:
    """The parts as a glob in which quoted characters stand behind a backslash; None if unknown."""
    made: list[str] = []
    for piece in parts:
        text = alone(machine.scalar((piece,)))
        if text is None:
            return None
        made.append(escaped(text) if getattr(piece, "quoted", True) else text)
    return "".join(made)


@lru_cache(maxsize=512)
def _compiled(glob: str) -> re.Pattern[str] | None:
    made: list[str] = []
    at = stars = 0
    while at < len(glob):
        here = glob[at]
        if here == "\\" and at + 1 < len(glob):
            made.append(re.escape(glob[at + 1]))
            at += 2
            continue
        if here == "*":
            stars += 1
            made.append(".*")
        elif here == "?":
            made.append(".")
        elif here == "[" and (group := _CLASS.match(glob, at)) is not None:
            inside = group[0][1:-1]
            negated = inside[:1] in ("!", "^")
            inside = re.sub(r"([\\\[\]&~|])", r"\\\1", inside[negated:])
            made.append(f"[{'^' if negated else ''}{inside}]")
            at = group.end()
            continue
        else:
            made.append(re.escape(here))
        at += 1
    if stars > _MOST_STARS:
        return None
    try:
        return re.compile("".join(made), re.DOTALL)
    except re.error:
        return None


def matched(text: str, glob: str) -> bool | None:
    """Whether a glob fits a text; None if it can't be told, or depends on the shell's options."""
    if "(" in glob or len(text) > _LONGEST or HOLE in glob:
        return None
    pattern, folded = _compiled(glob), _compiled(glob.lower())
    if pattern is None or folded is None or "[:" in glob:
        return None
    fits = pattern.fullmatch(text) is not None
    return fits if fits == (folded.fullmatch(text.lower()) is not None) else None


def groups(text: Value, expression: Value) -> dict[str, Value]:
    """`${BASH_REMATCH[@]}` after `text =~ expression`, where both are known and simple."""
    given, wanted = alone(text), alone(expression)
    if given is None or wanted is None or len(given) > _LONGEST_MATCHED or _HEAVY.search(wanted):
        return {"@": UNKNOWN}
    try:
        match = re.search(wanted, given)
    except (re.error, OverflowError, RecursionError):
        return {"@": UNKNOWN}
    if match is None:
        return {}
    found = [match[0], *(each or "" for each in match.groups())]
    return {str(place): literal(each) for place, each in enumerate(found)}


def removed(text: str, glob: str, operator: str) -> str:
    """`#`, `##`, `%`, `%%`; a hole if it would take too long to tell."""
    if not re.search(r"[*?\[\\]", glob):
        if operator[0] == "#":
            return text.removeprefix(glob)
        return text.removesuffix(glob)
    pattern = _compiled(glob)
    if pattern is None or len(text) > _LONGEST:
        return HOLE
    sizes = range(len(text) + 1)
    for size in reversed(sizes) if operator in ("##", "%%") else sizes:
        if operator[0] == "#":
            if pattern.fullmatch(text, 0, size):
                return text[size:]
        elif pattern.fullmatch(text, len(text) - size):
            return text[: len(text) - size]
    return text


def replaced(text: str, glob: str, new: str, *, every: bool) -> str:  # noqa: PLR0911 - one for each kind
    """`/` and `//`; a hole if it would take too long to tell."""
    anchor = glob[:1] if glob[:1] in ("#", "%") and not every else ""
    glob = glob[len(anchor) :]
    if not glob:
        return new + text if anchor == "#" else text + new if anchor == "%" else text
    if not anchor and not re.search(r"[*?\[\\]", glob):
        return text.replace(glob, new, -1 if every else 1)
    pattern = _compiled(glob)
    if pattern is None or len(text) > _LONGEST:
        return HOLE
    if anchor == "#":
        match = pattern.match(text)
        return new + text[match.end() :] if match else text
    if anchor == "%":
        for start in range(len(text) + 1):
            if pattern.fullmatch(text, start):
                return text[:start] + new
        return text
    return pattern.sub(lambda _: new, text, count=0 if every else 1)
