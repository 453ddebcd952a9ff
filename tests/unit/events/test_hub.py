import asyncio

from supervisor.events.hub import Hub, Subscription
from supervisor.ids import SessionId, TurnId
from supervisor.storage.event_rows import EventRecord
from tests.worlds.storage import OTHER, SESSION


def record(seq: int, of: SessionId = SESSION, size: int = 10) -> EventRecord:
    return EventRecord(of, TurnId("t"), seq, "text", "", b"x" * size)


def test_a_reader_gets_its_sessions_records_in_order() -> None:
    hub, reader = Hub(), Subscription()
    hub.attach(SESSION, reader)
    hub.publish(record(1))
    hub.publish(record(1, OTHER))
    hub.publish(record(2))
    assert reader.take() == [record(1), record(2)]
    assert reader.take() == []


def test_a_reader_that_overflows_holds_nothing_and_the_others_miss_nothing() -> None:
    hub, slow, quick = Hub(), Subscription(max_events=2), Subscription()
    hub.attach(SESSION, slow)
    hub.attach(SESSION, quick)
    for seq in range(1, 6):
        hub.publish(record(seq))
    taken = quick.take()
    assert taken is not None
    assert len(taken) == 5
    assert slow.take() is None
    hub.publish(record(6))
    assert slow.take() == [record(6)]


def test_bytes_are_bounded_as_well() -> None:
    reader = Subscription(max_bytes=100)
    reader.offer(record(1, size=60))
    reader.offer(record(2, size=60))
    assert reader.take() is None


async def test_waiting_ends_with_a_record_and_survives_a_cancellation() -> None:
    reader = Subscription()
    waiting = asyncio.create_task(reader.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    waiting = asyncio.create_task(reader.wait())
    await asyncio.sleep(0)
    reader.offer(record(1))
    await asyncio.wait_for(waiting, 5)
    assert reader.take() == [record(1)]


def test_a_session_nobody_reads_leaves_nothing_behind() -> None:
    hub, reader = Hub(), Subscription()
    hub.attach(SESSION, reader)
    assert hub.readers(SESSION) == 1
    hub.detach(SESSION, reader)
    hub.detach(SESSION, reader)
    assert hub.readers(SESSION) == 0
    assert hub._subscriptions == {}
