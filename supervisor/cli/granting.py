"""What can be granted beyond one call, as a person at a terminal reads and chooses it."""

from collections.abc import Mapping, Sequence
from typing import Any


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
