"""What a glob in a call can mean: where it starts, and whether it is meant for denied names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from wcmatch import glob as wcglob

from supervisor.policy.deny_list import DenyList

MOST_ALTERNATIVES = 64
MOST_STEPS = 512
"""Braces that are opened in one pattern."""
MOST_GROUPS = 32
"""Of bash's groups in one pattern; of more, all are read by the same number of their choices."""
LARGEST_TOGETHER = 1_048_576
"""Characters of all alternatives of one pattern together; of two there may be more."""
LONGEST_UNDERSTOOD = 16_384
"""Characters of a glob of which it is worth finding out what it matches."""
_LONGEST_NAME_GLOB = 4_096
_MAGIC = re.compile(r"[*?\[\]{}]|[@+!]\(")
_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"([A-Za-z0-9])\.\.([A-Za-z0-9])\Z")
_STRAY = re.compile(r"[\[\]{}]")
_SPAN = re.compile(r"(.)-(.)|(.)", re.DOTALL)
_SET = re.compile(r"\[[!^]?\]?[^\]]{0,1024}\]")
"""Bounded, so that brackets that are never closed don't cost the square of the pattern's length."""
_CONTAINS = re.compile(r"(?<![^/])\*+[A-Za-z]+\*+\Z")
_NESTED = re.compile(r"(?<!\\)((?:\\\\)*)\[\[")
"""A `[` as the first of a set in a regular expression, of which `re` warns."""
_SET_OF_ONE = re.compile(r"\[([^]!^])\]")
_SIGNS = re.compile(r"[*?\[\](){}|!@+\\-]")
_GROUP = re.compile(r"([?*+@!])\(([^()]*)\)")


def has_magic(text: str) -> bool:
    """Whether the text is a pattern rather than a name."""
    return _MAGIC.search(text) is not None


@dataclass(frozen=True, slots=True)
class Expansion:
    """A pattern with its braces written out; not `complete`: a limit left some as they were."""

    texts: tuple[str, ...]
    complete: bool = True


