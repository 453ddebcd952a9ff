"""A person at a terminal grants a folder, lists their grants, and takes one back: real HTTP."""

import asyncio
import contextlib
import io
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.approvals.offer import Offer
from supervisor.approvals.pending import Answer, TurnContext
from supervisor.cli.asking import Asker
from supervisor.cli.client import Client, Heard
from supervisor.cli.keyboard import Keyboard
from supervisor.cli.render import Screen
from supervisor.gate.offers import offer_of
from supervisor.ids import SessionId, TurnId
from supervisor.policy.call import ToolCall
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.grants import asking_about, wary_policy
from tests.worlds.waiting import until


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        for name in ("one.md", "two.md"):
            (world.parts.settings.vault / "Notes" / name).write_text("text\n")
        yield world


async def offer(world: ApiWorld) -> Offer:
    """The offer of a read, as a gate makes it."""
    vault = world.parts.settings.vault
    policy = wary_policy(vault.parent).current
    asking = await asking_about("Read", vault, policy, file_path="Notes/one.md")

    async def is_covered() -> bool:
        return False

    return await offer_of(asking, str(vault), is_covered)


@contextlib.asynccontextmanager
async def waiting(world: ApiWorld, session: SessionId) -> AsyncIterator[asyncio.Task[Answer]]:
    """A call of the session that waits for a person."""
    made = await offer(world)
    assert made.asking is not None
    task = asyncio.create_task(
        world.parts.approvals.ask(
            TurnContext(session, TurnId("turn_1")), made.asking.call, "r", "why", "read", offer=made
        )
    )
    await until(world.parts.approvals.pending)
    yield task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def typed(world: ApiWorld, *lines: str) -> str:
    """What a terminal shows to whom types these lines when the request is put to them."""
    (request,) = world.parts.approvals.pending()
    shown = io.StringIO()
    reader, writer = os.pipe()
    os.write(writer, "".join(f"{line}\n" for line in lines).encode())
    os.close(writer)
    try:
        async with Client(world.at.url, TOKEN) as client:
            asker = Asker(client, Screen(shown), Keyboard(reader))
            heard = Heard(1, "permission_request", request.model_dump(by_alias=True, mode="json"))
            await asker.permission(heard)
    finally:
        os.close(reader)
    return shown.getvalue()


async def command(world: ApiWorld, *arguments: str) -> tuple[int, str]:
    """The exit status of `trustfloor grants …` and what it says."""
    ran = await world.command("grants", *arguments)
    return ran.status, ran.out.decode() + ran.err


async def test_numbers_grant_for_the_session_and_the_grant_is_listed_and_revoked(
    world: ApiWorld,
) -> None:
    session = await world.session()
    async with waiting(world, session) as call:
        shown = await typed(world, "9", "2")
        assert (await call).decision == "granted"
    assert "1. reads the file `Notes/one.md` and no other (1 file now)" in shown
    assert "2. reads any file directly in `Notes`" in shown
    assert "(2 files now)" in shown
    assert "that is none of the choices" in shown
    (grant,) = await world.parts.grants.list(session_id=session)
    assert (grant.pattern, grant.level) == ("Notes/*", TrustLevel.VAULT)
    status, said = await command(world, "list", "--session", session)
    assert status == 0, said
    assert grant.id in said
    assert "read Notes/*" in said
    assert "at trust vault" in said
    status, said = await command(world, "revoke", grant.id)
    assert (status, said) == (0, "revoked: read Notes/*\n")
    assert await command(world, "list") == (0, "no grants\n")
    status, said = await command(world, "list", "--ended")
    assert "revoked 20" in said


async def test_yes_grants_this_call_and_nothing_else(world: ApiWorld) -> None:
    async with waiting(world, await world.session()) as call:
        await typed(world, "y")
        assert (await call).decision == "granted"
    assert await world.parts.grants.list() == []


async def test_an_own_pattern_is_granted_and_one_that_goes_too_far_is_asked_for_again(
    world: ApiWorld,
) -> None:
    session = await world.session()
    async with waiting(world, session) as call:
        shown = await typed(world, "p", "../*", "p", ".env", "p", "Notes/*.md")
        assert (await call).decision == "granted"
    assert shown.count("error: ") == 2
    assert shown.count("where: pattern") == 2
    (grant,) = await world.parts.grants.list(session_id=session)
    assert (grant.pattern, grant.scope.value) == ("Notes/*.md", "session")


@pytest.mark.parametrize("lines", [("p", "read Notes/*.md"), ("p Read(Notes/*.md)",)])
async def test_a_pattern_is_taken_with_its_kind_or_tool_in_front(
    world: ApiWorld, lines: tuple[str, ...]
) -> None:
    session = await world.session()
    async with waiting(world, session) as call:
        shown = await typed(world, *lines)
        assert (await call).decision == "granted"
    assert ("(bash curl)" in shown) == (len(lines) == 2)
    (grant,) = await world.parts.grants.list(session_id=session)
    assert (grant.kind.value, grant.pattern) == ("read", "Notes/*.md")


async def test_no_pattern_is_no_answer(world: ApiWorld) -> None:
    async with waiting(world, await world.session()) as call:
        shown = await typed(world, "p", "", "y")
        assert (await call).decision == "granted"
    assert shown.count("allow this?") == 2
    assert await world.parts.grants.list() == []


async def test_anything_else_is_a_no(world: ApiWorld) -> None:
    async with waiting(world, await world.session()) as call:
        await typed(world, "", "not now")
        answer = await call
    assert (answer.decision, answer.message) == ("denied", "not now")
    assert await world.parts.grants.list() == []


async def test_an_unknown_grant_is_status_1_and_says_how_to_find_one(world: ApiWorld) -> None:
    status, said = await command(world, "revoke", "grant_none")
    assert status == 1
    assert "error: no grant has this id" in said
    assert "`trustfloor grants list` shows the ids" in said
    assert "GET" not in said


async def test_without_a_command_they_are_listed_and_on_request_as_json(world: ApiWorld) -> None:
    session = await world.session()
    async with waiting(world, session) as call:
        await typed(world, "2")
        await call
    (grant,) = await world.parts.grants.list(session_id=session)
    assert await command(world) == await command(world, "list")
    assert grant.id in (await command(world))[1]
    status, said = await command(world, "list", "--json")
    assert status == 0
    (listed,) = json.loads(said)["grants"]
    assert (listed["id"], listed["pattern"], listed["sessionId"]) == (grant.id, "Notes/*", session)


async def test_a_number_where_nothing_is_suggested_is_asked_about_again(world: ApiWorld) -> None:
    asking = asyncio.create_task(
        world.parts.approvals.ask(
            TurnContext(await world.session(), TurnId("turn_1")),
            ToolCall("Read", {"file_path": "x"}, "t", TrustLevel.VAULT, "/v", "/v"),
            *("r", "why", "read"),
        )
    )
    await until(world.parts.approvals.pending)
    shown = await typed(world, "1", "2, 3", "p", "p bash curl", "y")
    assert (await asking).decision == "granted"
    assert shown.count("nothing can be granted beyond this call") == 4
    assert "or numbers" not in shown


async def test_a_grant_is_revoked_by_enough_of_its_id(world: ApiWorld) -> None:
    session = await world.session()
    async with waiting(world, session) as call:
        await typed(world, "2")
        await call
    (grant,) = await world.parts.grants.list(session_id=session)
    assert await command(world, "revoke", grant.id[: len("grant_") + 6]) == (
        0,
        "revoked: read Notes/*\n",
    )
    assert await world.parts.grants.list(session_id=session) == []
