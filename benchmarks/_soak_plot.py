"""A plot of a soak as a small SVG: one panel a figure, over time."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

WIDTH, HEIGHT, LEFT, GAP = 720, 110, 60, 34
COLOUR = "#3366aa"


def _panel(name: str, times: Sequence[float], values: Sequence[float], top: int) -> str:
    most, end = max([*values, 1]) * 1.1, max([*times, 1])
    across = WIDTH - LEFT - 10
    points = " ".join(
        f"{LEFT + across * at / end:.1f},{top + HEIGHT * (1 - value / most):.1f}"
        for at, value in zip(times, values, strict=True)
    )
    text = 'font-family="sans-serif" font-size="11" fill="#777"'
    return (
        f'<text x="{LEFT}" y="{top - 6}" {text}>{escape(name)}</text>'
        f'<rect x="{LEFT}" y="{top}" width="{across}" height="{HEIGHT}" fill="none"'
        ' stroke="#999"/>'
        f'<text x="{LEFT - 6}" y="{top + 10}" text-anchor="end" {text}>{most:.0f}</text>'
        f'<text x="{LEFT - 6}" y="{top + HEIGHT}" text-anchor="end" {text}>0</text>'
        f'<text x="{WIDTH - 10}" y="{top + HEIGHT + 13}" text-anchor="end" {text}>'
        f"{end / 60:.0f} min</text>"
        f'<polyline fill="none" stroke="{COLOUR}" stroke-width="1.5" points="{points}"/>'
    )


def draw(path: Path, times: Sequence[float], figures: Mapping[str, Sequence[float]]) -> None:
    """Write the plot; `times` in seconds, a panel for each of the figures."""
    panels = [
        _panel(name, times, values, GAP + at * (HEIGHT + GAP))
        for at, (name, values) in enumerate(figures.items())
    ]
    height = GAP + len(figures) * (HEIGHT + GAP)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' role="img" aria-label="{escape(", ".join(figures))} over time">'
        + "".join(panels)
        + "</svg>\n"
    )
