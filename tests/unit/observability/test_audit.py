import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor.clock import Instant
from supervisor.errors import ConfigurationError
from supervisor.observability.audit import AuditLog, Rotation, verify
from supervisor.observability.audit_files import (
    archive_path,
    head_path,
    key_path,
    read_key,
    segments,
)
from supervisor.observability.verification import examine
from tests.worlds.waiting import A_WHILE


async def write(path: Path, count: int = 5) -> None:
    async with AuditLog(path) as audit:
        for number in range(count):
            await audit.append("decision", "s", "turn_1", {"number": number, "odd": "\ud800\n"})


def entries(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("fsync", [False, True])
async def test_a_chain_holds_over_restarts_and_is_private(tmp_path: Path, fsync: bool) -> None:
    path = tmp_path / "audit" / "audit.jsonl"
    for _ in range(3):
        async with AuditLog(path, fsync=fsync) as audit:
            await audit.append("decision", None, None, {"a": 1})
    assert [entry["n"] for entry in entries(path)] == [1, 2, 3]
    assert entries(path)[1]["prev"] == entries(path)[0]["hash"]
    assert {each.stat().st_mode & 0o777 for each in path.parent.iterdir()} == {0o600}
    assert verify(path) is None


async def test_entries_that_come_at_once_form_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    async with AuditLog(path) as audit:
        await asyncio.gather(*(audit.append("k", None, None, {"i": i}) for i in range(50)))
    assert len(entries(path)) == 50
    assert verify(path) is None


async def test_an_entry_waits_for_no_work_that_keeps_all_threads(tmp_path: Path) -> None:
    go_on = threading.Event()
    async with AuditLog(tmp_path / "a.jsonl") as audit:
        busy = [asyncio.create_task(asyncio.to_thread(go_on.wait)) for _ in range(64)]
        await asyncio.sleep(0)  # they are begun, as many as there are threads
        entry = asyncio.create_task(audit.append("k", None, None, {}))
        entered, _ = await asyncio.wait({entry}, timeout=A_WHILE / 4)
        go_on.set()
        await asyncio.gather(entry, *busy)
    assert entered
    assert len(entries(tmp_path / "a.jsonl")) == 1


async def test_cancelled_appends_leave_a_whole_chain(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    async with AuditLog(path) as audit:
        tasks = [asyncio.create_task(audit.append("k", None, None, {})) for _ in range(10)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await audit.append("last", None, None, {})
    assert entries(path)[-1]["kind"] == "last"
    assert verify(path) is None


def edit(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b'"number":2', b'"number":9') for line in lines]


def swap(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[2], lines[1], *lines[3:]]


def delete(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], *lines[3:]]


def repeat(lines: list[bytes]) -> list[bytes]:
    return [*lines[:3], *lines[2:]]


def cut_middle(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[2][:20], *lines[3:]]


def cut_tail(lines: list[bytes]) -> list[bytes]:
    return lines[:3]


def forge_last(lines: list[bytes]) -> list[bytes]:
    return [*lines[:4], lines[4].replace(b'"s"', b'"t"')]


def empty(_: list[bytes]) -> list[bytes]:
    return []


@pytest.mark.parametrize(
    ("attack", "line"),
    [
        (edit, 3),
        (swap, 2),
        (delete, 3),
        (repeat, 4),
        (cut_middle, 3),
        (cut_tail, 4),
        (forge_last, 5),
        (empty, 1),
    ],
)
async def test_what_was_done_to_the_file_is_found_and_stays_found(
    tmp_path: Path, attack: Callable[[list[bytes]], list[bytes]], line: int
) -> None:
    path = tmp_path / "a.jsonl"
    await write(path)
    assert verify(path) is None
    path.write_bytes(b"".join(attack(path.read_bytes().splitlines(keepends=True))))
    found = verify(path)
    assert found is not None
    assert found.line == line
    assert found.why
    await write(path, 2)
    still = verify(path)
    assert still is not None
    assert still.line == line


async def test_a_missing_head_file_is_found_and_told_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    await write(path)
    head_path(path).unlink()
    found = verify(path)
    assert found is not None
    assert "head file" in found.why
    await write(path, 1)
    assert entries(path)[5]["kind"] == "audit_damaged"


@pytest.mark.parametrize("keep", [1, 30, -1])
async def test_a_line_torn_by_a_power_cut_is_taken_off_and_told(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "a.jsonl"
    await write(path, 3)
    last = path.read_bytes().splitlines(keepends=True)[-1]
    with path.open("ab") as log:
        log.write(last[:keep])
    await write(path, 1)
    kinds = [entry["kind"] for entry in entries(path)]
    assert kinds == ["decision"] * 3 + ["audit_recovered", "decision"]
    assert verify(path) is None


async def test_a_kill_between_line_and_head_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    await write(path, 2)
    old_head = head_path(path).read_bytes()
    await write(path, 1)
    head_path(path).write_bytes(old_head)
    assert verify(path) is None
    await write(path, 1)
    assert [entry["n"] for entry in entries(path)] == [1, 2, 3, 4]
    assert verify(path) is None


def test_no_log_is_a_whole_one(tmp_path: Path) -> None:
    assert verify(tmp_path / "a.jsonl") is None


@pytest.mark.parametrize("torn", [True, False])
async def test_a_half_line_of_a_crash_is_told_apart_from_one_that_was_cut(
    tmp_path: Path, torn: bool
) -> None:
    path = tmp_path / "a.jsonl"
    await write(path, 3)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40] if torn else whole[:-5])
    report = examine(path, key=read_key(key_path(path)))
    assert report.torn > 0
    assert report.whole is torn
    await write(path, 1)
    kinds = [entry["kind"] for entry in entries(path)]
    assert ("audit_damaged" in kinds) is not torn
    assert "audit_recovered" in kinds


