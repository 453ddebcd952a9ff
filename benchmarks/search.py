"""How long a search takes in 100 sessions and in 10,000, and what it costs to keep the index.

    python -m benchmarks.search [ROUNDS] [SESSIONS]

Both worlds are asked in turns. A session is twelve messages of 60 words that are spread as in a
language; a tenth as many documents lie in the vault. Before that the first pass over all, one over
what hasn't changed, and one after a hundredth of it has, in the same minutes.
"""

import asyncio
import random
import resource
import sqlite3
import sys
import tempfile
import time
from contextlib import AsyncExitStack, closing
from itertools import accumulate
from pathlib import Path
from typing import Any

import orjson

from benchmarks._figures import machine, median, percentile, table
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.runtimes.container.vault_view import VaultViews
from supervisor.search.finding import Finding
from supervisor.search.index import Index, PassReport
from supervisor.storage.database import Database
from supervisor.storage.index_rows import IndexRows
from supervisor.storage.opening import prepare

FEW = 100
MESSAGES = 12
WORDS = 60
VOCABULARY = 20_000
HIDDEN = DenyList((DenyRule("env", "secret", names=(".env",)),))
FOLDER = ".claude/projects/-vault"


class World:
    """A vault and a database in a folder, with so many sessions."""

    def __init__(self, folder: Path, sessions: int) -> None:
        self.vault = folder / "vault"
        self.database = folder / "sessions.db"
        self.sessions = sessions
        self._views = folder / "views"
        self._chance = random.Random(1)  # noqa: S311 - which words, no secret
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(VOCABULARY)))
        self.index: Index
        self.finding: Finding

    def fill(self) -> None:
        (self.vault / FOLDER).mkdir(parents=True)
        prepare(self.database, "sessions")
        with closing(sqlite3.connect(self.database)) as cx:
            cx.executemany(
                "INSERT INTO sessions (id, title, created_at, last_accessed, trust_level,"
                " workspace, transcript_path) VALUES (?, ?, '', '', 'vault', 'default', ?)",
                (
                    (name(each), f"About {self.words(3)}", f"{FOLDER}/{name(each)}.jsonl")
                    for each in range(self.sessions)
                ),
            )
            cx.executemany(
                "INSERT INTO session_tags VALUES (?, 'tenth', '')",
                ((name(each),) for each in range(0, self.sessions, 10)),
            )
            cx.commit()
        for each in range(self.sessions):
            self.say(each, MESSAGES)
        for each in range(self.sessions // 10):
            parts = (f"## {self.words(3)}\n\n{self.words(200)}\n\n" for _ in range(6))
            (self.vault / f"n{each}.md").write_text(f"# {self.words(3)}\n\n" + "".join(parts))

    def words(self, count: int) -> str:
        picked = self._chance.choices(range(VOCABULARY), cum_weights=self._weights, k=count)
        return " ".join(f"word{each}" for each in picked)

    def say(self, session: int, messages: int) -> None:
        with (self.vault / FOLDER / f"{name(session)}.jsonl").open("ab") as file:
            for each in range(messages):
                role = "assistant" if each % 2 else "user"
                said = {"role": role, "content": self.words(WORDS), "id": f"m{each}"}
                record = {"type": role, "uuid": f"u{each}", "timestamp": "", "message": said}
                file.write(orjson.dumps(record) + b"\n")

    async def opened(self, stack: AsyncExitStack) -> None:
        db = await stack.enter_async_context(Database(self.database))
        views = VaultViews(self._views, owner_home=lambda _: None)
        self.index = Index(
            IndexRows(db),
            self.vault,
            look=lambda hidden, stop: views.visible(self.vault, hidden, (), stop),
            hidden=lambda: HIDDEN,
        )
        self.finding = Finding(self.database, self.vault, self.index, lambda: HIDDEN)
        await stack.enter_async_context(self.index)

    async def passed(self, number: int | None = None) -> PassReport:
        report = await self.index.ended(self.index.begin() if number is None else number)
        assert report.error is None, report
        return report


def name(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


QUESTIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("a rare word", "word15000", {}),
    ("a word in a few per cent", "word200", {}),
    ("a word in most", "word1", {}),
    ("three words", "word10 word20 word30", {}),
    ("a phrase", '"word1 word2"', {}),
    ("a beginning", "word150*", {}),
    ("a word, sessions with a tag", "word50", {"types": ("session",), "tags": ("tenth",)}),
    ("nothing", "nowhere", {}),
)


async def asked(worlds: tuple[World, World], rounds: int) -> None:
    rows = []
    for what, text, filters in QUESTIONS:
        found: tuple[list[float], list[float]] = ([], [])
        for turn in range(rounds + 3):
            for each in (0, 1) if turn % 2 else (1, 0):
                begun = time.perf_counter()
                await worlds[each].finding.find(text, **filters)
                if turn >= 3:
                    found[each].append((time.perf_counter() - begun) * 1e3)
        rows.append(
            (
                what,
                *(f"{median(each):.1f}, {percentile(each, 0.1):.1f}" for each in found),
                f"{median(found[1]) / median(found[0]):.1f}",
            )
        )
    heads = ("asked for", f"of {FEW}: ms, of the quietest tenth", "of many: the same", "ratio")
    table(heads, rows)


def told(what: str, report: PassReport, first: PassReport | None = None) -> tuple[str, ...]:
    both = (report.sessions, report.texts)
    read, written = (sum(each.read for each in both), sum(each.pieces_written for each in both))
    share = "" if first is None else f"{report.seconds / first.seconds:.3f}"
    return what, f"{report.seconds:.2f}", str(read), str(written), share


async def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    sessions = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    print(machine(), end="\n\n")
    with tempfile.TemporaryDirectory() as folder:
        worlds = (World(Path(folder, "few"), FEW), World(Path(folder, "many"), sessions))
        for each in worlds:
            each.fill()
        async with AsyncExitStack() as stack:
            for each in worlds:
                await each.opened(stack)
            few, many = worlds
            await few.passed(1)
            first = await many.passed(1)
            unchanged = await many.passed()
            for each_session in range(0, sessions, 100):
                many.say(each_session, 2)
            some = await many.passed()
            size = many.database.stat().st_size / 2**20
            print(f"{FEW} and {sessions:,} sessions, {size:.0f} MiB\n")
            rows = (
                told("all of it, first", first),
                told("nothing has changed", unchanged, first),
                told("two more messages in a hundredth", some, first),
            )
            table(("a pass over many", "s", "contents read", "pieces written", "ratio"), rows)
            print(
                f"\nmemory at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}"
                " MiB\n"
            )
            await asked(worlds, rounds)
    print(f"\n{machine()}")


if __name__ == "__main__":
    asyncio.run(main())
