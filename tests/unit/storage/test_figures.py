"""The sums of each day: counted where a turn ends, kept when its session goes."""

from pathlib import Path

import pytest

from supervisor.clock import Instant
from supervisor.ids import TurnId
from supervisor.storage.database import Database
from supervisor.storage.figures import MOST_DAYS, Day, Spent, figures
from supervisor.storage.sessions import SessionStore
from supervisor.storage.turns import EndState, TurnStore, Used
from supervisor.trust.levels import TrustLevel
from tests.worlds.storage import SESSION, session

MIDNIGHT = 1_772_323_200.0
"""2026-03-01 00:00 UTC."""
DAY = 24 * 3600


class SetClock:
    """Stands where it is put."""

    def __init__(self, at: float) -> None:
        self.at = at

    def now(self) -> Instant:
        return Instant(self.at)


async def end(turns: TurnStore, name: str, state: EndState, used: Used) -> None:
    await turns.begin(TurnId(name), SESSION, TrustLevel.FULL)
    assert await turns.end(TurnId(name), state, None, used)


async def test_each_day_has_its_turns_and_what_they_used_and_a_quiet_one_has_none(
    tmp_path: Path,
) -> None:
    clock = SetClock(MIDNIGHT - 1)
    async with Database(tmp_path / "s.db") as db:
        sessions, turns = SessionStore(db, clock), TurnStore(db, clock)
        await sessions.create_session(session())
        await end(turns, "a", "done", Used(10, 0.25))
        clock.at = MIDNIGHT + DAY
        await end(turns, "b", "done", Used(20, 0.5))
        await end(turns, "c", "aborted", Used(3, 0.0))
        assert not await turns.end(TurnId("c"), "done", None, Used(1_000, 9.0)), "the first counts"
        await sessions.delete_session(SESSION)
        found = (await figures(db, clock, 3)).days
        assert found == (
            Day("2026-02-28", {"done": 1}, 10, 0.25),
            Day("2026-03-01"),
            Day("2026-03-02", {"aborted": 1, "done": 1}, 23, 0.5),
        )
        assert (await figures(db, clock, 1)).days == found[-1:]
        assert len((await figures(db, clock, MOST_DAYS)).days) == MOST_DAYS


async def test_what_a_script_answers_is_counted_and_costs_nothing(tmp_path: Path) -> None:
    clock = SetClock(MIDNIGHT)
    async with Database(tmp_path / "s.db") as db:
        sessions, turns = SessionStore(db, clock), TurnStore(db, clock)
        await sessions.create_session(session())
        for name, scripted in (("a", True), ("b", False)):
            used = Used(10, 0.25, scripted)
            await end(turns, name, "done", used)
            await sessions.add_spending(SESSION, used)
        found = await figures(db, clock, 1)
        assert found.days == (Day("2026-03-01", {"done": 2}, 20, 0.25),)
        assert found.spent_by_model == {"default": Spent(1, 20, 0.25)}
        kept = await sessions.get_session(SESSION)
        assert (kept.cost_usd, kept.paid_usd) == (0.5, 0.25), "the budget counts both"


async def test_the_days_are_found_by_their_index(tmp_path: Path) -> None:
    async with Database(tmp_path / "s.db") as db:
        rows = await db.rows(
            "EXPLAIN QUERY PLAN SELECT day, state, total(turns) FROM days"
            " WHERE day > ? AND day <= ? GROUP BY 1, 2",
            ("2026-02-01", "2026-03-01"),
        )
    assert [row["detail"] for row in rows] == ["SEARCH days USING PRIMARY KEY (day>? AND day<?)"]


async def test_turns_of_before_are_counted_by_the_migration(tmp_path: Path) -> None:
    path, clock = tmp_path / "s.db", SetClock(MIDNIGHT)
    async with Database(path) as db:
        await SessionStore(db, clock).create_session(session())
        for name in ("a", "b", "c"):
            await end(TurnStore(db, clock), name, "done", Used(1, 1.0))
        async with db.write() as cx:
            await cx.execute("UPDATE turns SET ended_at = 'never' WHERE id = 'c'")
            await cx.execute("DROP TABLE days")
            await cx.execute("ALTER TABLE sessions DROP COLUMN scripted_usd")
            await cx.execute("DELETE FROM schema_version WHERE version >= 18")
    async with Database(path) as db:
        assert (await figures(db, clock, 1)).days == (Day("2026-03-01", {"done": 2}),)


@pytest.mark.parametrize("column", ["turns", "tokens", "cost_usd"])
async def test_a_damaged_row_costs_its_own_number_only(tmp_path: Path, column: str) -> None:
    async with Database(tmp_path / "s.db") as db:
        async with db.write() as cx:
            await cx.execute("INSERT INTO days VALUES ('2026-03-01', 'done', 5, 6, 7.0)")
            await cx.execute(f"UPDATE days SET {column} = 'many'")  # noqa: S608 - ours
        (day,) = (await figures(db, SetClock(MIDNIGHT), 1)).days
    told = {"turns": day.turns["done"], "tokens": day.tokens, "cost_usd": day.cost_usd}
    assert told == {"turns": 5, "tokens": 6, "cost_usd": 7.0} | {column: 0}
