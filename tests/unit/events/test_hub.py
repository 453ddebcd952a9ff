import asyncio
import tracemalloc

import pytest

from supervisor.api.sse import frame
from supervisor.events.hub import Hub, Reader, Tail, weight
from supervisor.ids import SessionId, TurnId
from supervisor.storage.event_rows import EventRecord
from tests.worlds.storage import OTHER, SESSION
from tests.worlds.waiting import A_WHILE


def record(seq: int, of: SessionId = SESSION, size: int = 10) -> EventRecord:
    return EventRecord(of, TurnId("t"), seq, "text", "", b"x" * size)


def weighs(size: int) -> int:
    return weight(record(1, size=size))


def seqs(tail: Tail, after: int) -> list[int] | None:
    found = tail.after(after)
    return None if found is None else [each.seq for each in found]


def test_readers_share_their_sessions_records_in_order() -> None:
    hub = Hub()
    with hub.reading(SESSION) as one, hub.reading(SESSION) as other:
        for each in (record(1), record(1, OTHER), record(2)):
            hub.publish(each)
        assert one.tail is other.tail
        assert seqs(one.tail, 0) == [1, 2]
        assert seqs(one.tail, 1) == [2]
        assert seqs(one.tail, 2) == []


@pytest.mark.parametrize("readers", [1, 500])
def test_what_is_held_is_bounded_however_many_stand_still(readers: int) -> None:
    hub = Hub()
    tail = Tail(max_events=3, max_bytes=3 * weighs(10) + 20)
    standing = [Reader(tail) for _ in range(readers)]
    for seq in range(1, 50):
        tail.put(record(seq))
    assert seqs(tail, 46) == [47, 48, 49]
    assert seqs(tail, 45) is None
    tail.put(record(50, size=90))
    assert seqs(tail, 48) == [49, 50]
    tail.put(record(51, size=5000))  # one is always kept
    assert seqs(tail, 50) == [51]
    assert tail.bytes == weighs(5000)
    assert all(reader.tail is tail for reader in standing)
    assert hub.bytes == 0


def test_tails_are_bounded_together_and_the_longest_silent_is_given_up() -> None:
    hub = Hub(max_bytes=weighs(60) + weighs(40))
    with hub.reading(SESSION) as silent, hub.reading(OTHER) as loud:
        hub.publish(record(1, SESSION, size=60))
        hub.publish(record(1, OTHER, size=30))
        assert hub.bytes == weighs(60) + weighs(30)
        hub.publish(record(2, OTHER, size=30))
        assert silent.tail.last is None
        assert seqs(loud.tail, 0) == [1, 2]
        assert hub.bytes == 2 * weighs(30)
        hub.publish(record(2, SESSION))
        assert seqs(silent.tail, 1) == [2]
        assert seqs(silent.tail, 0) is None
    assert hub.bytes == 0


def test_a_hole_is_never_passed_over() -> None:
    tail = Tail()
    for seq in (1, 2, 4):
        tail.put(record(seq))
    assert seqs(tail, 2) is None
    assert seqs(tail, 3) == [4]
    assert not tail.covers(2)
    assert tail.covers(3)


async def test_waiting_ends_with_a_record_and_survives_a_cancellation() -> None:
    reader = Reader(Tail())
    waiting = asyncio.create_task(reader.wait(0, None))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    waiting = asyncio.create_task(reader.wait(0, None))
    await asyncio.sleep(0)
    reader.tail.put(record(1))
    assert await asyncio.wait_for(waiting, A_WHILE)
    assert await reader.wait(0, None)


async def test_waiting_ends_when_the_time_is_over_and_leaves_nothing() -> None:
    reader = Reader(Tail())
    now = asyncio.get_running_loop().time
    assert not await reader.wait(0, now())
    late = asyncio.create_task(reader.wait(0, now() + 600))
    await asyncio.sleep(0)
    reader.tail.put(record(1))
    assert await late
    assert not await reader.wait(1, now() + 0.001)  # sooner than the timer that stands yet
    assert reader.tail._waiting == set()
    reader.end()


def test_a_session_nobody_reads_leaves_nothing_behind() -> None:
    hub = Hub()
    with hub.reading(SESSION), hub.reading(SESSION):
        hub.publish(record(1))
        assert hub.readers(SESSION) == hub.all_readers() == 2
    assert hub.readers(SESSION) == hub.all_readers() == hub.bytes == 0
    assert hub._tails == {}


def test_what_a_record_weighs_is_what_it_takes_once_it_was_sent() -> None:
    many = 3_000
    for size in (100, 1_000):
        tracemalloc.start()
        kept = [record(seq, SessionId(f"s{seq}"), size) for seq in range(many)]
        for each in kept:
            each.is_shared = True
            frame(each)
        taken = tracemalloc.get_traced_memory()[0] / many
        tracemalloc.stop()
        assert 0.4 * taken <= weighs(size) <= 2.5 * taken
