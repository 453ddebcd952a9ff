"""Looks for itself: what the engine, the kernel and the disk have of this tour's supervisor.

Nothing here asks the supervisor; a count of leftovers that it made itself would prove little.
"""

import asyncio
import contextlib
import hashlib
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import orjson

from supervisor.cli.tour.world import World
from supervisor.errors import TrustfloorError

_LABEL: Final = "trustfloor.instance"
_TURN_LABEL: Final = "trustfloor.turn"
_MARK: Final = "TRUSTFLOOR_INSTANCE"
_ENGINE_SECONDS: Final = 10.0
_SETTLE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Left:
    """What is there of one supervisor."""

    containers: int
    volumes: int
    sockets: int
    turn_folders: int
    mounts: int
    processes: int

    @property
    def total(self) -> int:
        """All of it added up."""
        return sum(astuple(self))

    def __str__(self) -> str:
        return (
            f"{self.containers} containers, {self.volumes} volumes, {self.sockets} sockets,"
            f" {self.turn_folders} turn folders, {self.mounts} mounts,"
            f" {self.processes} processes"
        )


class Creations:
    """The containers that the engine says it made, each with its turn."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}
        self._gone: set[str] = set()
        self._heard = asyncio.Condition()

    async def hear(self, response: httpx.Response) -> None:
        """Take in the engine's events until it ends them, or nobody listens any more."""
        async for line in response.aiter_lines():
            event = orjson.loads(line)
            async with self._heard:
                if event["Action"] == "create":
                    attributes = event["Actor"]["Attributes"]
                    self._made[event["Actor"]["ID"]] = attributes.get(_TURN_LABEL, "")
                else:
                    self._gone.add(event["Actor"]["ID"])
                self._heard.notify_all()

    async def made(self) -> dict[str, str]:
        """All of them, by their ids, once each that was made is said to be gone as well.

        Events come in order: then none is on its way any more. Waits for some seconds at most.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_SECONDS), self._heard:
                await self._heard.wait_for(lambda: self._gone >= self._made.keys())
        return dict(self._made)


class Engine:
    """Questions to the container engine over its socket; it changes nothing."""

    def __init__(self, socket: Path) -> None:
        self._http = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=str(socket)),
            base_url="http://engine",
            timeout=_ENGINE_SECONDS,
        )

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._http.aclose()

    async def containers(self, instance: str) -> int:
        """How many containers of this supervisor there are, running or not."""
        found = await self._get(
            "/containers/json", all="1", filters=_filter(label=[f"{_LABEL}={instance}"])
        )
        return len(found)

    async def volumes(self, instance: str) -> int:
        """How many volumes of this supervisor there are."""
        found = await self._get("/volumes", filters=_filter(label=[f"{_LABEL}={instance}"]))
        return len(found["Volumes"] or ())

    @asynccontextmanager
    async def creations(self, instance: str, began: float) -> AsyncIterator["Creations"]:
        """Hear of every container of this supervisor as it is made; `began`: since when.

        The engine remembers a few hundred events of all its containers, so that who asks at the
        end may ask too late.
        """
        asked = {
            "since": str(int(began)),  # rounded up, it would leave out what was made just now
            "filters": _filter(
                type=["container"], event=["create", "destroy"], label=[f"{_LABEL}={instance}"]
            ),
        }
        endless = httpx.Timeout(_ENGINE_SECONDS, read=None)
        async with self._http.stream("GET", "/events", params=asked, timeout=endless) as response:
            response.raise_for_status()
            found = Creations()
            hearing = asyncio.create_task(found.hear(response))
            try:
                yield found
            finally:
                hearing.cancel()
                await asyncio.gather(hearing, return_exceptions=True)

    async def _get(self, path: str, **params: str) -> Any:
        response = await self._http.get(path, params=params)
        response.raise_for_status()
        return response.json()


def instance_of(data: Path) -> str:
    """The id of the supervisor whose data folder this is."""
    return (data / "instance").read_text(encoding="ascii").strip()


async def leftovers(engine: Engine, world: World, instance: str) -> Left:
    """What is left of the supervisor that has ended.

    The kernel takes a moment to bury the dead, so this looks again for some seconds before it says
    that something is there.
    """
    deadline = time.monotonic() + _SETTLE_SECONDS
    while True:
        found = await _left_now(engine, world, instance)
        if found.total == 0 or time.monotonic() > deadline:
            return found
        await asyncio.sleep(_POLL_SECONDS)


async def _left_now(engine: Engine, world: World, instance: str) -> Left:
    return Left(
        containers=await engine.containers(instance),
        volumes=await engine.volumes(instance),
        sockets=sum(each.is_socket() for each in world.root.rglob("*")),
        turn_folders=sum(1 for _ in world.runtime.glob("*/turns/*")),
        mounts=sum(str(world.root) in line for line in _lines(Path("/proc/self/mounts"))),
        processes=len(list(processes_with(f"{_MARK}={instance}"))),
    )


def processes_with(assignment: str) -> Iterator[int]:
    """The processes that have this in their environment, as far as we may look."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile, or is none of ours
            continue
        if assignment.encode() in variables:
            yield int(entry.name)


