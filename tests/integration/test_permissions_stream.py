"""What waits for people, over all sessions: listed with filters, and followed as it changes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.people import People, following, people_at
from tests.worlds.waiting import until
from trustfloor.aio.client import AsyncClient


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path, heartbeat_seconds=0.05) as world:
        yield world


@pytest.fixture
async def people(world: ApiWorld) -> AsyncIterator[People]:
    async with people_at(world) as people:
        yield people


async def test_a_follower_hears_what_is_open_first_and_then_each_change(people: People) -> None:
    world = people.world
    one, two = await people.turn(), await people.turn("garden", agent="agents/writer.md")
    people.ask(one, "first")
    question = people.question(two)
    ids = await people.open(2)
    async with world.client() as client, following(client) as follower:
        assert await follower.next() == ("open", {"type": "open", "ids": list(ids)})
        kind, request = await follower.next()
        assert (kind, request["id"], request["sessionId"]) == (
            "permission_request", ids[0], one.session_id,
        )  # fmt: skip
        assert (request["input"], request["turnId"]) == ({"command": "first"}, one.turn_id)
        assert 0 < request["secondsLeft"] <= 120
        kind, asked = await follower.next()
        assert (kind, asked["requestId"]) == ("user_question", ids[1])
        assert (asked["workspace"], asked["agent"]) == ("garden", "agents/writer.md")
        await follower.alive()
        people.ask(two, "second", "sub")
        kind, request = await follower.next()
        assert (kind, request["agentName"]) == ("permission_request", "sub")
        await client.post(f"/api/permissions/{ids[0]}/deny", json={})
        kind, ended = await follower.next()
        assert (kind, ended["id"], ended["decision"], ended["sessionId"]) == (
            "permission_resolved", ids[0], "denied", one.session_id,
        )  # fmt: skip
        question.cancel()
        kind, ended = await follower.next()
        assert (kind, ended["id"], ended["decision"]) == ("permission_resolved", ids[1], "void")
    await until(lambda: not world.parts.board.watchers)  # who has left is forgotten


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["a", "b", "c"]),
        ({"workspace": "garden"}, ["b", "c"]),
        ({"agent": "agents/writer.md"}, ["b", "c"]),
        ({"agent": "sub"}, ["c"]),
        ({"tool": "Bash"}, ["a", "b", "c"]),
        ({"tool": "Write"}, []),
        ({"workspace": "default", "agent": "sub"}, []),
    ],
)
async def test_each_filter_lets_through_what_it_names(
    people: People, query: dict[str, str], found: list[str]
) -> None:
    one, two = await people.turn(), await people.turn("garden", agent="agents/writer.md")
    people.ask(one, "a")
    people.ask(two, "b")
    people.ask(two, "c", "sub")
    await people.open(3)
    async with people.world.client() as client:
        answer = await client.get("/api/permissions", params=query)
        listed = answer.json()["permissions"]
        assert [each["input"]["command"] for each in listed] == found
        async with following(client, **query) as follower:
            assert len((await follower.next())[1]["ids"]) == len(found)
            told = [(await follower.next())[1]["input"]["command"] for _ in found]
            assert told == found


async def test_one_is_shown_as_long_as_it_waits_and_is_refused_as_what_it_became(
    people: People,
) -> None:
    asking = people.ask(await people.turn())
    (request_id,) = await people.open(1)
    path = f"/api/permissions/{request_id}"
    async with people.world.client() as client:
        shown = (await client.get(path)).json()
        assert (shown["id"], shown["workspace"]) == (request_id, "default")
        assert (await client.get("/api/questions/" + request_id)).status_code == 404
        await client.post(f"{path}/grant", json={"contentHash": shown["contentHash"]})
        assert (await asking).decision == "granted"
        assert (await client.get(path)).status_code == 409
        assert (await client.get("/api/permissions/req_none")).status_code == 404


async def test_a_follower_that_comes_back_is_told_what_is_open_now(people: People) -> None:
    turn = await people.turn()
    people.ask(turn, "one")
    (first,) = await people.open(1)
    async with AsyncClient(people.world.at.url, TOKEN) as client:
        watch = client.permissions.watch()
        assert (await anext(watch)).data["ids"] == [first]
        assert (await anext(watch)).data["id"] == first
        await watch.aclose()
        await client.permissions.deny(first)
        people.ask(turn, "two")
        (second,) = await people.open(1)
        again = client.permissions.watch()
        assert (await anext(again)).data["ids"] == [second]
        await again.aclose()


async def test_the_stream_ends_with_the_supervisor(people: People) -> None:
    async with people.world.client() as client, following(client) as follower:
        await follower.next()
        people.world.close_streams()
        with pytest.raises(StopAsyncIteration):
            await follower.next()


async def test_a_denial_that_stops_the_turn_denies_the_call_and_aborts_its_session(
    people: People,
) -> None:
    turn = await people.turn()
    people.world.turns.running[turn.session_id] = turn.turn_id
    asking = people.ask(turn)
    (request_id,) = await people.open(1)
    path = f"/api/permissions/{request_id}/deny"
    async with people.world.client() as client:
        wrong = await client.post(path, json={"stop": True, "contentHash": "0" * 64})
        assert (wrong.status_code, wrong.json()["where"]) == (422, "contentHash")
        assert people.world.turns.aborted == []
        denied = await client.post(path, json={"message": "not that", "stop": True})
        assert denied.json() == {"id": request_id, "decision": "denied", "stopped": True}
        assert (await asking).message == "not that"
        ((session, reason),) = people.world.turns.aborted
        assert session == turn.session_id
        assert reason == "a person denied a call and stopped the turn: not that"
        again = await client.post(path, json={"stop": True})
        assert again.status_code == 409
        assert len(people.world.turns.aborted) == 1
