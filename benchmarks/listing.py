"""How long a page of 50 sessions takes, out of 1,000 and out of 1,000,000.

    python -m benchmarks.listing [ROUNDS] [SESSIONS]

Both databases are read in turns, through the store that the API uses. Each row is a set of filters;
`deep` is a page in the middle, by its cursor. The matching share is the same in both.
"""

import asyncio
import random
import sqlite3
import sys
import tempfile
import time
from contextlib import AsyncExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks._figures import machine, median, percentile, table
from supervisor.storage.database import Database
from supervisor.storage.opening import prepare
from supervisor.storage.sessions import SessionStore

FEW = 1_000
PAGE = 50
BATCH = 50_000
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"archived": False},
    {"archived": True},
    {"module": "daily"},
    {"agent_type": "helper"},
    {"workspace": "w1"},
    {"module": "daily", "archived": False},
    {"agent_type": "helper", "archived": False},
    {"workspace": "w1", "archived": False},
    {"module": "daily", "agent_type": "helper", "archived": False},
    {"module": "daily", "workspace": "w1", "archived": False},
    {"agent_type": "helper", "workspace": "w1", "archived": False},
    {"module": "daily", "agent_type": "helper", "workspace": "w1"},
    {"module": "daily", "agent_type": "helper", "workspace": "w1", "archived": False},
)


def fill(path: Path, sessions: int) -> None:
    """Sessions of which a sixth passes the narrowest filter: full pages in both databases."""
    chance = random.Random(1)  # noqa: S311 - which rows, no secret
    prepare(path, "sessions")
    with closing(sqlite3.connect(path, isolation_level=None)) as cx:
        cx.execute("PRAGMA synchronous = OFF")
        for each in ("w1", "w2"):
            cx.execute("INSERT INTO workspaces VALUES (?, ?, '', 'vault', '')", (each, each))
        # Made anew at the end: a million rows one by one into eleven indexes take many minutes.
        cx.execute("PRAGMA cache_size = -300000")
        indexes = cx.execute(
            "SELECT name, sql FROM sqlite_schema WHERE tbl_name = 'sessions' AND type = 'index'"
            " AND sql IS NOT NULL"
        ).fetchall()
        for name, _ in indexes:
            cx.execute(f"DROP INDEX {name}")
        for start in range(0, sessions, BATCH):
            cx.execute("BEGIN")
            cx.executemany(
                "INSERT INTO sessions (id, title, module, agent_type, workspace, archived,"
                " message_count, created_at, last_accessed, trust_level, metadata)"
                " VALUES (?, ?, ?, ?, ?, ?, 12, ?, ?, 'vault', '{\"n\": 1}')",
                (row(number, chance) for number in range(start, min(start + BATCH, sessions))),
            )
            cx.execute("COMMIT")
        for _, sql in indexes:
            cx.execute(sql)


def row(number: int, chance: random.Random) -> tuple[Any, ...]:
    day = datetime.fromtimestamp(1_700_000_000 + chance.random() * 3e7, UTC)
    accessed = day.isoformat(timespec="microseconds")
    return (
        f"{chance.getrandbits(32):08x}-0000-4000-8000-{number:012x}",
        f"What was asked in session {number}",
        *(each if chance.random() < 0.6 else "other" for each in ("daily", "helper")),
        "w1" if chance.random() < 0.6 else "w2",
        int(chance.random() < 0.2),
        accessed,
        accessed,
    )


async def timed(store: SessionStore, options: dict[str, Any]) -> float:
    """Milliseconds of one page."""
    begun = time.perf_counter()
    await store.list_sessions(PAGE, **options)
    return (time.perf_counter() - begun) * 1e3


def told(given: tuple[str, Any]) -> str:
    name, value = given
    return name if value is not False else f"not {name}"


async def compare(few: SessionStore, many: SessionStore, rounds: int) -> None:
    rows = []
    for filters in FILTERS:
        for deep in (False, True):
            asked = []
            for store in (few, many):
                matching = await store.get_session_count(**filters)
                middle = await store.list_sessions(1, offset=matching // 2, **filters)
                asked.append({**filters, "before": middle[0].cursor} if deep else filters)
            found: tuple[list[float], list[float]] = ([], [])
            for turn in range(rounds + 5):
                for each in (0, 1) if turn % 2 else (1, 0):
                    took = await timed((few, many)[each], asked[each])
                    if turn >= 5:
                        found[each].append(took)
            rows.append(
                (
                    ", ".join(told(each) for each in filters.items()) or "nothing",
                    "deep" if deep else "first",
                    *(f"{median(each):.2f}, {percentile(each, 0.1):.2f}" for each in found),
                    f"{median(found[1]) / median(found[0]):.2f}",
                    f"{percentile(found[1], 0.1) / percentile(found[0], 0.1):.2f}",
                )
            )
    unit = "ms, of the quietest tenth"
    heads = ("filtered by", "page", f"of {FEW:,}: {unit}", f"of many: {unit}", "ratio", "quietest")
    table(heads, rows)


async def touched(store: SessionStore, rounds: int) -> None:
    """What the indexes cost: one access noted, which moves the session to the front of them all."""
    ids = [each.id for each in await store.list_sessions(rounds)]
    found = []
    for each in ids:
        begun = time.perf_counter()
        await store.touch_session(each)
        found.append((time.perf_counter() - begun) * 1e3)
    print(f"\nan access noted, of many: {median(found):.2f} ms, p90 {percentile(found, 0.9):.2f}")


async def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    sessions = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    print(machine(), end="\n\n")
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder) / "few.db", Path(folder) / "many.db"
        fill(few, FEW)
        fill(many, sessions)
        print(f"{FEW:,} and {sessions:,} sessions, {many.stat().st_size / 2**20:.0f} MiB\n")
        async with AsyncExitStack() as stack:
            small, large = [
                SessionStore(await stack.enter_async_context(Database(each)))
                for each in (few, many)
            ]
            await compare(small, large, rounds)
            await touched(large, rounds)


if __name__ == "__main__":
    asyncio.run(main())
