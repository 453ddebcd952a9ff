"""The container engine as a few asynchronous verbs.

Every call ends within `CALL_SECONDS` (`remove` within twice that), also when the socket accepts and
never answers.
"""

import asyncio
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NewType, Self, TypeVar

import requests.exceptions

from supervisor.errors import EngineRefused
from supervisor.ids import InstanceId
from supervisor.runtimes.container.engine_failures import Absent, Conflict, is_timeout
from supervisor.runtimes.container.engine_line import (
    ANSWER_SECONDS,
    CALL_SECONDS,
    Client,
    EngineLine,
)
from supervisor.runtimes.container.image import RUNNER_IMAGE, image_missing, require_ours
from supervisor.runtimes.container.spec import LABEL_INSTANCE, ContainerSpec
from supervisor.variables import engine_socket

ContainerId = NewType("ContainerId", str)
"""The engine's own id of a container; a name is never used to find one."""

_REMOVAL_SECONDS: Final = 0.05

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What the engine says of itself; memory in bytes, `root` is where it keeps its volumes."""

    version: str
    api_version: str
    processors: int
    memory_bytes: int
    cgroup_version: str
    security_options: tuple[str, ...]
    root: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """A container as the engine lists it."""

    id: ContainerId
    labels: Mapping[str, str]
    state: str
    image: str = ""
    created: float = 0.0
    """Seconds since the epoch, by the engine's clock; 0: it didn't say."""


def _close(attaching: asyncio.Future[socket.socket]) -> None:
    if not attaching.cancelled() and attaching.exception() is None:
        attaching.result().close()


class Engine:
    """One engine on a Unix socket. Close it with `close`, or use it as a context manager."""

    def __init__(self, path: str | None = None) -> None:
        self._line = EngineLine(path or str(engine_socket()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections; a call that still waits ends by itself within its bound."""
        self._line.close()

    @property
    def path(self) -> str:
        """Its socket."""
        return self._line.path

    @property
    def is_silent(self) -> bool:
        """Whether it was found not to answer, and hasn't answered since."""
        return self._line.is_silent

    async def answers(self, seconds: float) -> bool:
        """Whether it answers the least of questions within that time. Never raises."""
        return await self._line.answers(seconds)

    async def info(self) -> EngineInfo:
        """What the engine is; also the way to ask whether it answers at all."""

        def ask(client: Client) -> EngineInfo:
            info = client.info()
            return EngineInfo(
                version=str(info.get("ServerVersion", "")),
                api_version=str(client.api_version),
                processors=int(info.get("NCPU", 1)),
                memory_bytes=int(info.get("MemTotal", 0)),
                cgroup_version=str(info.get("CgroupVersion", "")),
                security_options=tuple(info.get("SecurityOptions") or ()),
                root=str(info.get("DockerRootDir") or ""),
            )

        return await self._line.ask(ask)

    async def image_id(self, tag: str = RUNNER_IMAGE) -> str:
        """The id that a tag means now. Raises ImageMissing, also for an image that isn't ours."""
        try:
            image = await self._line.ask(lambda client: client.inspect_image(tag))
        except Absent:
            raise image_missing(tag, f"there is no image {tag}") from None
        require_ours(tag, image)
        return str(image["Id"])

    async def create(self, spec: ContainerSpec) -> ContainerId:
        """Make the container, not yet started. Raises ImageMissing, EngineRefused."""
        try:
            made = await self._line.ask(
                lambda client: client.create_container_from_config(spec.as_api(), spec.name)
            )
        except Absent:
            raise image_missing(spec.image, f"there is no image {spec.image}") from None
        return ContainerId(made["Id"])

    async def inspect(self, container: ContainerId) -> dict[str, Any] | None:
        """Everything the engine reports of it; None: there is no such container."""
        try:
            found = await self._line.ask(lambda client: client.inspect_container(container))
        except Absent:
            return None
        return dict(found)

    async def attach(self, container: ContainerId) -> socket.socket:
        """A non-blocking socket to its streams; the caller closes it.

        Attach before `start`: nothing is lost then, and an engine never answers an attach to a
        container that has ended.
        """

        def ask(client: Client) -> socket.socket:
            wanted = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            stream = client.attach_socket(container, params=wanted)
            ours = socket.socket(fileno=os.dup(stream.fileno()))
            # The library's response still owns the first descriptor; closing both would be a race.
            stream._response.close()  # noqa: SLF001  # there is no public way to let go of it
            stream.close()
            ours.setblocking(False)
            return ours

        attaching = asyncio.ensure_future(self._existing(container, ask))
        try:
            return await asyncio.shield(attaching)
        except asyncio.CancelledError:
            attaching.add_done_callback(_close)  # nobody is there any more to do it
            raise

    async def start(self, container: ContainerId) -> None:
        """Start it. Raises EngineRefused."""
        await self._existing(container, lambda client: client.start(container))

    async def wait(self, container: ContainerId, seconds: float = CALL_SECONDS) -> int | None:
        """Its exit code once it has ended; None: it runs on after that time, or is gone.

        `seconds` is bounded by `CALL_SECONDS`.
        """

        def ask(client: Client) -> int | None:
            try:
                answer = client.wait(container, timeout=min(seconds, ANSWER_SECONDS))
            except (requests.exceptions.Timeout, requests.exceptions.ConnectionError) as error:
                if is_timeout(error):
                    return None
                raise
            return int(answer["StatusCode"])

        try:
            return await self._line.ask(ask)
        except Absent:
            return None

    async def kill(self, container: ContainerId) -> None:
        """End it now; harmless if it has ended or is gone."""
        try:
            await self._line.ask(lambda client: client.kill(container, "SIGKILL"))
        except (Absent, Conflict):
            return

    async def was_sent_a_signal(self, container: ContainerId) -> bool:
        """Whether somebody asked the engine to signal it; the kernel's own kills don't count."""
        until = f"{time.time():.9f}"  # without an end the engine would go on listening
        wanted = {"container": [container], "event": ["kill"]}
        return await self._line.ask(
            lambda client: any(
                True for _ in client.events(since="0", until=until, filters=wanted, decode=True)
            )
        )

    async def remove(self, container: ContainerId) -> bool:
        """End and remove it with its volumes, and see that it is gone; False: it was already.

        One that ends by itself in this moment is still being put away by the engine, which then
        can't empty its folder; and somebody else may be removing it. Both pass: it asks again.
        Raises EngineRefused if they don't.
        """
        until = time.monotonic() + CALL_SECONDS
        while True:
            try:
                await self._line.ask(
                    lambda client: client.remove_container(container, v=True, force=True)
                )
            except Absent:
                return False
            except Conflict:
                refusal = EngineRefused("the container is being removed", where=container[:12])
            except EngineRefused as error:
                refusal = error
            else:
                return True
            if time.monotonic() > until:
                raise refusal
            await asyncio.sleep(_REMOVAL_SECONDS)

    async def list_ours(self, instance: InstanceId) -> tuple[Listed, ...]:
        """The containers that carry this instance's label, in any state."""
        wanted = {"label": [f"{LABEL_INSTANCE}={instance}"]}
        found = await self._line.ask(lambda client: client.containers(all=True, filters=wanted))
        listed = [
            Listed(
                id=ContainerId(each["Id"]),
                labels=dict(each.get("Labels") or {}),
                state=str(each.get("State", "")),
                image=str(each.get("Image", "")),
                created=float(each.get("Created") or 0),
            )
            for each in found
        ]
        return tuple([each for each in listed if await self._exists(each)])

    async def _exists(self, listed: Listed) -> bool:
        """The engine goes on listing one whose end it noted after it had removed it."""
        return listed.state == "running" or await self.inspect(listed.id) is not None

    async def _existing(self, container: ContainerId, ask: Callable[[Client], T]) -> T:
        try:
            return await self._line.ask(ask)
        except Absent:
            raise EngineRefused(
                "the container is gone", where=container[:12], remedy="send the message again"
            ) from None
