"""A message that is sent again with its key is the same message, whatever happened in between."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from supervisor.cli.client import Client
from supervisor.errors import InvalidRequest, KeyReused, SessionBusy, TurnForgotten
from supervisor.sessions.attachments import Attachment
from supervisor.sessions.records import MessageRequest
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, Turn, a_house, prompt, step
from tests.worlds.process_house import a_process_house
from tests.worlds.serving import serving
from tests.worlds.waiting import until

KEY = "9b2f6f6e-one"
LEVEL = TrustLevel.FULL


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with a_house() as house:
        yield house


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as folder:  # short, for sockets
        yield Path(folder)


def message(text: str = "done", **more: object) -> MessageRequest:
    said = prompt(step(text))
    return MessageRequest(said, trust_level=LEVEL, idempotency_key=KEY, **more)  # type: ignore[arg-type]


async def messages_of(house: House) -> int:
    listed = await house.parts.sessions.list_sessions()
    return sum([each.message_count for each in listed])


async def test_sent_twice_at_once_or_later_it_runs_once(house: House) -> None:
    begin = house.parts.conversations.begin
    first, second = await asyncio.gather(begin(message()), begin(message()))
    assert {first.is_repeated, second.is_repeated} == {True, False}
    assert (first.turn_id, first.after) == (second.turn_id, second.after)
    ended = await Turn(house, first, []).go_on()
    later = await begin(message())
    assert (later.turn_id, later.is_repeated) == (first.turn_id, True)
    replayed = await Turn(house, later, []).go_on()
    assert replayed.events == ended.events
    assert ended.end["type"] == "done"
    assert await messages_of(house) == ended.end["messageCount"]


async def test_sent_again_after_a_restart_it_is_the_turn_of_then(root: Path) -> None:
    async with a_house(root) as house:
        first = await house.parts.conversations.begin(message())
        await Turn(house, first, []).go_on()
    async with a_house(root) as house:
        again = await house.parts.conversations.begin(message())
        assert (again.turn_id, again.is_repeated) == (first.turn_id, True)
        replayed = await Turn(house, again, []).go_on()
        assert replayed.end["type"] == "done"


async def test_another_message_with_the_key_is_refused(house: House) -> None:
    first = await house.parts.conversations.begin(message())
    with pytest.raises(KeyReused):
        await house.parts.conversations.begin(message("other"))
    with pytest.raises(KeyReused):
        await house.parts.conversations.begin(message(model="sonnet"))
    files = (Attachment("a.txt", b"a"),)
    with pytest.raises(KeyReused):
        await house.parts.conversations.begin(message(attachments=files))
    await Turn(house, first, []).go_on()


async def test_a_message_that_was_refused_can_be_sent_again_with_its_key(house: House) -> None:
    slow = prompt(step("later", delay_s=30))
    first = await house.begin(slow, trust_level=LEVEL)
    with pytest.raises(SessionBusy):
        await house.parts.conversations.begin(message(session_id=first.session_id))
    await house.parts.conversations.abort(first.session_id, "enough")
    await Turn(house, first, []).go_on()
    taken = await house.parts.conversations.begin(message(session_id=first.session_id))
    assert not taken.is_repeated
    assert (await Turn(house, taken, []).go_on()).end["type"] == "done"


async def test_where_its_events_are_gone_that_is_said_and_nothing_runs(house: House) -> None:
    first = await house.parts.conversations.begin(message())
    await Turn(house, first, []).go_on()
    await house.parts.log.forget(first.session_id)
    with pytest.raises(TurnForgotten):
        await house.parts.conversations.begin(message())
    assert house.parts.conversations.active() == []


async def test_a_key_is_free_again_once_its_session_is_deleted(house: House) -> None:
    first = await house.parts.conversations.begin(message())
    await Turn(house, first, []).go_on()
    await until(lambda: not house.parts.conversations.active())
    await house.parts.conversations.delete(first.session_id, with_transcript=True)
    again = await house.parts.conversations.begin(message())
    assert not again.is_repeated
    assert again.session_id != first.session_id
    await Turn(house, again, []).go_on()


@pytest.mark.parametrize("key", ["", "a" * 256, "a\nb", "é"])
async def test_what_is_no_key_is_refused(house: House, key: str) -> None:
    with pytest.raises(InvalidRequest):
        await house.begin("hello", idempotency_key=key)


async def test_neither_key_nor_message_is_in_the_database(house: House) -> None:
    turn = await Turn(house, await house.parts.conversations.begin(message()), []).go_on()
    assert turn.end["type"] == "done"
    files = [path for path in house.root.rglob("sessions.db*") if path.is_file()]
    assert files
    assert not any(KEY.encode() in path.read_bytes() for path in files)


async def test_the_client_sends_again_what_it_had_no_answer_to_and_it_is_taken_once() -> None:
    async with a_process_house() as house:
        cuts = [b"", b"HTTP/1.1 200 OK"]  # without an answer, and in the middle of one

        async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            at = urlsplit(house.url)
            far_reader, far_writer = await asyncio.open_connection(at.hostname, at.port)
            kept = cuts.pop() if cuts else None
            try:
                with suppress(ConnectionError):
                    await asyncio.gather(
                        passed_on(reader, far_writer), answered(far_reader, writer, kept)
                    )
            finally:
                far_writer.close()

        async with serving(served) as port:
            host = f"127.0.0.1:{port}"
            await house.start(allowed_hosts=host)
            body = {"message": prompt(step("once")), "trustLevel": "full"}
            async with Client(f"http://{host}", house.token) as client:
                turn = client.turn(body)
                heard = [each async for each in turn.events()]
        assert [each.type for each in heard][-1] == "done"
        assert [each.seq for each in heard] == list(range(1, len(heard) + 1))
        assert cuts == []
        assert turn.reconnects == 2
        assert len(house.rows()) == 1


async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()


async def answered(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: bytes | None
) -> None:
    """Pass an answer on; with `cut`, wait for its beginning, pass on that much, and break off."""
    if cut is None:
        await passed_on(reader, writer)
        writer.close()
        return
    await reader.readuntil(b"\r\n\r\n")
    writer.write(cut)
    await writer.drain()
    writer.transport.abort() if not cut else writer.close()
    raise ConnectionAbortedError
