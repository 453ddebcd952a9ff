"""`trustfloor stats`: how much there is, and what the last days held."""

import sys
from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from supervisor import money
from supervisor.cli.answered import AsJson, DataDir, answered
from supervisor.cli.counted import counted
from supervisor.cli.json_out import write_json
from supervisor.cli.render import Screen

_ENDINGS: Final = ("done", "aborted", "error", "interrupted")


def stats(
    *,
    days: Annotated[int, typer.Option(min=1, max=366, help="How many days, today's last.")] = 7,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Tell how many sessions there are, and the turns, tokens and cost of the last days (UTC).

    Of a scripted model's answers the tokens are counted; they cost nothing.
    """
    found = answered(lambda client: client.get(f"/api/stats?days={days}"), data_dir)
    if as_json:
        write_json(found)
        return
    screen = Screen(sys.stdout)
    sessions = found["sessions"]
    waiting = found["waiting"]
    screen.line(
        f"{counted(sessions['active'], 'session')}, {sessions['archived']} put away,"
        f" {sessions['running']} with a turn now; waiting:"
        f" {counted(waiting['permissions'], 'permission')} and"
        f" {counted(waiting['questions'], 'question')}; {counted(found['grants'], 'grant')}"
    )
    for model, spent in found["spentByModel"].items():
        screen.line(
            f"{model}: {counted(spent['sessions'], 'session')}, {spent['tokens']:,} tokens,"
            f" {money.told(spent['costUsd'])}",
            "dim",
        )
    screen.line("")
    head = "".join(f"{ending:>12}" for ending in _ENDINGS)
    screen.line(f"{'day (UTC)':10}{head}{'tokens':>11}{'cost':>10}", "bold")
    for day in found["days"]:
        screen.line(_row(day["day"], day), "" if any(day["turns"].values()) else "dim")
    screen.line(_row("together", _together(found["days"])), "bold")


def _row(name: str, sums: Mapping[str, Any]) -> str:
    turns = "".join(f"{sums['turns'].get(ending, 0):>12,}" for ending in _ENDINGS)
    return f"{name:10}{turns}{sums['tokens']:>11,}{money.told(sums['costUsd']):>10}"


def _together(days: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "turns": {each: sum(day["turns"].get(each, 0) for day in days) for each in _ENDINGS},
        "tokens": sum(day["tokens"] for day in days),
        "costUsd": sum(day["costUsd"] for day in days),
    }
