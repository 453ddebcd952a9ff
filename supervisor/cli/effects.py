"""What a call would do, as a person at a terminal reads it before they answer."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

HIDDEN: Final = "it has characters that do not show, or look like others"
MOST_LINES: Final = 12


def effect_lines(request: Mapping[str, Any]) -> list[str]:
    """A line for each effect; of many the first, and how many more there are."""
    effects = request.get("effects") or ()
    lines = [_line(each) for each in effects[:MOST_LINES]]
    more = len(effects) - len(lines) + (request.get("moreEffects") or 0)
    if more:
        lines.append(f"… and {more} more")
    return lines


def time_left(seconds: float) -> str:
    """How long an answer still counts."""
    whole = max(0, round(seconds))
    return f"{whole // 60} min {whole % 60} s" if whole >= 100 else f"{whole} s"  # noqa: PLR2004


def _line(effect: Mapping[str, Any]) -> str:
    target = effect.get("target")
    said = f"{effect['act']} {target}" if target else str(effect["act"])
    told = "; ".join(_told(effect))
    return f"· {said}" + (f" ({told})" if told else "")


def _told(effect: Mapping[str, Any]) -> Iterator[str]:
    if effect["act"] in {"unknown", "note"} or not effect.get("target"):
        yield from (effect["reason"],) if effect.get("reason") else ()
    yield from effect.get("remarks") or ()
