import asyncio
import json
from pathlib import Path

import pytest

from supervisor.events import hub
from supervisor.events.hub import TAIL_BYTES, Tail
from supervisor.events.log import EventLog, EventRecord, Retention
from supervisor.events.notices import GAP
from supervisor.events.replay import Records, subscribe
from supervisor.ids import TurnId
from tests.worlds.storage import SESSION, TURN, done, event_log, text
from tests.worlds.waiting import A_WHILE


async def gather(records: Records, count: int) -> list[EventRecord]:
    taken: list[EventRecord] = []
    async with asyncio.timeout(A_WHILE):
        while len(taken) < count:
            taken.append(await anext(records))
    return taken


async def rest(records: Records) -> list[int]:
    async with asyncio.timeout(A_WHILE):
        return [record.seq async for record in records]


@pytest.mark.parametrize("after", [None, 0, 7, 40])
@pytest.mark.parametrize("kept", [1, 3, 1000])
async def test_no_gap_and_no_double_while_others_append(
    tmp_path: Path, after: int | None, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "Tail", lambda: Tail(max_events=kept))
    async with event_log(tmp_path) as log:
        await log.append_all(SESSION, TURN, [text()] * 40)

        async def write() -> None:
            for _ in range(30):
                await log.append(SESSION, TURN, text())
                await asyncio.gather(*(log.append(SESSION, TURN, text()) for _ in range(3)))

        async def read(pauses: int) -> list[int]:
            seqs: list[int] = []
            async with subscribe(log, SESSION, after=after) as records:
                while not seqs or seqs[-1] < 160:
                    seqs += [record.seq for record in await gather(records, 1)]
                    for _ in range(pauses):
                        await asyncio.sleep(0)
            return seqs

        *readers, _ = await asyncio.gather(*(read(pauses) for pauses in (0, 1, 5, 40)), write())
        expected = list(range((after or 0) + 1, 161))
        assert readers == [expected] * 4
        assert log.hub.readers(SESSION) == 0


async def test_live_events_follow_without_a_look_at_the_log(tmp_path: Path) -> None:
    async with event_log(tmp_path) as log, subscribe(log, SESSION) as records:
        assert await records.batch(0.01) == []
        appended = await log.append(SESSION, TURN, text())
        assert await records.batch(5) == [appended]
        assert not records.ended


async def test_cancelled_waits_lose_nothing(tmp_path: Path) -> None:
    async with event_log(tmp_path) as log, subscribe(log, SESSION) as records:
        seqs: list[int] = []
        writing = asyncio.create_task(log.append_all(SESSION, TURN, [text()] * 200))
        async with asyncio.timeout(A_WHILE):
            while len(seqs) < 200:
                reading = asyncio.create_task(anext(records))
                for _ in range(len(seqs) % 4):
                    await asyncio.sleep(0)
                reading.cancel()
                await asyncio.wait({reading})
                if not reading.cancelled():
                    seqs.append(reading.result().seq)
                seqs += [record.seq for record in await records.batch(0)]
        await writing
        assert seqs == list(range(1, 201))


async def test_until_terminal_ends_with_the_turn_that_is_running(tmp_path: Path) -> None:
    async with event_log(tmp_path) as log:
        await log.append_all(SESSION, TURN, [text(), done()])
        await log.append(SESSION, TurnId("turn_2"), text())
        async with subscribe(log, SESSION, after=1, until_terminal=True) as records:
            await log.append_all(SESSION, TurnId("turn_2"), [text(), done()])
            await log.append(SESSION, TurnId("turn_3"), text())
            assert await rest(records) == [2, 3, 4, 5]
            assert records.ended
            assert await records.batch(5) == []


async def test_until_terminal_replays_an_idle_session_to_its_last_end(tmp_path: Path) -> None:
    async with event_log(tmp_path) as log:
        for turn in ("a", "b"):
            await log.append_all(SESSION, TurnId(turn), [text(), done()])
        async with subscribe(log, SESSION, until_terminal=True) as records:
            assert await rest(records) == [1, 2, 3, 4]


async def test_until_terminal_from_the_last_event_waits_for_the_next_turn(tmp_path: Path) -> None:
    async with event_log(tmp_path) as log:
        await log.append_all(SESSION, TURN, [text(), done()])
        async with subscribe(log, SESSION, after=2, until_terminal=True) as records:
            assert await records.batch(0.01) == []
            await log.append_all(SESSION, TurnId("b"), [text(), done()])
            assert await rest(records) == [3, 4]


