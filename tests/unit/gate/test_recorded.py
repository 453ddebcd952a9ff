"""Decisions are read back as far as the chain of the log holds, and no further."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from supervisor.gate.recorded import RecordedDecisions
from supervisor.observability.audit import AuditLog
from supervisor.observability.verification import BrokenChain, verified
from tests.worlds.decisions import Log
from tests.worlds.policy_world import make_vault, shipped_policy


@pytest.fixture
async def audit(tmp_path: Path) -> Path:
    log = Log(shipped_policy(), make_vault(tmp_path))
    await log.add("Read", file_path="notes/a.md", times=4)
    path = tmp_path / "audit.jsonl"
    await log.write(path)
    return path


async def test_decisions_come_in_order_and_other_entries_are_passed_over(audit: Path) -> None:
    decisions = RecordedDecisions(audit)
    assert [each.line for each in decisions] == [2, 3, 4, 5]
    assert decisions.broken is None


async def test_from_a_moment_on(audit: Path) -> None:
    now = datetime.now(UTC)
    assert len(list(RecordedDecisions(audit, now - timedelta(hours=1)))) == 4
    assert list(RecordedDecisions(audit, now + timedelta(hours=1))) == []


@pytest.mark.parametrize("line", [1, 2, 4])
async def test_nothing_is_taken_from_the_first_changed_line_on(audit: Path, line: int) -> None:
    lines = audit.read_bytes().splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace(b'"v":1', b'"v":2').replace(b'"loaded"', b'"x"')
    audit.write_bytes(b"".join(lines))
    decisions = RecordedDecisions(audit)
    assert [each.line for each in decisions] == list(range(2, line))
    assert decisions.broken is not None
    assert decisions.broken.line == line


async def test_a_log_that_grows_while_it_is_read_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    async with AuditLog(path) as log:
        await log.append("k", None, None, {"big": "x" * 200_000})
        await log.append("k", None, None, {"big": "x" * 200_000})
        reading = verified(path)
        assert next(reading)[0] == 1
        for _ in range(5):
            await log.append("k", None, None, {})
        assert [position for position, _ in reading] == [2, 3, 4, 5, 6, 7]


async def test_lines_that_are_missing_at_the_end_are_told(audit: Path) -> None:
    lines = audit.read_bytes().splitlines(keepends=True)
    audit.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(BrokenChain, match="missing at the end"):
        list(verified(audit))


async def test_no_log_is_no_decision(tmp_path: Path) -> None:
    assert list(RecordedDecisions(tmp_path / "none.jsonl")) == []
