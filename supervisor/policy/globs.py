"""What a glob in a call can mean: where it starts, and whether it is meant for denied names."""

import re
from collections.abc import Iterator

from supervisor.policy.deny_list import DenyList

MOST_ALTERNATIVES = 64
_MAGIC = re.compile(r"[*?\[\]{}]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_SET = re.compile(r"\[[!^]?\]?[^\]]*\]")


def has_magic(text: str) -> bool:
    """Whether the text is a pattern rather than a name."""
    return _MAGIC.search(text) is not None


def alternatives(pattern: str) -> tuple[str, ...]:
    """The pattern with its braces written out, at most MOST_ALTERNATIVES of them.

    Innermost braces first; one with neither comma nor range is left as text.
    """
    pending, done = [pattern], list[str]()
    while pending and len(done) + len(pending) <= MOST_ALTERNATIVES:
        text = pending.pop()
        match = next((m for m in _BRACES.finditer(text) if "," in m.group(1)), None)
        if match is None:
            done.append(text)
            continue
        before, after = text[: match.start()], text[match.end() :]
        pending.extend(before + choice + after for choice in match.group(1).split(","))
    return tuple(dict.fromkeys([*done, *pending]))


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
    letter: `.env*`, `*.pem`, `[.]env`, `**/credentials*.json`; not `*`, `*.json`, `*env*`.
    """
    for each in alternatives(pattern):
        for reading in _readings(each):
            if denied.match(reading) is not None:
                return reading
    return None


def _readings(pattern: str) -> Iterator[str]:
    plain = _SET.sub(_first_of_set, pattern).replace("**/", "")
    if "*" not in plain and "?" not in plain:
        yield plain
        return
    yield plain.replace("*", "").replace("?", "")
    yield plain.replace("*", "x").replace("?", "x")


def _first_of_set(match: re.Match[str]) -> str:
    body = match.group(0)[1:-1]
    return "x" if body[:1] in ("!", "^", "") else body[0]
