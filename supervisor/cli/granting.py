"""What can be granted beyond one call, as a person at a terminal reads and chooses it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from supervisor.policy.permissions import GrantKind

TAKEN: Final = (
    "the first words of a command (bash curl), paths in the vault (read Notes/**/*, write",
    "Notes/*.md), or a tool (tool mcp__notes__*); the word in front may be left out where the",
    "call needs just that; an empty line goes back",
)
"""What may be typed as a pattern."""

_KINDS: Final[Mapping[str, GrantKind]] = {
    **{kind.value: kind for kind in GrantKind},
    **dict.fromkeys(("command", "shell"), GrantKind.BASH),
    **dict.fromkeys(("glob", "grep"), GrantKind.READ),
    **dict.fromkeys(("edit", "multiedit", "notebookedit"), GrantKind.WRITE),
}
"""What stands in front of a pattern, a kind or the tool that it is for, and which kind it means."""
_WITH_KIND: Final = re.compile(r"(\w+)(?::\s*|\s+|(?=\())(.*\S)")
_P: Final = re.compile(r"p(?:attern)?(?:\s+(.*))?", re.IGNORECASE)


def after_p(said: str) -> str | None:
    """What was typed behind `p`, perhaps nothing; None if it isn't that."""
    found = _P.fullmatch(said.strip())
    return (found[1] or "").strip() if found else None


def own_pattern(said: str) -> dict[str, str]:
    """The pattern that somebody typed, and its kind if they said it; empty if they said nothing.

    `bash curl`, `Bash: curl` and `Bash(curl:*)` all mean commands that begin with `curl`.
    """
    text = said.strip()
    found = _WITH_KIND.fullmatch(text)
    kind = _KINDS.get(found[1].lower()) if found else None
    if found is None or kind is None:
        return {"pattern": text} if text else {}
    rest = found[2]
    if rest.startswith("(") and rest.endswith(")"):
        rest = rest[1:-1].strip()
    return {"pattern": rest, "kind": kind.value}


def suggestion_lines(suggested: Sequence[Mapping[str, Any]]) -> list[str]:
    """A numbered line for each suggestion: what it covers, and how much that is now."""
    return [
        f"  {number}. {each['covers']}{_measure(each)}"
        for number, each in enumerate(suggested, start=1)
    ]


def _measure(suggestion: Mapping[str, Any]) -> str:
    told: list[str] = []
    matches = suggestion.get("matches")
    if matches is not None:
        more = "more than " if suggestion.get("matchesMore") else ""
        told.append(f"{more}{matches:,} {'file' if matches == 1 and not more else 'files'} now")
    earlier = suggestion.get("earlierPrompts") or 0
    if earlier:
        noun = "request" if earlier == 1 else "requests"
        told.append(f"would have covered {earlier} earlier {noun}")
    return f" ({'; '.join(told)})" if told else ""


def chosen(said: str, suggested: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """The ids of the suggestions named by their numbers; None if something else was said."""
    parts = [part.strip() for part in said.replace(",", " ").split()]
    if not parts or not all(part.isdecimal() for part in parts):
        return None
    numbers = {int(part) for part in parts}
    if not all(1 <= number <= len(suggested) for number in numbers):
        return []
    return [str(suggested[number - 1]["id"]) for number in sorted(numbers)]
