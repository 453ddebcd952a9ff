"""What the rows say of a session: found or made, with its folder looked up once and in a thread."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath

import pytest

from supervisor.sessions import records
from supervisor.sessions.records import MessageRequest, named_session
from supervisor.sessions.working_directory import resolve_working_directory
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, a_house


@asynccontextmanager
async def watched(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[House, list[bool]]]:
    """A house, and for each look at a folder whether it was in the event loop's own thread."""
    looks: list[bool] = []
    loop = threading.get_ident()

    def noting(*arguments: object) -> tuple[PurePosixPath, str | None]:
        looks.append(threading.get_ident() == loop)
        return resolve_working_directory(*arguments)  # type: ignore[arg-type]

    async with a_house(engine_socket=Path("/nowhere")) as house:
        monkeypatch.setattr(records, "resolve_working_directory", noting)
        yield house, looks


async def test_beginning_a_turn_looks_its_folder_up_once_and_not_in_the_loops_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with watched(monkeypatch) as (house, looks):
        first = await house.begin("hello", working_directory="notes")
        assert looks == [False]
        session = await house.parts.sessions.get_session(first.session_id)
    assert session.working_directory == "notes"


async def test_a_floor_that_changes_looks_no_running_turns_folder_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with watched(monkeypatch) as (house, looks):
        await house.begin("hello", trust_level=TrustLevel.FULL)
        await house.parts.conversations.floors_changed()
        assert looks == [False]


async def test_the_trust_of_a_next_message_looks_anew_as_its_folder_may_be_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with watched(monkeypatch) as (house, looks):
        started = await house.begin("hello")
        await house.parts.conversations.trust(started.session_id)
        assert looks == [False, False]


def test_a_request_names_no_session_unless_it_does() -> None:
    assert named_session(MessageRequest("x")) is None
    assert named_session(MessageRequest("x", session_id="new")) is None
