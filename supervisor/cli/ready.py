"""`trustfloor ready`: whether the supervisor that runs can do its work, and what it holds now."""

from typing import Any

import typer

from supervisor.cli.answered import AsJson, DataDir, answered
from supervisor.cli.client import Client, Refused
from supervisor.cli.counted import counted
from supervisor.cli.json_out import write_json
from supervisor.cli.lines import console
from supervisor.cli.shown_check import show
from supervisor.observability.health import Check


def ready(*, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Tell whether the running supervisor can do its work, check by check.

    `doctor` looks at the machine and the settings on the disk; this asks the process that runs.
    Exit status 1 if something is wrong.
    """

    async def asked(client: Client) -> dict[str, Any]:
        try:
            found: dict[str, Any] = await client.get("/api/ready")
        except Refused as refused:
            if refused.code != "not_ready":
                raise
            return {"ready": False, "problem": dict(refused.problem)}
        return found

    found = answered(asked, data_dir)
    if as_json:
        write_json(found)
    else:
        _tell(found)
    raise typer.Exit(0 if found["ready"] else 1)


def _tell(found: dict[str, Any]) -> None:
    screen = console()
    problem = found.get("problem")
    if problem is not None:  # of what every turn needs, and no more than that is told
        detail, remedy = str(problem.get("detail")), problem.get("remedy")
        show(screen, Check("no turn can run", ok=False, detail=detail, remedy=remedy))
        return
    for each in found["checks"]:
        show(screen, Check(each["name"], each["ok"], each["detail"], each["remedy"]))
    counts = found["counts"]
    waiting, left = counts["containersWaiting"], counts["containersLeft"]
    screen.print(
        f"{counted(counts['containersLive'], 'sandbox', 'sandboxes')} in use"
        + (f", {waiting} waiting for a message" if waiting else "")
        + (f", {left} left over" if left else "")
        + f" · {counted(counts['turnFolders'], 'folder of a turn', 'folders of turns')}"
        + f" · {counted(counts['processes'], 'process', 'processes')}",
        soft_wrap=True,
    )
