"""Figures of a run: medians with their range, ratios, and the machine they came from."""

import os
import platform
import statistics
import subprocess
from collections.abc import Iterable, Sequence


def median(values: Iterable[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all is not above."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Median, and in brackets the smallest and the largest."""
    return (
        f"{median(values):.{digits}f} [{min(values):.{digits}f}..{max(values):.{digits}f}]"
        if values
        else "-"
    )


def machine() -> str:
    """The machine, in a line; the load says what else ran on it."""
    engine = subprocess.run(
        ["docker", "version", "--format", "{{.Server.Version}}"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    return (
        f"{os.cpu_count()} cores, Linux {platform.release()}, Python {platform.python_version()},"
        f" engine {engine or 'none'}, load {load}"
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table that can be pasted into a page."""
    lines = [list(heads), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]

    def show(line: Sequence[str]) -> None:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("| " + " | ".join(cells) + " |")

    show(lines[0])
    print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    for line in lines[1:]:
        show(line)
