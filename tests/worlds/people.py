"""People before an API: calls and questions that wait for them, and one who follows the stream."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from supervisor.approvals.open_requests import TurnContext
from supervisor.approvals.pending import Answer
from supervisor.approvals.questions import Replies
from supervisor.ids import SessionId, TurnId, new_turn_id
from supervisor.policy.call import ToolCall
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import ApiWorld
from tests.worlds.strict_sse import StrictParser
from tests.worlds.waiting import A_WHILE, until

QUESTION = {"question": "Which?", "options": [{"label": "this"}, {"label": "that"}]}


def bash(command: str, agent: str | None = None) -> ToolCall:
    """A command that an agent, or a sub-agent, wants to run."""
    return ToolCall(
        "Bash", {"command": command}, f"toolu_{command}", TrustLevel.VAULT, "/v", "/v", agent
    )


class People:
    """Asks in turns of sessions; what is asked waits in tasks that end with the block."""

    def __init__(self, world: ApiWorld) -> None:
        self.world = world
        self.tasks: list[asyncio.Task[Any]] = []

    async def turn(self, workspace: str = "default", agent: str | None = None) -> TurnContext:
        """A turn of a new session."""
        return TurnContext(await self.world.session(), new_turn_id(), agent, workspace)

    def ask(
        self, turn: TurnContext, command: str = "ls", agent: str | None = None
    ) -> asyncio.Task[Answer]:
        """A permission is asked for."""
        call = bash(command, agent)
        asking = self.world.parts.approvals.ask(turn, call, "rule", "reason", "bash")
        task = asyncio.create_task(asking)
        self.tasks.append(task)
        return task

    def question(self, turn: TurnContext, *questions: dict[str, Any]) -> asyncio.Task[Replies]:
        """A question is asked."""
        asked = {"questions": [*questions] or [QUESTION]}
        task = asyncio.create_task(self.world.parts.questions.ask(turn, "toolu_q", asked))
        self.tasks.append(task)
        return task

    async def open(self, count: int) -> tuple[str, ...]:
        """The ids of what is open, once it is so much."""
        await until(lambda: len(self.world.parts.board.open()) == count)
        return tuple(each.id for each in self.world.parts.board.open())


@asynccontextmanager
async def people_at(world: ApiWorld) -> AsyncIterator[People]:
    """People at this API."""
    people = People(world)
    try:
        yield people
    finally:
        for task in people.tasks:
            task.cancel()
        await asyncio.gather(*people.tasks, return_exceptions=True)


class Follower:
    """One who reads `/api/permissions/stream`."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._parser = StrictParser()
        self._heard: list[tuple[str, dict[str, Any]]] = []

    @property
    def comments(self) -> int:
        """How many signs of life came."""
        return self._parser.comments

    async def next(self) -> tuple[str, dict[str, Any]]:
        """The next message: its type, and what it says."""
        async with asyncio.timeout(A_WHILE):
            while not self._heard:
                for each in self._parser.feed(await anext(self._pieces)):
                    assert each.id == ""
                    self._heard.append((each.event, json.loads(each.data)))
        return self._heard.pop(0)

    async def alive(self) -> None:
        """Return at the next sign of life."""
        before = self.comments
        async with asyncio.timeout(A_WHILE):
            while self.comments == before:
                self._heard += [
                    (each.event, json.loads(each.data))
                    for each in self._parser.feed(await anext(self._pieces))
                ]


@asynccontextmanager
async def following(client: httpx.AsyncClient, **query: str) -> AsyncIterator[Follower]:
    """Follow what waits."""
    async with client.stream("GET", "/api/permissions/stream", params=query) as answer:
        assert answer.status_code == 200
        yield Follower(answer.aiter_raw())


def nobody() -> TurnContext:
    """A turn that there isn't."""
    return TurnContext(SessionId("none"), TurnId("none"))
