"""A running `trustfloor chat`, and what the turn before it asks of a person."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from supervisor.approvals.pending import Answer, TurnContext
from supervisor.approvals.questions import Replies
from supervisor.events.schema import (
    PermissionDeniedEvent,
    ToolResultEvent,
)
from supervisor.ids import SessionId
from supervisor.policy.call import ToolCall
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import TOKEN, ApiWorld
from tests.worlds.forked import PIPE, STDOUT, Forked, trustfloor
from tests.worlds.server import environment
from tests.worlds.waiting import A_WHILE, until


class Cli:
    """A running `trustfloor chat`; what it prints is read as it comes."""

    def __init__(self, process: Forked) -> None:
        self.process = process
        self.seen = ""

    async def until(self, words: str) -> None:
        """Wait until it has printed these words."""
        assert self.process.stdout is not None
        async with asyncio.timeout(A_WHILE):
            while words not in self.seen:
                piece = await self.process.stdout.read(4096)
                assert piece, self.seen
                self.seen += piece.decode()

    async def end(self) -> int:
        """Wait for its end; the exit status."""
        assert self.process.stdout is not None
        async with asyncio.timeout(A_WHILE):
            self.seen += (await self.process.stdout.read()).decode()
            return await self.process.wait()

    def type(self, line: str) -> None:
        """Type a line to it."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")


@contextlib.asynccontextmanager
async def chat(world: ApiWorld, *arguments: str, url: str | None = None) -> AsyncIterator[Cli]:
    """Run it with these words, against the world's API or another address; killed at the end."""
    process = await trustfloor(
        *("chat", *arguments),
        env=environment(
            world.parts.settings.vault.parent,
            {"TRUSTFLOOR_URL": url or world.at.url, "TRUSTFLOOR_TOKEN": TOKEN},
        ),
        stdin=PIPE,
        stderr=STDOUT,
    )
    try:
        yield Cli(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def the_turn(world: ApiWorld) -> SessionId:
    """The session of the turn that the CLI has begun."""
    await until(lambda: world.turns.running)
    (session,) = world.turns.running
    return session


async def ask(world: ApiWorld, session: SessionId) -> Answer:
    """What a gate does with a call that needs a person."""
    call = ToolCall(
        tool="Bash",
        input={"command": "rm notes.md"},
        tool_use_id="toolu_1",
        level=TrustLevel.VAULT,
        as_seen_vault="/vault",
        as_seen_cwd="/vault",
    )
    turn = TurnContext(session, world.turns.running[session])
    async with asyncio.timeout(A_WHILE):
        return await world.parts.approvals.ask(turn, call, "bash", "it deletes", "bash")


async def denied(world: ApiWorld, session: SessionId, reason: str, rule: str = "bash") -> None:
    """What a gate says of a call that was refused, and the agent's tool after it."""
    await world.turns.say(
        session,
        PermissionDeniedEvent(tool_use_id="toolu_1", tool_name="Bash", rule=rule, reason=reason),
    )
    await world.turns.say(
        session,
        ToolResultEvent(tool_use_id="toolu_1", content=f"hook error: {reason}", is_error=True),
    )


async def put_questions(
    world: ApiWorld, session: SessionId, *questions: dict[str, object]
) -> Replies:
    """What a gate does with questions of the agent."""
    turn = TurnContext(session, world.turns.running[session])
    async with asyncio.timeout(A_WHILE):
        return await world.parts.questions.ask(turn, "toolu_1", {"questions": list(questions)})
