"""A world with the engine filter before the real engine, in this process, and one turn's folders.

`made_from` gives the body of a create as the supervisor writes it; tests break it and send it both
ways: through the filter, and past it as the control.
"""

import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import h11

from supervisor.engine_filter.opened import open_filter
from supervisor.ids import InstanceId, TurnId, new_instance_id, new_session_id, new_turn_id
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.spec import ContainerSpec, Limits, container_spec
from supervisor.settings import Settings
from supervisor.variables import ENGINE_SOCKET
from tests.worlds.waiting import A_WHILE

SMALL = Limits(memory_bytes=128 << 20, pids=64, cpus=1.0, tmp_bytes=16 << 20, home_bytes=16 << 20)

Body = dict[str, Any]
Breaking = Callable[[Body], object]


@dataclass(frozen=True)
class Said:
    """An answer, whole."""

    status: int
    body: bytes

    @property
    def message(self) -> str:
        return str(json.loads(self.body)["message"])

    @property
    def id(self) -> str:
        return str(json.loads(self.body)["Id"])


@dataclass(frozen=True)
class FilterWorld:
    """The filter's socket, and what the supervisor behind it would have."""

    root: Path
    socket: Path
    engine: Engine
    """The supervisor's own client, on the filter's socket."""
    real: Engine
    instance: InstanceId
    image: str

    def spec(self, turn: TurnId | None = None) -> ContainerSpec:
        """A turn's sandbox, with its folders made."""
        turn = turn or new_turn_id()
        view = self.root / "data" / "vault-view" / "views" / turn
        run = self.root / "run" / self.instance[:12] / "turns" / turn / "run"
        for each in (view, run):
            each.mkdir(parents=True, exist_ok=True)
        (view / "note.md").write_text("a note\n")
        (run / "marker").write_text("nonce")
        return container_spec(
            image=self.image,
            instance=self.instance,
            session=new_session_id(),
            turn=turn,
            started=time.time(),
            vault_view=PurePosixPath(view),
            turn_folder=PurePosixPath(run),
            limits=SMALL,
        )

    async def ask(self, method: str, target: str, body: Any = None, *, past: bool = False) -> Said:
        """One call through the filter; `past` it, straight to the engine."""
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {target} HTTP/1.1\r\nHost: engine\r\nContent-Length: {len(data)}\r\n"
        kind = "Content-Type: application/json\r\n" if data else ""
        raw = (head + kind + "Connection: close\r\n\r\n").encode() + data
        return await self.say(raw, past=past)

    async def say(self, raw: bytes, *, past: bool = False) -> Said:
        """These very bytes, and the answer to them; status 0: the connection was just closed."""
        path = ENGINE_SOCKET if past else str(self.socket)
        async with asyncio.timeout(A_WHILE):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(raw)
                http = h11.Connection(h11.CLIENT)
                http.send(h11.Request(method="GET", target="/", headers=[("Host", "engine")]))
                http.send(h11.EndOfMessage())
                status, body = 0, b""
                while not isinstance(event := http.next_event(), h11.EndOfMessage):
                    if event is h11.NEED_DATA:
                        data = await reader.read(1 << 16)
                        if not data and not status:
                            return Said(0, b"")
                        http.receive_data(data)
                    elif isinstance(event, h11.Response):
                        status = event.status_code
                    elif isinstance(event, h11.InformationalResponse):
                        return Said(event.status_code, b"")
                    elif isinstance(event, h11.Data):
                        body += bytes(event.data)
                return Said(status, body)
            finally:
                writer.close()


@asynccontextmanager
async def a_filter(count: int = 64) -> AsyncIterator[FilterWorld]:
    """The filter before this machine's engine; what it let be made is removed afterwards.

    It lets `count` sandboxes be there at once.
    """
    root = Path(tempfile.mkdtemp(prefix="trustfloor-test-")).resolve()
    root.chmod(0o755)
    settings = Settings(
        data_dir=root / "data", runtime_dir=root / "run", vault=root, sandbox_count=count
    )
    socket = root / "filter.sock"
    instance = new_instance_id()
    for each in ("data/vault-view/views", "run"):
        (root / each).mkdir(parents=True)
    try:
        async with (
            Engine() as real,
            open_filter(settings, listen=socket, engine=Path(ENGINE_SOCKET), mode=0o600),
            Engine(str(socket)) as engine,
        ):
            image = await real.image_id()
            try:
                yield FilterWorld(root, socket, engine, real, instance, image)
            finally:
                for left in await real.list_ours(instance):
                    await real.remove(left.id)
    finally:
        shutil.rmtree(root)
