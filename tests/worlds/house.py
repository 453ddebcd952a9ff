"""A whole supervisor in this process: real engine, real CLI, real databases, scripted model.

The scripted model obeys directives in the prompt, so a test writes its own scenario into the
message it sends: `prompt(step(text="hello"))`.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from supervisor.api.parts import Parts
from supervisor.app import open_supervisor
from supervisor.events.log import is_terminal
from supervisor.events.replay import subscribe
from supervisor.gateway.admission import Admitted
from supervisor.gateway.proxy import Proxy
from supervisor.ids import SessionId, TurnId
from supervisor.sessions.records import MessageRequest, TurnStarted
from supervisor.sessions.transcripts import stored_pointer
from supervisor.settings import Settings
from supervisor.trust.levels import TrustLevel
from tests.worlds.audit import entries_in
from tests.worlds.leftovers import Left, left_of, nothing_left_of
from tests.worlds.waiting import A_WHILE

KEY = "sk-ant-CANARY-of-the-real-key-0123456789"
"""The key that this house's gateway holds; it must be nowhere else."""


Told = dict[str, Any]
"""An event as a client gets it."""


def step(text: str = "", **more: Any) -> dict[str, Any]:
    """One answer of the scripted model."""
    return {**({"text": text} if text else {}), **more}


def calls(*tools: tuple[str, dict[str, Any]], text: str = "", **more: Any) -> dict[str, Any]:
    """An answer of the scripted model that calls tools."""
    return step(text, tools=[{"name": name, "input": given} for name, given in tools], **more)


def bash(command: str, **more: Any) -> dict[str, Any]:
    """An answer that runs a command."""
    return calls(("Bash", {"command": command, "description": "a test"}), **more)


def prompt(*steps: dict[str, Any], words: str = "please") -> str:
    """A message that makes the scripted model answer with these steps, one after the other."""
    return f"{words} <<steps: {json.dumps(list(steps))}>>"


@dataclass(frozen=True)
class House:
    """The supervisor and its vault."""

    parts: Parts
    root: Path

    @property
    def vault(self) -> Path:
        return self.parts.settings.vault

    @property
    def turns(self) -> Path:
        (instance,) = self.parts.settings.runtime_dir.iterdir()
        return instance / "turns"

    def audited(
        self, kind: str, session: SessionId | None = None, turn: TurnId | None = None
    ) -> list[Told]:
        """The bodies of the audit log's entries of a kind, of all sessions and turns or of one."""
        return entries_in(self.parts.settings.data_dir, kind, session, turn)

    async def left(self) -> Left:
        """What of this supervisor's exists on the machine now."""
        return await left_of(self.parts.settings.data_dir, self.parts.settings.runtime_dir)

    async def nothing_left(self) -> None:
        """Wait until nothing is left; fails with what is."""
        await nothing_left_of(self.parts.settings.data_dir, self.parts.settings.runtime_dir)

    async def begin(self, message: str, **request: Any) -> TurnStarted:
        return await self.parts.conversations.begin(MessageRequest(message=message, **request))

    async def send(
        self,
        message: str,
        level: TrustLevel = TrustLevel.SANDBOXED,
        *,
        until: Callable[[Told], bool] | None = None,
        **request: Any,
    ) -> "Turn":
        """Send a message and take in its events, up to its end or to the one `until` wants."""
        started = await self.begin(message, trust_level=level, **request)
        turn = Turn(self, started, [])
        return await turn.go_on(until)


@dataclass
class Turn:
    """A turn and what was told of it so far."""

    house: House
    started: TurnStarted
    events: list[Told]

    @property
    def session_id(self) -> SessionId:
        return self.started.session_id

    @property
    def end(self) -> Told:
        return self.events[-1]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def of(self, kind: str) -> list[Told]:
        return [event for event in self.events if event["type"] == kind]

    def results(self) -> list[str]:
        """What the tools gave, in order."""
        return [event["content"] for event in self.of("tool_result")]

    async def go_on(self, until: Callable[[Told], bool] | None = None) -> "Turn":
        """Take in further events."""
        after = self.events[-1]["seq"] if self.events else self.started.after
        async with (
            asyncio.timeout(A_WHILE),
            subscribe(self.house.parts.log, self.session_id, after=after) as records,
        ):
            async for record in records:
                event = json.loads(record.data)
                self.events.append(event)
                if is_terminal(record) or (until is not None and until(event)):
                    break
        return self


def noted_requests(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What reaches the model from now on, as the gateway passes it on; nothing is changed."""
    bodies: list[dict[str, Any]] = []
    forward = Proxy.forward

    async def noting(self: Proxy, request: Any, admitted: Admitted, *rest: Any) -> Any:
        bodies.append(json.loads(admitted.body))
        return await forward(self, request, admitted, *rest)

    monkeypatch.setattr(Proxy, "forward", noting)
    return bodies


def is_a(kind: str) -> Callable[[Told], bool]:
    """Whether an event is of this type."""
    return lambda event: event["type"] == kind


@asynccontextmanager
async def a_house(
    root: Path | None = None, *, fill: Callable[[Path], object] | None = None, **settings: Any
) -> AsyncIterator[House]:
    """Open a supervisor over a vault of its own, filled by `fill`; short paths, for sockets."""
    own = Path(tempfile.mkdtemp(prefix="tf-", dir="/tmp")) if root is None else root
    try:
        vault = own / "vault"
        if not vault.exists():
            vault.mkdir()
            (vault / "notes").mkdir()
            (vault / "notes" / "today.md").write_text("Buy oat milk.\n")
            (vault / ".env").write_text("PASSWORD=CANARY-of-the-vault\n")
            if fill is not None:
                fill(vault)
        scenario = own / "scenario.yaml"
        scenario.write_text(
            "version: 1\ndirectives: true\nscripts:\n"
            "  - {name: hello, when: {always: true}, steps: [{text: Hello.}]}\n"
        )
        options: dict[str, Any] = {
            "vault": vault,
            "data_dir": own / "data",
            "runtime_dir": own / "run",
            "port": 0,
            "model": f"scripted:{scenario}",
            "api_key": SecretStr(KEY),
            "shutdown_seconds": 0.0,
        }
        async with open_supervisor(Settings(**{**options, **settings})) as parts:
            yield House(parts, own)
    finally:
        if root is None:
            shutil.rmtree(own, ignore_errors=True)


async def transcript_of(house: House, session_id: SessionId, level: TrustLevel) -> Path:
    """Where the session's transcript of this level's side lies."""
    row = await house.parts.sessions.get_session(session_id)
    pointer = stored_pointer(row.transcript_path, row.id)
    assert pointer is not None
    side = "sandboxed/" if level is TrustLevel.SANDBOXED else ""
    return house.vault / pointer.parent / f"{side}{pointer.name}"
