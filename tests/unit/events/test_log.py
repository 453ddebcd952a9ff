import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.errors import StorageBusy, TrustfloorError
from supervisor.events import intake
from supervisor.events.log import EventLog, is_terminal
from supervisor.events.redact import Redactor
from supervisor.events.schema import PermissionDeniedEvent, TextEvent, ToolUse, ToolUseEvent
from supervisor.events.size import LARGEST_EVENT
from supervisor.ids import SessionId, TurnId
from tests.worlds.storage import (
    OTHER,
    SESSION,
    TURN,
    done,
    event_log,
    text,
    write_lock_held_elsewhere,
)

ANY_TEXT = st.text(st.characters(exclude_categories=[]))


def tool_use(value: Any) -> ToolUseEvent:
    return ToolUseEvent(tool=ToolUse(id="i", name="n", input={"value": value}))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=60))
async def test_numbers_have_no_gap_and_no_double_however_appends_fall(
    plan: list[tuple[str, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with event_log(Path(folder)) as log:

            async def append(name: str, yields: int, number: int) -> tuple[str, int]:
                for _ in range(yields):
                    await asyncio.sleep(0)
                record = await log.append(SessionId(name), TURN, text(str(number)))
                return name, record.seq

            seqs = await asyncio.gather(
                *(append(name, yields, number) for number, (name, yields) in enumerate(plan))
            )
            for name in "abc":
                mine = sorted(seq for of, seq in seqs if of == name)
                assert mine == list(range(1, len(mine) + 1))
                stored = await log.read(SessionId(name))
                assert [record.seq for record in stored] == mine


async def test_events_of_a_session_keep_the_order_in_which_they_were_appended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MAX_EVENTS", 4)
    monkeypatch.setattr(intake, "BATCH_EVENTS", 3)
    async with event_log(tmp_path) as log:
        records = await asyncio.gather(
            *(log.append(SESSION, TURN, text(str(number))) for number in range(50)),
            log.append_all(SESSION, TURN, [text(str(number)) for number in range(50, 60)]),
        )
        assert len(records) == 51
        stored = await log.read(SESSION)
    assert [json.loads(record.data)["delta"] for record in stored] == [
        str(number) for number in range(60)
    ]


async def test_a_record_has_the_envelope_and_the_camel_case_payload(tmp_path: Path) -> None:
    async with event_log(tmp_path) as log:
        record = await log.append(SESSION, TURN, done())
        assert await log.read(SESSION) == [record]
    data = json.loads(record.data)
    assert list(data)[:4] == ["seq", "turn_id", "ts", "session_id"]
    assert (data["seq"], data["turn_id"], data["session_id"]) == (1, TURN, SESSION)
    assert (data["type"], data["messageCount"], data["sessionId"]) == ("done", 1, SESSION)
    assert data["ts"] == record.ts
    assert record.ts.endswith("+00:00")
    assert is_terminal(record)


@settings(max_examples=40, deadline=None)
@given(ANY_TEXT, st.integers() | st.floats() | ANY_TEXT | st.lists(ANY_TEXT))
async def test_every_event_is_stored_as_one_line(words: str, value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with event_log(Path(folder)) as log:
            for event in (text(words), tool_use(value), tool_use({words: value})):
                record = await log.append(SESSION, TURN, event)
                assert len(record.data.decode().splitlines()) == 1
                json.loads(record.data)


async def test_nesting_that_json_can_not_hold_costs_the_depth_and_not_the_event(
    tmp_path: Path,
) -> None:
    deep: Any = "sk-canary"
    for _ in range(3000):
        deep = [deep]
    async with EventLog(tmp_path / "e.db", redactor=Redactor(["sk-canary"])) as log:
        record = await log.append(SESSION, TURN, tool_use(deep))
    assert b"nested too deeply" in record.data


async def test_secrets_are_gone_before_anything_is_stored(tmp_path: Path) -> None:
    key = "sk-ant-canary-0123456789"
    async with event_log(tmp_path) as log:
        log.redactor = Redactor([key])
        await log.append(SESSION, TURN, text(f"my key is {key}!"))
        await log.append(SESSION, TURN, tool_use({key: [key]}))
        await log.append(SESSION, TURN, TextEvent(delta="", content=f"\ud800{key}"))
        files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert key.encode() not in files
    assert files.count(b"[redacted]") >= 4


async def test_after_a_restart_numbering_goes_on(tmp_path: Path) -> None:
    async with event_log(tmp_path) as log:
        await log.append_all(SESSION, TURN, [text()] * 3)
    async with event_log(tmp_path) as log:
        assert (await log.append(SESSION, TURN, text())).seq == 4
        assert await log.last_seq(SESSION) == 4
        assert await log.last_seq(OTHER) == 0


async def test_leaving_the_block_stores_what_was_taken_in(tmp_path: Path) -> None:
    async with event_log(tmp_path) as log:
        appends = [asyncio.create_task(log.append(SESSION, TURN, text())) for _ in range(100)]
        await asyncio.sleep(0)
    assert [record.seq for record in await asyncio.gather(*appends)] == list(range(1, 101))
    with pytest.raises(TrustfloorError, match="closed"):
        await log.append(SESSION, TURN, text())


async def test_a_cancelled_append_hinders_nobody(tmp_path: Path) -> None:
    async with event_log(tmp_path) as log:
        leaving = asyncio.create_task(log.append(SESSION, TURN, text("leaving")))
        await asyncio.sleep(0)
        leaving.cancel()
        record = await log.append(SESSION, TURN, text("staying"))
        assert [each.seq for each in await log.read(SESSION)] == list(range(1, record.seq + 1))


async def test_what_could_not_be_stored_is_seen_by_nobody_and_takes_no_number(
    tmp_path: Path,
) -> None:
    async with event_log(tmp_path) as log:
        log._db._wait = 0.3
        with write_lock_held_elsewhere(tmp_path / "events.db") as holder:
            with pytest.raises(StorageBusy):
                await log.append(SESSION, TURN, text("lost"))
            holder.communicate("go\n")
        assert (await log.append(SESSION, TurnId("turn_2"), text("kept"))).seq == 1


async def test_an_error_in_the_block_comes_out_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with event_log(tmp_path):
            raise ZeroDivisionError


async def test_an_event_of_any_size_is_stored_and_ends_its_turn(tmp_path: Path) -> None:
    denials = tuple(
        PermissionDeniedEvent(tool_use_id="t", tool_name="Read", rule="r", reason="x" * 50_000)
        for _ in range(1_000)
    )
    big = done().model_copy(update={"permission_denials": denials, "response": "y" * 50_000_000})
    async with event_log(tmp_path) as log:
        record = await log.append(SESSION, TURN, big)
        after = await log.append(SESSION, TURN, text("goes on"))
        assert await log.read(SESSION, limit=1) == [record]
    assert len(record.data) <= LARGEST_EVENT + len('{"seq":1,')
    assert is_terminal(record)
    data = json.loads(record.data)
    assert (data["type"], data["sessionId"], data["seq"]) == ("done", SESSION, 1)
    assert "characters cut]" in data["response"]
    assert after.seq == 2


async def test_a_replacement_that_is_longer_than_its_secret_does_not_break_the_limit(
    tmp_path: Path,
) -> None:
    async with EventLog(tmp_path / "e.db", redactor=Redactor(["a!"])) as log:
        record = await log.append(SESSION, TURN, text("a!" * 2_000_000))
    assert len(record.data) <= LARGEST_EVENT + len('{"seq":1,')
    assert b"a!" not in record.data


async def test_an_event_that_no_database_takes_fails_alone_and_the_log_goes_on(
    tmp_path: Path,
) -> None:
    poison: Any = 1 << 80  # SQLite's driver raises OverflowError, which is no sqlite3.Error
    async with event_log(tmp_path) as log:
        results = await asyncio.gather(
            log.append(SESSION, TURN, text("before")),
            log.append(SESSION, poison, text("poison")),
            log.append(SESSION, TURN, text("after")),
            log.append(OTHER, TURN, text("elsewhere")),
            return_exceptions=True,
        )
        assert isinstance(results[1], OverflowError)
        stored = [json.loads(each.data)["delta"] for each in await log.read(SESSION)]
        assert stored == ["before", "after"]
        assert len(await log.read(OTHER)) == 1
        assert (await log.append(SESSION, TURN, text("later"))).seq == 3


async def test_one_who_cannot_be_told_of_an_event_does_not_stop_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with event_log(tmp_path) as log:
        with monkeypatch.context() as patch:

            def broken(_record: object) -> None:
                raise RuntimeError("no")

            patch.setattr(log.hub, "publish", broken)
            assert (await log.append(SESSION, TURN, text())).seq == 1
        assert (await log.append(SESSION, TURN, text())).seq == 2
