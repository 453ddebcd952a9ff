"""What can't be sent is refused by name before anything is made, and nothing locks a session.

The kinds behind S10 (a folder that is taken for another), S12 (a cryptic failure at the start) and
S29 (a session that takes no message ever again).
"""

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from supervisor.errors import InvalidRequest
from supervisor.sessions.message import MAX_MESSAGE_CHARS
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import a_house, prompt, step
from tests.worlds.waiting import until

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("field", "request_"),
    [
        ("message", {"message": "m" * (MAX_MESSAGE_CHARS + 1)}),
        ("message", {"message": " \n\t "}),
        ("message", {"message": "half a character: \ud83d"}),
        ("systemPrompt", {"message": "hello", "system_prompt": "half: \udc00"}),
        ("model", {"message": "hello", "model": "m" * 200_000}),
        ("model", {"message": "hello", "model": "a\0b"}),
        ("model", {"message": "hello", "model": "--dangerously-skip-permissions"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_it_names_the_field_and_makes_no_session(
    field: str, request_: dict[str, Any]
) -> None:
    async with a_house() as house:
        for level in TrustLevel:
            with pytest.raises(InvalidRequest) as refused:
                await house.begin(trust_level=level, **request_)
            assert refused.value.where == field
        assert await house.parts.sessions.list_sessions(10) == []
        assert house.parts.conversations.active() == []


async def test_a_message_that_is_too_long_is_told_its_size_and_the_limit() -> None:
    async with a_house() as house:
        with pytest.raises(InvalidRequest) as refused:
            await house.begin("m" * (MAX_MESSAGE_CHARS + 1))
    assert str(MAX_MESSAGE_CHARS + 1) in refused.value.message
    assert str(MAX_MESSAGE_CHARS) in (refused.value.remedy or "")


async def test_a_folder_that_is_gone_is_told_and_not_silently_replaced() -> None:
    async with a_house(fill=lambda vault: (vault / "work").mkdir()) as house:
        first = await house.send(prompt(step("ok")), TrustLevel.SANDBOXED, working_directory="work")
        assert first.events[0]["workingDirectory"] == "work"
        (house.vault / "work").rmdir()
        second = await house.send(prompt(step("ok")), session_id=first.session_id)
        (warning,) = second.of("warning")
        assert warning["code"] == "working_directory"
        assert "'work'" in warning["message"]
        assert second.events[0]["workingDirectory"] == "."
        assert second.end["type"] == "done"


async def test_a_turn_whose_end_could_not_be_stored_does_not_lock_its_session() -> None:
    async with a_house() as house:
        first = await house.send(prompt(step("ok")), TrustLevel.FULL)
        with closing(sqlite3.connect(house.vault / "Chat" / "sessions.db")) as db:
            await until(lambda: states(db) == ["done"])
            db.execute("UPDATE turns SET state = 'running', ended_at = NULL")
            db.commit()
            second = await house.send(
                prompt(step("ok")), TrustLevel.FULL, session_id=first.session_id
            )
            assert second.end["type"] == "done"
            assert states(db)[0] in {"done", "interrupted"}


def states(db: sqlite3.Connection) -> list[str]:
    return [state for (state,) in db.execute("SELECT state FROM turns ORDER BY rowid")]
