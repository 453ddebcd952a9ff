"""A world with the real engine and the real runner image: sandboxes of a throw-away instance.

Each instance is new, so what it leaves behind is what this test left behind.
"""

import asyncio
import json
import secrets
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from supervisor.errors import TurnFailed
from supervisor.ids import InstanceId, TurnId, new_instance_id, new_session_id, new_turn_id
from supervisor.runtimes.container import receipt
from supervisor.runtimes.container.channel import ContainerChannel
from supervisor.runtimes.container.engine import ContainerId, Engine
from supervisor.runtimes.container.spec import ContainerSpec, Limits, container_spec
from supervisor.runtimes.container.start_line import StartLine, encode
from tests.worlds.waiting import A_WHILE

SMALL = Limits(memory_bytes=128 << 20, pids=64, cpus=1.0, tmp_bytes=16 << 20, home_bytes=16 << 20)
"""Limits that a test can reach quickly."""

PLAIN_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/home/agent"}


@asynccontextmanager
async def real_engine() -> AsyncIterator[Engine]:
    """The engine of this machine; the test fails with what to do if it or the image is missing."""
    async with Engine() as engine:
        try:
            await engine.info()
            await engine.image_id()
        except TurnFailed as error:
            raise AssertionError(f"{error.message}; {error.remedy}") from error
        yield engine


@dataclass(frozen=True)
class Box:
    """A created container and what belongs to it."""

    engine: Engine
    id: ContainerId
    spec: ContainerSpec
    nonce: str
    vault: Path
    turn_folder: Path
    instance: InstanceId
    turn: TurnId

    async def inspected(self) -> dict[str, Any]:
        report = await self.engine.inspect(self.id)
        assert report is not None
        return report

    @asynccontextmanager
    async def started(self) -> AsyncIterator[ContainerChannel]:
        """Attached, then started; nothing read yet."""
        stream = await self.engine.attach(self.id)
        async with ContainerChannel(stream, self.engine, self.id, self.spec.limits) as channel:
            await self.engine.start(self.id)
            yield channel

    async def measured(self, channel: ContainerChannel) -> Mapping[str, Any]:
        async with asyncio.timeout(A_WHILE):
            line = await channel.first_line(receipt.MAX_LINE_BYTES)
        assert line is not None, await channel.cause_of_death()
        found = receipt.parse(line)
        assert found is not None, line
        return found


@dataclass(frozen=True)
class Ended:
    """How a program in a sandbox ended."""

    output: bytes
    cause: TurnFailed | None


@contextmanager
def folders() -> Iterator[tuple[Path, Path, str]]:
    """A vault with a note, a turn folder with a marker, and the marker's nonce."""
    root = Path(tempfile.mkdtemp(prefix="trustfloor-test-"))
    try:
        root.chmod(0o755)
        vault, turn_folder = root / "a vault, with: odd 'signs' ü", root / "turn"
        vault.mkdir()
        turn_folder.mkdir()
        nonce = secrets.token_hex(16)
        (vault / "note.md").write_text("a note\n")
        (turn_folder / "marker").write_text(nonce)
        for each in (vault, turn_folder):
            each.chmod(0o755)
        yield vault, turn_folder, nonce
    finally:
        shutil.rmtree(root)


@asynccontextmanager
async def box(
    engine: Engine,
    *,
    limits: Limits = SMALL,
    weaken: Callable[[dict[str, Any]], None] | None = None,
) -> AsyncIterator[Box]:
    """A created container; removed afterwards, and its state shown if the test failed in it.

    `weaken` changes what the engine is told behind the spec's back: the cage with a bar sawn
    through that positive controls need.
    """
    instance, turn = new_instance_id(), new_turn_id()
    with folders() as (vault, turn_folder, nonce):
        spec = container_spec(
            image=await engine.image_id(),
            instance=instance,
            session=new_session_id(),
            turn=turn,
            started=time.time(),
            vault_view=PurePosixPath(vault),
            turn_folder=PurePosixPath(turn_folder),
            limits=limits,
        )
        asked = spec.as_api()
        if weaken is not None:
            weaken(asked)
        container = await engine.create(as_told(spec, asked))
        made = Box(engine, container, spec, nonce, vault, turn_folder, instance, turn)
        try:
            yield made
        except BaseException:
            await _show(made)
            raise
        finally:
            await engine.remove(container)
            left = await engine.list_ours(instance)
            for each in left:
                await engine.remove(each.id)
            assert left == (), "containers were left behind"


def seen_through(made: Box, engine: Engine) -> Box:
    """The same container, spoken with through another engine client."""
    return replace(made, engine=engine)


def as_told(spec: ContainerSpec, api: dict[str, Any], *, name: str = "") -> ContainerSpec:
    """A spec that tells the engine `api` instead of what it is."""

    class Told(ContainerSpec):
        __slots__ = ()

        def as_api(self) -> dict[str, Any]:
            return api

    return Told(
        name=name or spec.name,
        image=spec.image,
        limits=spec.limits,
        mounts=spec.mounts,
        tmpfs=spec.tmpfs,
        labels=spec.labels,
    )


async def run(
    engine: Engine, *argv: str, limits: Limits = SMALL, feed: Sequence[bytes] = ()
) -> Ended:
    """Run a program in a fresh sandbox to its end."""
    async with box(engine, limits=limits) as made, made.started() as channel:
        await made.measured(channel)
        await channel.write(encode(StartLine(argv, "/vault", PLAIN_ENVIRONMENT)))
        for data in feed:
            await channel.write(data)
        await channel.close_input()
        return await ended(channel)


async def ended(channel: ContainerChannel) -> Ended:
    """All the rest of its output, and why it ended."""
    async with asyncio.timeout(A_WHILE):
        output = b"".join([chunk async for chunk in channel.chunks()])
        return Ended(output, await channel.cause_of_death())


async def _show(made: Box) -> None:
    with suppress(TurnFailed):
        print(json.dumps(await made.engine.inspect(made.id), indent=1))  # noqa: T201


Answer = Callable[[bytes], bytes | None]
"""What stands for the engine's answer to a request; None: the engine's own."""


class Relay:
    """A Unix socket in front of the engine's, which a test may cut: the engine seems to go away.

    `answer` makes single answers other than the engine's: those of a moment that no test can hold.
    """

    def __init__(self, path: Path, target: str, answer: Answer | None = None) -> None:
        self.path = path
        self._target = target
        self._answer = answer
        self._listener: socket.socket | None = None
        self._pairs: list[socket.socket] = []
        self._lock = threading.Lock()

    def open(self) -> None:
        """Listen, and pass everything on."""
        self.path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen(64)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        """Stop listening and drop all that is connected."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
            listener, self._listener = self._listener, None
        for each in [*pairs, *([listener] if listener else [])]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self.path.unlink(missing_ok=True)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._target)
            with self._lock:
                self._pairs += [near, far]
            for each in ((near, far, self._answer), (far, near, None)):
                threading.Thread(target=_pass_on, args=each, daemon=True).start()


def _pass_on(source: socket.socket, sink: socket.socket, answer: Answer | None) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            said = answer(data) if answer else None
            if said is None:
                sink.sendall(data)
            else:
                source.sendall(said)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def relay(target: str, answer: Answer | None = None) -> Iterator[Relay]:
    """An open relay in front of the engine."""
    with tempfile.TemporaryDirectory(prefix="trustfloor-test-") as folder:
        made = Relay(Path(folder) / "engine.sock", target, answer)
        made.open()
        try:
            yield made
        finally:
            made.cut()