async def test_pruned_events_are_told_as_a_gap_and_the_rest_follows(tmp_path: Path) -> None:
    async with EventLog(tmp_path / "e.db", retention=Retention(session_bytes=2000)) as log:
        for turn in "abcd":
            await log.append_all(SESSION, TurnId(turn), [text("x" * 500), done()])
        first = (await log.extent(SESSION)).first
        assert first > 3
        async with subscribe(log, SESSION, after=1, until_terminal=True) as records:
            notice = await anext(records)
            assert await rest(records) == list(range(first, 9))
        stored = await log.read(SESSION, first - 1)
        assert notice not in stored
        async with subscribe(log, SESSION, after=first - 1, until_terminal=True) as records:
            assert await rest(records) == list(range(first, 9))
    told = json.loads(notice.data)
    assert (told["type"], told["code"], told["seq"]) == ("warning", GAP, first - 1)
    assert f"events 2 to {first - 1} " in told["message"]


async def test_a_number_the_log_never_gave_is_told_and_everything_is_replayed(
    tmp_path: Path,
) -> None:
    async with event_log(tmp_path) as log:
        await log.append_all(SESSION, TURN, [text(), done()])
        async with subscribe(log, SESSION, after=500, until_terminal=True) as records:
            notice = await anext(records)
            assert json.loads(notice.data)["code"] == GAP
            assert notice.seq == 0
            assert await rest(records) == [1, 2]


async def test_a_forgotten_session_is_a_gap_and_goes_on(tmp_path: Path) -> None:
    async with event_log(tmp_path) as log:
        await log.append_all(SESSION, TURN, [text(), done()])
        await log.forget(SESSION)
        async with subscribe(log, SESSION, after=1) as records:
            (notice,) = await gather(records, 1)
            assert notice.seq == 2
            await log.append(SESSION, TURN, text())
            assert [record.seq for record in await gather(records, 1)] == [3]


async def test_who_reads_a_session_that_is_deleted_waits_for_nothing_more(tmp_path: Path) -> None:
    async with (
        event_log(tmp_path) as log,
        subscribe(log, SESSION) as waiting,
        subscribe(log, SESSION, until_terminal=True) as behind,
    ):
        await log.append_all(SESSION, TURN, [text()])
        assert len(await gather(waiting, 1)) == 1
        reading = asyncio.create_task(rest(waiting))
        await asyncio.sleep(0)
        await log.append_all(SESSION, TURN, [done()])
        await log.forget(SESSION)
        async with asyncio.timeout(A_WHILE):
            assert await reading in ([], [2])
            assert await rest(behind) == []
        assert waiting.ended
        assert behind.ended


async def test_a_reader_that_stands_still_slows_nobody_and_holds_nothing(tmp_path: Path) -> None:
    async with (
        event_log(tmp_path) as log,
        subscribe(log, SESSION) as still,
        subscribe(log, SESSION) as quick,
    ):
        assert await still.batch(0) == []
        for _ in range(30):
            await log.append_all(SESSION, TURN, [text("x" * 10_000)] * 20)
            assert len(await gather(quick, 20)) == 20
        assert log.hub.bytes <= TAIL_BYTES
        assert [record.seq for record in await gather(still, 600)] == list(range(1, 601))


async def test_what_the_tail_has_is_read_without_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with event_log(tmp_path) as log, subscribe(log, SESSION) as first:
        await log.append_all(SESSION, TURN, [text()] * 5)
        assert len(await gather(first, 5)) == 5

        async def never(*_: object, **__: object) -> list[EventRecord]:
            raise AssertionError("the log was read")

        monkeypatch.setattr(log, "read", never)
        monkeypatch.setattr(log, "extent", never)
        async with subscribe(log, SESSION, after=2) as again:
            assert [record.seq for record in await gather(again, 3)] == [3, 4, 5]
        async with subscribe(log, SESSION, after=0, until_terminal=True) as joined:
            await log.append(SESSION, TURN, done())
            assert await rest(joined) == [1, 2, 3, 4, 5, 6]


async def test_events_pruned_while_a_reader_stands_still_are_told_as_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "Tail", lambda: Tail(max_events=2))
    async with (
        EventLog(tmp_path / "e.db", retention=Retention(session_bytes=2000)) as log,
        subscribe(log, SESSION) as still,
    ):
        await log.append(SESSION, TURN, text())
        assert [record.seq for record in await gather(still, 1)] == [1]
        for turn in range(6):
            await log.append_all(SESSION, TurnId(f"t{turn}"), [text("x" * 500)] * 3 + [done()])
        first = (await log.extent(SESSION)).first
        told = await gather(still, 3)
    assert json.loads(told[0].data)["code"] == GAP
    assert f"events 2 to {first - 1} " in json.loads(told[0].data)["message"]
    assert [record.seq for record in told] == [first - 1, first, first + 1]
