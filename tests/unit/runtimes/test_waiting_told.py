"""What is kept for a session's next turn goes once it is spoilt, and what becomes of it is told."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from supervisor.errors import ConfigurationError, EngineRefused, SandboxKilled
from supervisor.ids import SessionId, TurnId
from supervisor.observability.logs import configure_logs, log_context
from supervisor.runtimes.waiting import WaitingRoom
from tests.worlds.kept_ready import ADA, TURN, Made, a_maker, gone, ready
from tests.worlds.waiting import A_WHILE, until

pytestmark = pytest.mark.usefixtures("restored_logging")


@pytest.fixture
def made() -> Made:
    return a_maker()


@dataclass
class Told:
    """What the room told of its things, in order; from the `refused`th on it can't be told."""

    steps: list[tuple[SessionId | None, TurnId, dict[str, Any]]] = field(default_factory=list)
    refused: int | None = None

    async def __call__(self, session: SessionId | None, mark: TurnId, what: dict[str, Any]) -> None:
        if self.refused is not None and len(self.steps) >= self.refused:
            raise ConfigurationError("no entry can be written")
        self.steps.append((session, mark, what))

    @property
    def whats(self) -> list[str]:
        return [what["what"] for _, _, what in self.steps]

    @property
    def why(self) -> str:
        """Why the last one went."""
        assert self.whats[-1] == "gone"
        return str(self.steps[-1][2]["why"])


async def test_what_is_of_no_use_any_more_goes_at_once_and_who_comes_then_finds_nothing(
    made: Made,
) -> None:
    told, is_spoilt = Told(), asyncio.Event()

    async def spoilt(thing: str) -> str:
        await is_spoilt.wait()
        return f"{thing} has spoken"

    async with WaitingRoom[str](1, A_WHILE, spoilt=spoilt, tell=told) as room:
        room.expect(ADA, "fit", made.open)
        await ready(room)
        is_spoilt.set()
        await gone(room)
        assert made.closed == made.opened
        assert told.why == f"made under {made.opened[0]} has spoken"
        assert await room.take(ADA, "fit", TURN) is None


async def test_what_is_spoilt_once_it_is_taken_is_its_takers_business(made: Made) -> None:
    is_spoilt = asyncio.Event()

    async def spoilt(_: str) -> str:
        await is_spoilt.wait()
        return "it has spoken"

    async with WaitingRoom[str](1, A_WHILE, spoilt=spoilt) as room:
        room.expect(ADA, "fit", made.open)
        held = await room.take(ADA, "fit", TURN)
        is_spoilt.set()
        await asyncio.sleep(0.01)
        assert held is not None
        assert made.closed == []


async def test_its_making_its_taking_and_its_end_are_told(made: Made) -> None:
    told = Told()
    async with WaitingRoom[str](1, A_WHILE, tell=told) as room:
        room.expect(ADA, "fit", made.open)
        held = await room.take(ADA, "fit", TURN)
        assert held is not None
        async with held:
            assert told.steps[-1] == (ADA, made.opened[0], {"what": "taken", "turn": TURN})
    assert told.whats == ["begun", "taken", "gone"]
    assert {(session, mark) for session, mark, _ in told.steps} == {(ADA, made.opened[0])}


@pytest.mark.parametrize(
    ("ending", "why"),
    {
        "its time is over": ("wait", "in time"),
        "its session has gone": ("forget", "the session was deleted"),
        "another turn needs its place": ("give_way", "needs the room"),
        "the next message is another": ("mismatch", "other terms"),
        "its taker finds fault with it": ("fault", "was killed"),
        "it can't be made": ("broken", "no engine"),
        "all is over": ("leave", "stops"),
    }.values(),
)
async def test_it_is_told_why_it_went(made: Made, ending: str, why: str) -> None:
    told = Told()
    made.breaks = EngineRefused("no engine") if ending == "broken" else None
    seconds = 0.02 if ending == "wait" else A_WHILE
    async with WaitingRoom[str](1, seconds, tell=told) as room:
        room.expect(ADA, "fit", made.open)
        if ending not in ("wait", "broken"):
            await ready(room)
        if ending == "forget":
            room.forget(ADA, "the session was deleted")
        elif ending == "give_way":
            await room.give_way()
        elif ending == "mismatch":
            await room.take(ADA, "another", TURN)
        elif ending == "fault":
            held = await room.take(ADA, "fit", TURN)
            assert held is not None
            with pytest.raises(SandboxKilled):
                async with held:
                    raise SandboxKilled("it was killed")
        if ending != "leave":
            await gone(room)
    assert why in told.why


