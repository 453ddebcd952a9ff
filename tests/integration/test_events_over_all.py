"""What happens in all sessions: one order, read in pages or followed, and no gap without a word."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from supervisor.events.feed import follow
from supervisor.events.log import EventLog, Retention
from supervisor.events.schema import TextEvent, WarningEvent
from supervisor.ids import SessionId, TurnId, new_session_id, new_turn_id
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.played_turns import done, text
from tests.worlds.strict_sse import StrictParser
from tests.worlds.waiting import A_WHILE


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        yield world


async def page(client: httpx.AsyncClient, **query: Any) -> dict[str, Any]:
    answer = await client.get("/api/events", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def played(world: ApiWorld, client: httpx.AsyncClient, words: str) -> str:
    """A turn with a piece of text; its session."""
    world.turns.script = [
        WarningEvent(code="w", message=words),
        text(words),
        done(SessionId("s"), words),
    ]
    answer = await client.post("/api/chat", json={"message": words})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["session_id"])


async def test_events_of_all_sessions_come_in_one_order_page_by_page(world: ApiWorld) -> None:
    async with world.client() as client:
        one, two = await played(world, client, "one"), await played(world, client, "two")
        whole = await page(client)
        assert [(each["type"], each["session_id"]) for each in whole["events"]] == [
            ("warning", one), ("done", one), ("warning", two), ("done", two),
        ]  # fmt: skip
        assert whole["more"] is False
        at, seen = 0, []
        while True:
            part = await page(client, after=at, limit=1)
            seen += part["events"]
            at = part["next"]
            if not part["more"]:
                break
        assert seen == whole["events"]
        assert (await page(client, after=at))["events"] == []
        for at, number in enumerate(whole["numbers"]):
            assert (await page(client, after=number))["numbers"] == whole["numbers"][at + 1 :]
        of_two = await page(client, session=two, type=["text", "done"])
        assert [each["type"] for each in of_two["events"]] == ["text", "done"]


async def test_a_wrong_type_and_an_unknown_session_are_told(world: ApiWorld) -> None:
    async with world.client() as client:
        wrong = await client.get("/api/events", params={"type": "txt"})
        assert (wrong.status_code, wrong.json()["where"]) == (422, "type")
        assert "tool_use" in wrong.json()["remedy"]
        assert wrong.json()["detail"].endswith("did you mean `text`?")
        unknown = await client.get("/api/events/stream", params={"session": "none"})
        assert unknown.status_code == 404


async def test_a_follower_hears_every_session_and_goes_on_where_it_was(world: ApiWorld) -> None:
    async with world.client() as client:
        await played(world, client, "before")
        heard: list[tuple[int, str]] = []
        ready = asyncio.Event()

        async def listen(wanted: int, **headers: str) -> None:
            async with client.stream("GET", "/api/events/stream", headers=headers) as answer:
                ready.set()
                parser = StrictParser()
                async for piece in answer.aiter_raw():
                    for each in parser.feed(piece):
                        said = json.loads(each.data)
                        heard.append((int(each.id), said.get("message") or said["response"]))
                    if len(heard) >= wanted:
                        return

        async with asyncio.timeout(A_WHILE):
            listening = asyncio.create_task(listen(4))
            await ready.wait()
            await played(world, client, "a")
            await played(world, client, "b")
            await listening
            assert [words for _, words in heard] == ["a", "a", "b", "b"]
            await played(world, client, "while away")
            await listen(6, **{"Last-Event-ID": str(heard[-1][0])})
        assert [words for _, words in heard[4:]] == ["while away", "while away"]
        assert [number for number, _ in heard] == sorted({number for number, _ in heard})


async def said(log: EventLog, session_id: SessionId, turn_id: TurnId, words: str) -> None:
    await log.append(session_id, turn_id, WarningEvent(code="w", message=words))


async def test_where_events_were_pruned_a_reader_that_was_before_them_is_told(
    tmp_path: Path,
) -> None:
    kept = Retention(total_bytes=1 << 30, session_bytes=9_000)
    async with EventLog(tmp_path / "e.db", retention=kept) as log:
        session_id = new_session_id()
        for number in range(6):
            turn_id = new_turn_id()
            await said(log, session_id, turn_id, f"{number}")
            await log.append(session_id, turn_id, TextEvent(delta="x" * 3_000))
        async with follow(log, after=1) as feed:
            (gap,) = await feed.batch(0)
            assert json.loads(gap.data)["code"] == "event_gap"
            rest = await feed.batch(0)
        assert json.loads(rest[-1].data)["message"] == "5"
        async with follow(log, after=rest[-1].seq) as feed:
            assert await feed.batch(0) == []


async def test_a_reader_that_prunes_overtake_is_told_where_it_stands(tmp_path: Path) -> None:
    kept = Retention(total_bytes=1 << 30, session_bytes=9_000)
    async with EventLog(tmp_path / "e.db", retention=kept) as log:
        session_id = new_session_id()
        await said(log, session_id, new_turn_id(), "first")
        async with follow(log, after=0) as feed:
            (first,) = await feed.batch(0)
            for number in range(6):
                turn_id = new_turn_id()
                await said(log, session_id, turn_id, f"{number}")
                await log.append(session_id, turn_id, TextEvent(delta="x" * 3_000))
            (gap,) = await feed.batch(0)
            assert (json.loads(gap.data)["code"], gap.seq) == ("event_gap", first.seq)
            rest = await feed.batch(0)
            assert json.loads(rest[-1].data)["message"] == "5"
            assert await feed.batch(0) == []


async def test_a_number_that_the_log_never_gave_is_told_and_all_that_there_is_comes(
    tmp_path: Path,
) -> None:
    async with EventLog(tmp_path / "e.db") as log:
        await said(log, new_session_id(), new_turn_id(), "of a new log")
        async with follow(log, after=500) as feed:
            (gap,) = await feed.batch(0)
            assert json.loads(gap.data)["code"] == "event_gap"
            (record,) = await feed.batch(0)
            assert json.loads(record.data)["message"] == "of a new log"


async def test_a_page_says_where_it_lacks_something(world: ApiWorld) -> None:
    async with world.client() as client:
        await played(world, client, "one")
        whole = await page(client)
        assert whole["gap"] is False
        unknown = await page(client, after=9_999)
        assert (unknown["gap"], unknown["events"]) == (True, whole["events"])
        assert (unknown["next"], unknown["more"]) == (whole["next"], False)


async def test_a_number_is_never_given_twice_also_after_the_newest_are_deleted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "e.db"
    async with EventLog(path) as log:
        old, new = new_session_id(), new_session_id()
        await said(log, old, new_turn_id(), "old")
        await said(log, new, new_turn_id(), "new")
        seen = (await log.numbers()).last
        await log.forget(new)
        await said(log, old, new_turn_id(), "after")
        async with follow(log, after=seen) as feed:
            (record,) = await feed.batch(0)
        assert json.loads(record.data)["message"] == "after"
        assert record.seq == seen + 1
    with closing(sqlite3.connect(path)) as cx:
        assert cx.execute("SELECT last_number FROM event_totals").fetchone() == (seen + 1,)
