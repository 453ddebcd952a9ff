"""Where values and functions go in code: other names of functions, and texts that reach a call.

A call that reads a file, or runs a program, may get its argument through a variable, a loop, a
function of the code's own. Then each text in the code may be it, unless it is only printed or
compared.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from supervisor.policy.bash.carried import likely
from supervisor.policy.bash.code_tokens import Token, Tokens
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.literals import A_SHELL, doubtful
from supervisor.policy.bash.places import looks_like_path
from supervisor.policy.bash.roles_of_code import RUNS, Glob, call_roles
from supervisor.policy.bash.table import Language
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import HOLE, Text, Value, known
from supervisor.policy.globs import has_magic

PARTS: Final = re.compile(r"\.|::|->|\\")
OF_TEXTS: Final = frozenset(
    """startsWith endsWith start_with end_with add has get set equals append push add_to sub gsub
    contains isEqual includes indexOf Set print puts p pp say echo printf log error warn info debug
    cat message writeln println display inspect dump stringify json_encode test match split replace
    grep reject throw Error die raise""".split()  # noqa: SIM905
)
"""Calls that take a text as a text, never as a file."""
_FILES: Final = frozenset({"read", "open", "handle", "edit", "move", "delete", "write", "mode"})
_TAKEN_APART: Final = re.compile(r"\{([^{}]*)\}\s*=\s*(?:await\s+)?(?:require|import)\b")
_IMPORTED: Final = re.compile(r"\bimport\s*\{([^{}]*)\}\s*from\b")
_RENAMED: Final = re.compile(r"(\w+)\s*:\s*(\w+)")
_AS: Final = re.compile(r"(\w+)\s+as\s+(\w+)")
_WRAPS: Final = frozenset({"promisify", "method", "bind", "partial", "curry"})
_LONGEST: Final = 64
"""Tokens of an expression that may be a function."""
LOADS: Final = frozenset({"require", "import"})
_SHELL: Final = re.compile(rf"\s*\|?\s*{A_SHELL}\s*")
_WORDS: Final = ("%w", "qw", "%i")
_MOST_PARTLY: Final = 4
_MOST_FILLED: Final = 8
_COMPARES: Final = frozenset({"eq", "ne", "in", "instanceof", "when", "case"})


def last_part(name: str) -> str:
    """The end of a name: `exec` of `child_process.exec`."""
    return name if name.isidentifier() else PARTS.split(name)[-1]


def name_modules(language: Language, tokens: Tokens) -> None:
    """`require("m").f(…)` and `require("m")(…)` become `m.f(…)` and `m(…)`, if that is known."""
    every = tokens.all
    starts = [at for at, each in enumerate(every) if each.text in LOADS]
    for at in reversed(starts):  # the places of those before stay
        module = every[at + 2].value if at + 2 < len(every) else None
        if module is None or tokens.text(at + 1) != "(" or tokens.text(at + 3) != ")":
            continue
        name, end = module.removeprefix("node:"), at + 4
        if tokens.text(end) == ".":
            name, end = f"{name}.{tokens.text(end + 1)}", end + 2
        if name in language.calls:
            tokens.put(at, end, Token("name", name))


def renamed(code: str) -> dict[str, str]:
    """New names of functions that are taken out of a module: `{exec: e} = require(…)`."""
    if "require" not in code and "import" not in code:
        return {}
    pairs = [
        pair for found in _TAKEN_APART.finditer(code) for pair in _RENAMED.findall(found[1])
    ] + [pair for found in _IMPORTED.finditer(code) for pair in _AS.findall(found[1])]
    return {alias: name for name, alias in pairs}


def roles_of(language: Language, name: str, *, method: bool) -> tuple[str, ...] | None:
    """The roles of a call's arguments by its full name, or as a method by the end of its name."""
    roles = language.calls.get(name)
    last = last_part(name)
    if roles is None and (last != name or method):
        roles = language.calls.get(f".{last}") or language.calls.get(last)
    return roles


def any_named(language: Language, name: str) -> tuple[str, ...] | None:
    """The roles of a function by its last name alone, as `method(:read)` gives it."""
    roles = language.calls.get(name) or language.calls.get(f".{name}")
    return language.by_end.get(name) if roles is None else roles


def function_meant(language: Language, tokens: Tokens, at: int) -> str | None:  # noqa: C901 - a case a kind
    """The known function that an expression is (not its result): `cp.exec`, `promisify(exec)`."""
    every = tokens.all
    last: str | None = None
    limit = min(len(every), at + _LONGEST)
    while at < limit:
        each = every[at]
        if each.kind == "name":
            if last is not None and tokens.text(at - 1) not in {".", ")"}:
                break
            last = each.text
            at += 1
        elif each.text == "(":
            end = _closing(tokens, at)
            inner = every[end - 1] if end > at + 1 else None
            if last in LOADS and inner is not None and tokens.text(end + 1) not in {".", "[", "("}:
                name = (inner.value or "").removeprefix("node:")
                return name if name in language.calls else None
            wraps = last is not None and last_part(last) in _WRAPS
            if wraps and inner is not None:
                name = inner.text if inner.kind == "name" else inner.value or ""
                return name if any_named(language, last_part(name)) else None
            at = end + 1
            if tokens.text(at) not in {".", "["}:
                return None
        elif each.text == "[":
            end = _closing(tokens, at)
            last = "".join(one.value or "" for one in every[at + 1 : end]) or None
            at = end + 1
        elif each.text in {".", "\\", "&", ":"} and (last is None or each.text == "."):
            at += 1
        else:
            break
    if last is None or tokens.text(at) == "(":
        return None
    name = last.lstrip("\\&$@")
    known = roles_of(language, name, method=True) or any_named(language, last_part(name))
    return name if known else None