async def test_what_ends_a_turn_is_no_word_on_what_serves_it(made: Made) -> None:
    """It may be an agent's own."""
    told = Told()
    async with WaitingRoom[str](1, A_WHILE, tell=told) as room:
        room.expect(ADA, "fit", made.open)
        held = await room.take(ADA, "fit", TURN)
        assert held is not None
        held.serve()
        with pytest.raises(SandboxKilled):
            async with held:
                raise SandboxKilled("words of an agent's")
        assert told.why == "its turn is over"


async def test_a_taker_that_gives_up_is_told_as_such(made: Made) -> None:
    told, hold = Told(), asyncio.Event()

    async def slow(session: SessionId | None, mark: TurnId, what: dict[str, Any]) -> None:
        await told(session, mark, what)
        if what["what"] == "taken":
            await hold.wait()

    async with WaitingRoom[str](1, A_WHILE, tell=slow) as room:
        room.fill(made.open)
        await ready(room)
        taking = asyncio.ensure_future(room.take_any(ADA, TURN))
        await until(lambda: "taken" in told.whats)
        taking.cancel()
        await gone(room)
        assert "broken off" in told.why


async def test_who_clears_up_is_called_once_it_is_gone(made: Made) -> None:
    there: list[set[TurnId]] = []
    async with WaitingRoom[str](1, A_WHILE, then=lambda: there.append(room.ids)) as room:
        room.expect(ADA, "fit", made.open)
        await ready(room)
        assert there == []
        await room.give_way()
        await gone(room)
        made.breaks = EngineRefused("no room")
        room.fill(made.open)
        await gone(room)
    assert there == [set(), set()]


@pytest.mark.parametrize("refused", [0, 1])
async def test_what_can_not_be_told_is_not_made_or_not_taken(made: Made, refused: int) -> None:
    async with WaitingRoom[str](1, A_WHILE, tell=Told(refused=refused)) as room:
        room.expect(ADA, "fit", made.open)
        if refused:
            with pytest.raises(ConfigurationError):
                await room.take(ADA, "fit", TURN)
        await gone(room)
        assert len(made.opened) == refused
        assert made.closed == made.opened


async def test_its_lines_in_the_log_are_the_turns_once_that_has_taken_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Those too of tasks that began while it waited."""
    configure_logs("json")
    log, says, has_said = logging.getLogger("test"), asyncio.Event(), asyncio.Event()

    async def reading() -> None:
        for _ in range(2):
            await says.wait()
            says.clear()
            log.info("read")
            has_said.set()

    @asynccontextmanager
    async def opened(_: TurnId) -> AsyncIterator[str]:
        async with asyncio.TaskGroup() as group:
            group.create_task(reading())
            yield "a talk"

    async def read() -> tuple[str, str]:
        has_said.clear()
        says.set()
        await has_said.wait()
        line = json.loads(capsys.readouterr().err.splitlines()[-1])
        return line["session_id"], line["turn_id"]

    with log_context(session_id="another", turn_id="another"):
        async with WaitingRoom[str](1, A_WHILE) as room:
            room.expect(ADA, "fit", opened)
            await ready(room)
            (mark,) = room.ids
            assert await read() == (ADA, mark)
            held = await room.take(ADA, "fit", TURN)
            assert held is not None
            assert await read() == (ADA, TURN)
            await held.end()
