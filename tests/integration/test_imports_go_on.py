"""An imported conversation, and a fork, go on here with the real CLI: told as text, and once."""

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from supervisor.ids import SessionId
from supervisor.sessions.transcripts import transcript_pointer
from supervisor.storage.session import SessionUpdate
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, prompt, step
from tests.worlds.noting_model import a_noted_house, a_noting_model

pytestmark = pytest.mark.engine

ID = SessionId("0b6f7a52-6a0b-4d0e-9a2d-2a4c5f3e7b11")


def export(*said: str) -> bytes:
    messages: list[dict[str, Any]] = [
        {"sender": ("human", "assistant")[number % 2], "text": text}
        for number, text in enumerate(said)
    ]
    return json.dumps([{"uuid": ID, "name": "Plans", "chat_messages": messages}]).encode()


async def imported(house: House, *said: str, level: TrustLevel | None = None) -> None:
    outcome = await house.parts.imports.take_in("c.json", export(*said), level=level)
    assert [each.state for each in outcome.imported] == ["new"]


@pytest.mark.parametrize("level", [TrustLevel.FULL, TrustLevel.SANDBOXED])
async def test_the_next_message_knows_what_was_said_elsewhere(level: TrustLevel) -> None:
    async with a_noting_model() as noted, a_noted_house(noted) as house:
        await imported(house, "my-cat-is-Tom", "noted-Tom", level=level)
        first = await house.send(prompt(step("one"), words="first."), level, session_id=ID)
        assert first.end["type"] == "done", first.end
        info = first.events[0]["resumeInfo"]
        assert info["method"] == "context_injection"
        assert (info["messagesInjected"], info["sdkSessionValid"]) == (2, False)
        asked = noted.conversations()[-1]
        places = [asked.index(each) for each in ("my-cat-is-Tom", "noted-Tom", "first.")]
        assert places == sorted(places)
        noted.bodies.clear()

        second = await house.send(prompt(step("two"), words="second."), level, session_id=ID)
        assert second.events[0]["resumeInfo"]["method"] == "sdk_resume"
        assert noted.conversations()[-1].count("my-cat-is-Tom") == 1

        other = TrustLevel.SANDBOXED if level is TrustLevel.FULL else None
        if other is not None:  # the other side has no transcript: it is told of all
            noted.bodies.clear()
            third = await house.send(prompt(step("three"), words="third."), other, session_id=ID)
            assert third.end["type"] == "done", third.end
            asked = noted.conversations()[-1]
            assert all(each in asked for each in ("my-cat-is-Tom", "first.", "second."))


async def test_a_fork_knows_what_was_said_and_leaves_the_old_session_alone() -> None:
    async with a_noting_model() as noted, a_noted_house(noted) as house:
        await imported(house, "said-elsewhere", "answered-elsewhere", level=TrustLevel.VAULT)
        await house.send(
            prompt(step("answered-here"), words="said-here."), TrustLevel.SANDBOXED, session_id=ID
        )
        old = await house.parts.sessions.get_session(ID)
        made = await house.parts.conversations.fork(ID)
        assert (made.continued_from, made.trust_level) == (ID, TrustLevel.VAULT)
        assert (made.workspace, made.working_directory) == (old.workspace, old.working_directory)
        assert made.permissions == old.permissions
        assert made.message_count == 4
        noted.bodies.clear()
        turn = await house.send(
            prompt(step("ok"), words="further."), TrustLevel.SANDBOXED, session_id=made.id
        )
        assert turn.end["type"] == "done", turn.end
        assert turn.events[0]["resumeInfo"]["method"] == "context_injection"
        asked = noted.conversations()[-1]
        told = ["said-elsewhere", "answered-elsewhere", "said-here.", "answered-here", "further."]
        places = [asked.index(each) for each in told]
        assert places == sorted(places)
        assert await house.parts.sessions.get_session(ID) == old

        again = await house.parts.conversations.fork(made.id)  # a fork of a fork
        assert again.message_count == 6


async def test_a_fork_is_at_least_as_strict_as_the_floors_are_now() -> None:
    async with a_noting_model() as noted, a_noted_house(noted) as house:
        await imported(house, "x", level=TrustLevel.FULL)
        await house.parts.workspaces.put("default", floor=TrustLevel.SANDBOXED)
        made = await house.parts.conversations.fork(ID)
        assert made.trust_level is TrustLevel.SANDBOXED


async def test_a_transcript_that_the_vault_brought_under_the_imports_id_is_never_resumed() -> None:
    async with a_noting_model() as noted, a_noted_house(noted) as house:
        planted = transcript_pointer(house.vault, PurePosixPath(), ID)
        plant(house.vault / planted)
        await imported(house, "from-the-export", "yes", level=TrustLevel.FULL)
        for words in ("first.", "second."):
            turn = await house.send(prompt(step("ok"), words=words), TrustLevel.FULL, session_id=ID)
            assert turn.end["type"] == "done", turn.end
        assert not any("PLANTED" in said for said in noted.conversations())

        # The control: where the row names that file, the CLI takes it up.
        await house.parts.sessions.update_session(ID, SessionUpdate(transcript_path=str(planted)))
        await house.send(prompt(step("ok"), words="third."), TrustLevel.FULL, session_id=ID)
        assert "PLANTED" in noted.conversations()[-1]


def plant(path: Path) -> None:
    path.parent.mkdir(parents=True)
    name = "7d8e1a52-6a0b-4d0e-9a2d-2a4c5f3e7b11"
    common = {"isSidechain": False, "userType": "external", "cwd": "/", "sessionId": ID}
    records = [
        {
            **common,
            "type": "user",
            "uuid": name,
            "parentUuid": None,
            "timestamp": "2025-03-01T10:00:00.000Z",
            "message": {"role": "user", "content": "PLANTED"},
        },
        {
            **common,
            "type": "assistant",
            "uuid": name.replace("7d8e", "8d8e"),
            "parentUuid": name,
            "timestamp": "2025-03-01T10:00:01.000Z",
            "message": {
                "id": "msg_1",
                "role": "assistant",
                "model": "m",
                "type": "message",
                "content": [{"type": "text", "text": "PLANTED"}],
            },
        },
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