def _closing(tokens: Tokens, at: int) -> int:
    depth = 0
    for place in range(at, min(len(tokens.all), at + _LONGEST)):
        text = tokens.all[place].text
        depth += (text in {"(", "[", "{"}) - (text in {")", "]", "}"})
        if depth == 0:
            return place
    return min(len(tokens.all), at + _LONGEST) - 1


class Unsure:
    """Calls that get what can't be told, and the texts of the code that may be it."""

    def __init__(self) -> None:
        self._partly: list[tuple[Sequence[str], list[object]]] = []
        """Programs that are started with words of which some can't be told."""
        self._files = False
        self._runs = False
        self._shell = False
        """Whether one starts a bare shell, which runs what is printed to it."""
        self._clears = False
        """Whether one removes a folder with all below it."""

    def note(self, roles: Iterable[str], values: list[object] | None) -> None:
        """A call with its arguments; None where the function itself is handed on."""
        role = next(iter(roles), "").lstrip(".")
        first = _first_word(values[0]) if values else ""
        piped = role == "open" and first.lstrip()[:1] == "|"
        if (role in RUNS or piped) and _SHELL.fullmatch(first):
            self._shell = self._runs = True
        kind = role.rstrip("*?")
        partly = kind in RUNS and values and not _untold(values[0]) and any(map(_has_hole, values))
        if partly and values and len(self._partly) < _MOST_PARTLY:
            self._partly.append((tuple(roles), values))
        if values is None or not values or _untold(values[0]):
            self._files = self._files or kind in _FILES
            self._runs = self._runs or kind in RUNS
            self._clears = self._clears or role == "delete*"

    def tell(self, use: Use, tokens: Tokens) -> None:
        """What the texts of the code may be for these calls."""
        if self._partly:
            self._filled(use, tokens)
        if not (self._files or self._runs):
            return
        texts: list[str] = []
        joins = False
        for at, each in enumerate(tokens.all):
            if (
                each.value
                and each.kind not in {"number", "tick"}
                and (self._shell or not is_quiet(tokens, at))
            ):
                if joins and texts:
                    texts[-1] += each.value
                else:
                    texts.append(each.value)
                if each.kind == "quoted" and each.text[:2] in _WORDS:
                    texts.extend(each.value.split())
                joins = False
            else:
                joins = each.text in {"+", "."}
        if self._runs:
            texts.extend(_in_rows(tokens))
        doubtful(use, texts, "system" if self._runs else "")
        for text in texts if self._clears else ():
            if text.startswith(("/", "~")) and looks_like_path(text):
                value = Value((Text(text, text),)) if has_magic(text) else known(text)
                use.emit(Act.DELETE, "may be removed by code", value, recursive=True)

    def _filled(self, use: Use, tokens: Tokens) -> None:
        """The paths that stand in the code, in the places of the words that can't be told."""
        for path in _paths_in(tokens):
            for roles, values in self._partly:
                given = Glob(path) if has_magic(path) else path
                use.outside, kept = (given,), use.outside
                likely(use, lambda r=roles, v=values: call_roles(use, r, None, v, {}))  # type: ignore[misc]
                use.outside = kept


def _paths_in(tokens: Tokens) -> list[str]:
    """Texts of the code that are paths, each word of a list of words for itself."""
    found: dict[str, None] = {}
    for at, each in enumerate(tokens.all):
        if each.value and each.kind not in {"number", "tick"} and not is_quiet(tokens, at):
            words = each.value.split() if each.kind == "quoted" else [each.value]
            found.update(dict.fromkeys(word for word in words if looks_like_path(word)))
    return list(found)[:_MOST_FILLED]


def _first_word(value: object) -> str:
    first = value[0] if isinstance(value, list) and len(value) == 1 else value
    return first if isinstance(first, str) else ""


def _has_hole(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_has_hole, value))
    return value is None or (isinstance(value, str) and HOLE in value)


def _untold(value: object) -> bool:
    if isinstance(value, list):
        return not value or any(_untold(each) for each in value)
    return value is None or (
        isinstance(value, str) and value.startswith(HOLE) and value.endswith(HOLE)
    )


def _in_rows(tokens: Tokens) -> list[str]:
    """Texts with commas between them, as the words of a command (`["sudo", "id"]`)."""
    rows: list[list[str]] = [[]]
    for at, each in enumerate(tokens.all):
        if each.value is not None and each.kind != "number":
            if tokens.text(at - 1) != ",":
                rows.append([])
            rows[-1].append(each.value)
    return [" ".join(each) for each in rows if len(each) > 1]


def is_quiet(tokens: Tokens, at: int) -> bool:
    """Whether a text is only printed, compared or looked for."""
    before, after = tokens.text(at - 1), tokens.text(at + 1)
    if before in _COMPARES or (before == "=" and tokens.text(at - 2) in {"=", "!"}):
        return True
    if (after in {"=", "!"} and tokens.text(at + 2) == "=") or after in _COMPARES:
        return True
    place, first = at - 1, max(at - _LONGEST, -1)
    while place > first and (
        tokens.text(place) in {"(", "[", ","} or tokens.all[place].value is not None
    ):
        place -= 1
    name = tokens.text(place)
    return place > first and last_part(name) in OF_TEXTS