@dataclass(frozen=True, slots=True)
class Looked:
    """Which processes' environments were looked into, were closed to us, and hold the secret."""

    read: frozenset[int]
    closed: frozenset[int]
    holding: frozenset[int]


def environments_with(secret: str) -> Looked:
    """Look for the secret in what every process of this machine was started with."""
    read, closed, holding = set(), set(), set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        pid = int(entry.name)
        try:
            content = (entry / "environ").read_bytes()
        except PermissionError:
            closed.add(pid)
            continue
        except OSError:  # it ended meanwhile
            continue
        read.add(pid)
        if secret.encode() in content:
            holding.add(pid)
    return Looked(frozenset(read), frozenset(closed), frozenset(holding))


@contextmanager
def decoy_process(secret: str) -> Iterator[int]:
    """A process with the secret in its environment, for a search to prove itself by; its id."""
    with subprocess.Popen(
        ["/bin/cat"], stdin=subprocess.PIPE, env={"TOUR_DECOY": secret}
    ) as process:
        yield process.pid
        process.communicate()


async def keys_seen_by_model(world: World) -> tuple[int, int]:
    """How many requests reached the scripted model, and how many of them came with our key."""
    digest = hashlib.sha256(world.key.encode()).hexdigest()
    socket = next(world.runtime.glob("*/scripted.sock"), None)
    if socket is None:
        raise TrustfloorError("the scripted model has no socket", where=str(world.runtime))
    transport = httpx.AsyncHTTPTransport(uds=str(socket))
    async with httpx.AsyncClient(transport=transport, base_url="http://model") as model:
        seen = (await model.get("/_scripted/seen")).raise_for_status().json()
    return int(seen["requests"]), int(seen["keys"].get(digest, 0))


def incidents(world: World, turn: str) -> list[dict[str, Any]]:
    """The incidents of one turn in the supervisor's audit log."""
    entries = map(orjson.loads, (world.data / "audit.jsonl").read_bytes().splitlines())
    return [
        each["body"] for each in entries if each["kind"] == "incident" and each["turn_id"] == turn
    ]


def files_with(folder: Path, secrets: dict[str, str]) -> list[str]:
    """The files below the folder that hold any of the secrets."""
    found = []
    for each in folder.rglob("*"):
        if each.is_file() and not each.is_symlink():
            content = each.read_bytes()
            if any(secret.encode() in content for secret in secrets.values()):
                found.append(str(each.relative_to(folder)))
    return found


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8", errors="replace").splitlines()


def _filter(**wanted: list[str]) -> str:
    return orjson.dumps(wanted).decode()
