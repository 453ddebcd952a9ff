"""Commands take the beginning of a session's id, and say which are meant where it is several's."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.ids import SessionId
from supervisor.storage.session import SessionCreate
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import ApiWorld, api_world

ONE = SessionId("0d8f6a1e-6f2c-4d0b-9c3e-2f5f1f0f9a11")
TWIN = SessionId("0d8f6a1e-7000-4000-8000-000000000000")
OTHER = SessionId("ffff0000-0000-4000-8000-000000000000")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        for session_id, title in ((ONE, "May \x1b[2J"), (TWIN, "June"), (OTHER, None)):
            made = SessionCreate(
                id=session_id, title=title, trust_level=TrustLevel.SANDBOXED, workspace="default"
            )
            await world.sessions.create_session(made)
        yield world


async def test_enough_of_an_id_names_its_session_and_too_little_names_those_it_could_be(
    world: ApiWorld,
) -> None:
    whole, unique, several, none, short, odd = await asyncio.gather(
        world.command("sessions", "show", ONE),
        world.command("sessions", "show", "FFFF"),
        world.command("sessions", "trust", "0d8f6a1e"),
        world.command("sessions", "archive", "abcd"),
        world.command("chat", "--session", "0d8", "hello"),
        world.command("events", "--session", "nosuch"),
    )
    assert whole.status == unique.status == 0, unique.err
    assert " UTC · sandboxed" in unique.out.decode()
    assert several.status == 1
    assert f"{ONE}  May" in several.err
    assert f"{TWIN}  June" in several.err
    assert OTHER not in several.err
    assert "\x1b" not in several.err
    assert "give more of the one that you mean" in several.err
    assert (none.status, "no session's id begins so" in none.err) == (1, True)
    assert (short.status, "by 4 characters at least" in short.out.decode()) == (1, True)
    assert (odd.status, "no session has this id" in odd.err) == (1, True)


async def test_what_is_not_there_is_told_before_anything_is_asked(world: ApiWorld) -> None:
    absent, there = await asyncio.gather(
        world.command("sessions", "delete", "nosuch"),
        world.command("sessions", "delete", "ffff", "--yes"),
    )
    assert absent.status == 1
    assert absent.out == b""
    assert "no session has this id" in absent.err
    assert "trustfloor sessions" in absent.err
    assert there.out == b"deleted\n"
    assert await world.sessions.find_session(OTHER) is None


async def test_a_limited_token_finds_those_that_it_may_see_alone(world: ApiWorld) -> None:
    async with world.client() as owner:
        made = {"name": "Elsewhere", "floor": "sandboxed"}
        assert (await owner.put("/api/workspaces/elsewhere", json=made)).is_success
        token = await owner.post(
            "/api/tokens", json={"name": "x", "scopes": ["chat"], "workspaces": ["elsewhere"]}
        )
        everything = (await owner.get("/api/chat/sessions", params={"id": "0d8f"})).json()
        assert [each["id"] for each in everything["sessions"]] == [ONE, TWIN]
        for odd in ("0d8", "%", "x" * 37):
            status = (await owner.get("/api/chat/sessions", params={"id": odd})).status_code
            assert status == 422
        liked = await owner.get("/api/chat/sessions", params={"id": "0d8%"})
        assert liked.json()["sessions"] == [], "no pattern, but a beginning"
    bearer = f"Bearer {token.json()['token']}"
    async with world.client(Authorization=bearer) as limited:
        seen = await limited.get("/api/chat/sessions", params={"id": "0d8f"})
    assert seen.json()["sessions"] == []


async def test_grants_tokens_and_logins_are_named_by_the_beginning_of_their_ids_too(
    world: ApiWorld,
) -> None:
    async with world.client() as owner:
        body = {"name": "phone", "scopes": ["chat"]}
        token = (await owner.post("/api/tokens", json=body)).json()["id"]
        code = (await owner.post("/api/logins/codes", json={})).json()["code"]
        await owner.post("/api/login", json={"code": code}, headers={"Origin": world.at.url})
        (login,) = (await owner.get("/api/logins")).json()["logins"]
        short, ended, none = await asyncio.gather(
            world.command("tokens", "revoke", token[: len("tok_") + 6]),
            world.command("login", "--end", login["id"].partition("_")[2][:6]),
            world.command("grants", "revoke", "grant_abcdef"),
        )
        assert short.out.decode() == f"revoked: phone ({token})\n", short.err
        assert ended.out.decode() == f"ended: {login['id']}\n", ended.err
        assert (none.status, "no grant has this id" in none.err) == (1, True)
    few = await world.command("tokens", "revoke", token[: len("tok_") + 3])
    assert (few.status, "told apart by 4 characters at least" in few.err) == (1, True)
    assert "list them: trustfloor tokens" in few.err
