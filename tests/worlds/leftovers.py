"""What of a supervisor's exists on the machine, found without asking the supervisor."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from supervisor.ids import InstanceId
from supervisor.runtimes.container.engine import ContainerId, Engine
from tests.worlds.waiting import A_WHILE


@dataclass(frozen=True)
class Left:
    """Containers by id, the folders of turns, views of the vault, and marked host processes."""

    containers: tuple[ContainerId, ...] = ()
    folders: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    processes: tuple[int, ...] = ()


NOTHING = Left()


def instance_in(data: Path) -> InstanceId:
    """The id of the supervisor with this data folder."""
    return InstanceId((data / "instance").read_text().strip())


async def left_of(data: Path, run: Path) -> Left:
    """What there is now of the supervisor with these folders."""
    async with Engine() as engine:
        containers = await engine.list_ours(instance_in(data))
    return Left(
        containers=tuple(each.id for each in containers),
        folders=tuple(str(each) for each in run.glob("*/turns/*")),
        views=tuple(str(each) for each in (data / "vault-view" / "views").iterdir()),
        processes=tuple(processes_with(f"TRUSTFLOOR_INSTANCE={instance_in(data)}")),
    )


async def nothing_left_of(data: Path, run: Path) -> None:
    """Wait until nothing is left; fails with what is."""
    left = await left_of(data, run)
    with suppress(TimeoutError):
        async with asyncio.timeout(A_WHILE):
            while left != NOTHING:
                await asyncio.sleep(0.05)
                left = await left_of(data, run)
    assert left == NOTHING


def processes_with(assignment: str) -> Iterator[int]:
    """Living processes that were started with this in their environment."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            state = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            given = (entry / "environ").read_bytes().split(b"\0")
            if state not in "ZX" and assignment.encode() in given:
                yield int(entry.name)


def is_alive(pid: int) -> bool:
    """Whether there is such a process that hasn't ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # it may end while it is looked at
        return False