def expand(pattern: str, *, ranges: bool = False) -> Expansion:
    """The pattern with its braces written out, innermost first, those of one choice too.

    `ranges`: `{a..c}` is written out as well, as a shell does and a search doesn't.
    """
    # Each alternative is about as long as the pattern, and each step makes one anew.
    most = min(MOST_ALTERNATIVES, max(2, LARGEST_TOGETHER // (len(pattern) or 1)))
    pending, done = [pattern], list[str]()
    for _ in range(most * MOST_STEPS // MOST_ALTERNATIVES):
        if not pending or len(done) + len(pending) > most:
            break
        text = pending.pop()
        match = _BRACES.search(text)
        if match is None:
            done.append(text)
            continue
        before, after = text[: match.start()], text[match.end() :]
        choices = _range(match.group(1)) if ranges else None
        pending.extend(before + each + after for each in choices or match.group(1).split(","))
    return Expansion(tuple(dict.fromkeys([*done, *pending])), complete=not pending)


def alternatives(pattern: str, *, ranges: bool = False) -> tuple[str, ...]:
    """The texts of `expand`: where a limit was met, some with braces left in them."""
    return expand(pattern, ranges=ranges).texts


def _range(body: str) -> list[str] | None:
    match = _RANGE.match(body)
    if match is None:
        return None
    first, last = match.group(1), match.group(2)
    if first.isdigit() != last.isdigit():
        return None
    step = 1 if ord(first) <= ord(last) else -1
    return [chr(each) for each in range(ord(first), ord(last) + step, step)]


def is_understood(pattern: str) -> bool:
    """Whether it is certain what this glob matches; of one that isn't, anything must be expected.

    Readers of globs differ in escapes, classes, and braces or brackets that are left open.
    """
    if len(pattern) > LONGEST_UNDERSTOOD:
        return False
    found = expand(pattern)
    return (
        found.complete
        and "\\" not in pattern
        and "[:" not in pattern
        and not any(_STRAY.search(_SET.sub("", text)) for text in found.texts)
    )


def fixed_prefixes(pattern: str) -> tuple[str, ...]:
    """For each alternative of the pattern the folder (or file) that all its matches lie in.

    Empty where a pattern starts with a wildcard: its matches lie where the search starts.
    """
    return tuple(dict.fromkeys(_fixed_prefix(each) for each in alternatives(pattern)))


def _fixed_prefix(pattern: str) -> str:
    kept: list[str] = []
    for part in pattern.split("/"):
        if has_magic(part):
            break
        kept.append(part)
    joined = "/".join(kept)
    return "/" if not joined and pattern.startswith("/") else joined


def only_means_denied(pattern: str, denied: DenyList) -> str | None:
    """A denied name that this pattern is evidently written for, or None.

    Evident is a pattern that denies itself once its wildcards are taken for nothing, or for a
    letter: `.env*`, `*.pem`, `[.]env`, `**/credentials*.json`; not `*`, `*.json`, `*env*`, and no
    word of letters that may stand anywhere in a name (`*credentials*`). So is one that spells most
    of a denied name (`id_r?a`), or half of one that begins with a dot.
    """
    pattern = _SET_OF_ONE.sub(r"\1", pattern)
    for each in alternatives(pattern):
        for plain in _without_groups(each):
            # A word of letters that may stand anywhere in a name isn't one of the list.
            for reading in readings(_CONTAINS.sub("x", plain)):
                if denied.match(reading) is not None:
                    return reading
        spelt = _spelt_name(each, denied)
        if spelt is not None:
            return spelt
    return None


def _without_groups(pattern: str) -> tuple[str, ...]:
    """The pattern with bash's groups (`@(a|b)`, `?(a)`) as one of their choices, or as nothing."""
    if pattern.count("(") > MOST_GROUPS:
        return _with_like_choices(pattern)
    pending, done = [pattern], list[str]()
    while pending and len(done) + len(pending) <= MOST_ALTERNATIVES:
        text = pending.pop()
        match = _GROUP.search(text)
        if match is None:
            done.append(text)
            continue
        kind, choices = match.group(1), match.group(2).split("|")
        if kind in "?*":
            choices.append("")
        before, after = text[: match.start()], text[match.end() :]
        pending.extend(before + each + after for each in (["*"] if kind == "!" else choices))
    return tuple(dict.fromkeys(done + pending))


def _with_like_choices(pattern: str) -> tuple[str, ...]:
    """The pattern with all groups as their first choices, as their second, …; optional ones too."""
    most = max((match[2].count("|") + 1 for match in _GROUP.finditer(pattern)), default=0)
    found: list[str] = []
    for number in range(min(most, MOST_ALTERNATIVES // 2)):
        for optional in (False, True):

            def choice(group: re.Match[str], at: int = number, left: bool = optional) -> str:
                kind, choices = group[1], group[2].split("|")
                if kind == "!":
                    return "*"
                return "" if left and kind in "?*" else choices[min(at, len(choices) - 1)]

            found.append(_GROUP.sub(choice, pattern))
    return tuple(dict.fromkeys(found or [pattern]))


def _spelt_name(pattern: str, denied: DenyList) -> str | None:
    """A denied name that the pattern's last part matches and mostly spells."""
    last = pattern.rstrip("/").rsplit("/", 1)[-1]
    if len(last) > _LONGEST_NAME_GLOB:
        return None
    fixed = _SET.sub("", _GROUP.sub(_spelt_by_group, last))
    letters = sum(c.isalnum() for c in fixed)
    if letters == 0 or not has_magic(last) or _CONTAINS.fullmatch(last):
        return None
    hidden = last.startswith(".")
    spelt = len(fixed.replace("*", "").replace("?", ""))
    # All of its letters must be in the name, but those of groups may be left out.
    shortest = 0 if "(" in last else spelt
    longest = spelt * 2 if hidden else spelt * 4 // 3
    for name in denied.plain_names_of(shortest, longest):
        if name.startswith(".") is hidden and _matches_name(last.lower(), name):
            return name
    return None


def plain_names_fitting(pattern: str, denied: DenyList) -> Iterator[str]:
    """The names without wildcards on the deny list that a glob for one name fits."""
    lowered = pattern.lower()
    return (each for each in denied.plain_names_of(1, 255) if _matches_name(lowered, each))


def _spelt_by_group(group: re.Match[str]) -> str:
    kind, choices = group.group(1), group.group(2).split("|")
    if kind == "!":
        return ""
    return "".join(choices) if kind in "+*" else max(choices, key=len)


@lru_cache(maxsize=1024)
def _name_regex(pattern: str) -> re.Pattern[str]:
    try:
        made = wcglob.translate(pattern, flags=wcglob.DOTGLOB | wcglob.EXTGLOB)[0][0]
        return re.compile(_NESTED.sub(r"\1[\\[", made))
    except (re.error, ValueError, IndexError):
        return re.compile(r"(?!)")


def _matches_name(pattern: str, name: str) -> bool:
    start, end = _ends(pattern)
    return (
        name.startswith(start)
        and name.endswith(end)
        and _name_regex(pattern).match(name) is not None
    )


@lru_cache(maxsize=1024)
def _ends(pattern: str) -> tuple[str, str]:
    """The plain letters that whatever fits a pattern begins and ends with."""
    pieces = _SIGNS.split(pattern)
    return pieces[0], pieces[-1]


def readings(pattern: str) -> Iterator[str]:
    """Names that a pattern without groups fits: its wildcards as nothing, or as a letter."""
    for each in _without_sets(pattern.replace("\\", "")):
        plain = each.replace("**/", "")
        if "*" not in plain and "?" not in plain:
            yield plain
            continue
        yield plain.replace("*", "").replace("?", "")
        yield plain.replace("*", "x").replace("?", "x")


def _without_sets(pattern: str) -> Iterator[str]:
    """The pattern with each set as one of its letters; as its first, if there are too many."""
    pieces = _SET.split(pattern)
    sets = [_members(match.group(0)) for match in _SET.finditer(pattern)]
    if prod(len(each) for each in sets) > MOST_ALTERNATIVES:
        sets = [each[:1] for each in sets]
    for chosen in product(*sets):
        parts = [part for pair in zip(pieces, chosen, strict=False) for part in pair]
        yield "".join([*parts, pieces[-1]])


def _members(text: str) -> list[str]:
    body = text[1:-1]
    if body[:1] in ("!", "^", ""):
        return ["x"]
    spans = _SPAN.findall(body)
    return list(
        dict.fromkeys(
            chr(each)
            for first, last, one in spans
            for each in (
                range(ord(first), min(ord(last), ord(first) + 99) + 1) if first else [ord(one)]
            )
        )
    ) or [body[0]]