async def test_a_kill_between_two_files_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    await write(path, 3)
    path.rename(archive_path(path, 1))
    assert verify(path) is None
    await write(path, 1)
    assert [entry["n"] for entry in entries(path)] == [4]
    assert verify(path) is None


async def test_it_is_whole_while_it_is_written_to_and_rotated(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    async with AuditLog(path, rotation=Rotation(3_000)) as audit:

        async def go_on() -> None:
            for number in range(150):
                await audit.append("k", None, None, {"number": number})

        writing = asyncio.create_task(go_on())
        checks = 0
        while not writing.done():
            report = await audit.examine()
            assert report.whole, report.bad
            checks += 1
        await writing
        assert checks > 1
        report = await audit.examine()
    assert report.entries == report.head.n
    assert len(report.files) > 10


async def test_a_file_is_full_by_its_age_as_well(tmp_path: Path) -> None:
    class Clock:
        seconds = 1_000_000.0

        def now(self) -> Instant:
            return Instant(self.seconds)

    clock, path = Clock(), tmp_path / "a.jsonl"
    async with AuditLog(path, rotation=Rotation(most_days=2), clock=clock) as audit:
        await audit.append("k", None, None, {})
        clock.seconds += 86_400
    async with AuditLog(path, rotation=Rotation(most_days=2), clock=clock) as audit:
        await audit.append("k", None, None, {})
        assert len(segments(path)) == 1
        clock.seconds += 86_401
        await audit.append("k", None, None, {})
    assert [each.first for each in segments(path)] == [1, 0]
    assert [entry["kind"] for entry in entries(path)] == ["audit_rotated", "k"]
    assert verify(path) is None


async def test_where_it_cant_be_rotated_it_goes_on_in_the_full_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    async with AuditLog(path, rotation=Rotation(500)) as audit:
        archive_path(path, 1).mkdir()
        for _ in range(4):
            await audit.append("k", None, None, {})
    assert len(entries(path)) == 4


async def test_a_key_that_cant_be_read_is_no_reason_for_another(tmp_path: Path) -> None:
    path, key = tmp_path / "a.jsonl", tmp_path / "key"
    key.write_text("not a key")
    with pytest.raises(ConfigurationError, match="key"):
        async with AuditLog(path, key_file=key):
            pass
    assert key.read_text() == "not a key"
