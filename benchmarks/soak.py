"""A supervisor under fire for a long time: is anything lost or doubled, does anything grow?

    python -m benchmarks.soak [--minutes 30] [--sessions 200] [--readers 1000] [--at-once 8]
                              [--sandboxed 0.25] [--seed N] [--svg FILE] [--log FILE]

The sessions are imported ones, a part of them sandboxed, half of the others at `vault`. As many
turns as `--at-once` says run at any time, in sessions picked at random: words that take their time,
tools, permissions and questions that are answered, refused or left alone; a part of the turns is
aborted at random, a part is left by who began it and come back to. Readers, five to a session,
come, go, stand still and come back with `Last-Event-ID`. They are in processes of their own.

At the end each session is read whole from its log, and every reader's books must be those of the
log: the same events, each once, in order, and one end for each turn that began. Then the supervisor
is stopped with its readers connected, and nothing of it may be left. Exit status 0 if all holds.
"""

import argparse
import asyncio
import json
import random
import signal
import sys
import time
import zlib
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from benchmarks._figures import machine, median, percentile, table
from benchmarks._house import Supervisor, make_vault, resident_kib, supervisor, workplace
from benchmarks._soak_plot import draw
from benchmarks._soak_turns import TERMINAL, Course, Turns
from benchmarks.sse import Process, started
from supervisor.runtimes.container.engine import Engine
from tests.worlds.leftovers import NOTHING, instance_in, left_of, processes_with

HOLDERS = 2
SETTLED = 0.2
"""The first part of the time, in which caches fill; what grows is looked for afterwards."""
GROWTH = 1.10
SLACK_MIB = 8.0
Log = list[tuple[int, int, str | None]]
"""Each event of a session: its number, the checksum through it, the turn it ends."""
SCENARIO = "version: 1\ndirectives: true\nscripts:\n  - {name: x, steps: [{text: Hello.}]}\n"


class Samples:
    """What the supervisor held, over time."""

    def __init__(self, house: Supervisor) -> None:
        self._house = house
        self._began = time.monotonic()
        self.times: list[float] = []
        self.figures: dict[str, list[float]] = {
            name: []
            for name in ("resident memory, MiB", "open files", "threads", "tasks", "containers")
        }

    async def take(self, every: float) -> None:
        """One after the other, until it is cancelled."""
        pid = self._house.process.pid
        async with Engine() as engine:
            while True:
                await asyncio.sleep(every)
                line = self._house.marks_file.read_text().splitlines()[-1:]
                now = {
                    "resident memory, MiB": resident_kib(pid) / 1024,
                    "open files": len(list(Path(f"/proc/{pid}/fd").iterdir())),
                    "threads": len(list(Path(f"/proc/{pid}/task").iterdir())),
                    "tasks": json.loads(line[0])[1] if line else 0,
                    "containers": len(await engine.list_ours(instance_in(self._house.data))),
                }
                self.times.append(time.monotonic() - self._began)
                for name, value in now.items():
                    self.figures[name].append(value)

    def growth(self, name: str) -> tuple[float, float]:
        """Its median in the first half of the settled time, and in the second."""
        settled = self.figures[name][int(len(self.times) * SETTLED) :]
        half = len(settled) // 2
        return median(settled[:half] or [0]), median(settled[half:] or [0])

    @property
    def grown(self) -> list[str]:
        """What was more in the second half than in the first, beyond what varies anyway."""
        slack = {"resident memory, MiB": SLACK_MIB, "threads": 16.0, "containers": 6.0}
        found = []
        for name in self.figures:
            before, after = self.growth(name)
            if after > before * GROWTH + slack.get(name, 40.0):
                found.append(f"{name}: {before:.0f} to {after:.0f}")
        return found


async def imported(house: Supervisor, count: int, sandboxed: float) -> dict[str, str]:
    """Sessions without a turn, and the level of each."""
    levels = {"sandboxed": round(count * sandboxed)}
    levels["vault"] = (count - levels["sandboxed"]) // 2
    levels["full"] = count - sum(levels.values())
    sessions: dict[str, str] = {}
    for level, number in levels.items():
        said = [{"sender": "human", "text": "hello"}, {"sender": "assistant", "text": "hi"}]
        told = [
            {"uuid": f"{level}-{at}", "name": f"{level} {at}", "chat_messages": said}
            for at in range(number)
        ]
        body = {"content": json.dumps(told), "trustLevel": level}
        async with house.client.post(f"{house.url}/api/import", json=body) as answer:
            answer.raise_for_status()
            for each in (await answer.json())["imported"]:
                sessions[each["id"]] = level
    return sessions


async def stored(house: Supervisor, session: str) -> Log:
    """A session's log, read whole as a reader would."""
    url = f"{house.url}/api/chat/session/{session}/stream"
    books: Log = []
    checksum, number, kind = 0, 0, b""
    async with house.client.get(url) as answer:
        while True:
            try:
                async with asyncio.timeout(3.0 if books else 10.0):
                    line = await answer.content.readline()
            except TimeoutError:
                return books
            if line.startswith(b"id: "):
                number = int(line[4:])
            elif line.startswith(b"event: "):
                kind = line[7:-1]
            elif line.startswith(b"data: "):
                data = line[6:-1]
                checksum = zlib.crc32(b"%d %s %s" % (number, kind, data), checksum)
                ended = json.loads(data)["turn_id"] if kind.decode() in TERMINAL else None
                books.append((number, checksum, ended))


async def all_stored(house: Supervisor, sessions: list[str]) -> dict[str, Log]:
    """The logs of all sessions, now that no turn runs."""
    gate = asyncio.Semaphore(20)

    async def look(session: str) -> Log:
        async with gate:
            return await stored(house, session)

    logs = await asyncio.gather(*(look(each) for each in sessions))
    return dict(zip(sessions, logs, strict=True))


def compare(logs: dict[str, Log], course: Course, books: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the logs, and with what the readers saw of them."""
    faults = []
    for session, log in logs.items():
        if [number for number, _, _ in log] != list(range(1, len(log) + 1)):
            faults.append(f"{session}: its log has a gap")
        ends = sorted(turn for _, _, turn in log if turn is not None)
        if ends != sorted(turn for turn, of in course.begun.items() if of == session):
            faults.append(f"{session}: turns and their ends differ")
        last = log[-1][1] if log else 0
        for reader in books:
            if reader["session"] != session:
                continue
            if (reader["seen"], reader["checksum"]) != (len(log), last):
                faults.append(f"{session}: a reader saw {reader['seen']} of {len(log)} events")
            if sorted(reader["ends"]) != ends or set(reader["ends"].values()) - {1}:
                faults.append(f"{session}: a reader saw other ends")
            faults.extend(reader["faults"])
    return faults


async def play(turns: Turns, sessions: dict[str, str], options: argparse.Namespace) -> None:
    """So many turns at once, until the time is over and the last have ended."""
    chance = random.Random(options.seed)  # noqa: S311 - repeatable on purpose
    free = list(sessions)
    until = time.monotonic() + options.minutes * 60

    async def worker() -> None:
        while time.monotonic() < until:
            session = free.pop(chance.randrange(len(free)))
            await turns.one(session, sessions[session])
            free.append(session)

    await asyncio.gather(*(worker() for _ in range(min(options.at_once, len(free)))))


async def measure(options: argparse.Namespace) -> list[str]:
    """All of it; what didn't hold."""
    async with AsyncExitStack() as stack:
        place = stack.enter_context(workplace())
        make_vault(place / "vault", 100)
        (place / "scenario.yaml").write_text(SCENARIO)
        house = await stack.enter_async_context(
            supervisor(
                place,
                served="benchmarks._soak_served",
                log=options.log or place / "stderr.log",
                model=f"scripted:{place / 'scenario.yaml'}",
                approval_seconds="20",
                question_seconds="20",
            )
        )
        sessions = await imported(house, options.sessions, options.sandboxed)
        seats = [
            each for at, each in enumerate([*sessions] * options.readers) if at < options.readers
        ]
        holders: list[Process] = []
        for number in range(HOLDERS):
            holder = await stack.enter_async_context(started("benchmarks._soak_readers"))
            port, token = house.url.rpartition(":")[2], (house.data / "token").read_text().strip()
            mine = seats[number::HOLDERS]
            holder.say(port=port, token=token, sessions=mine, seed=options.seed + number)
            holders.append(holder)
        turns, samples = Turns(house, random.Random(options.seed)), Samples(house)  # noqa: S311
        watching = asyncio.create_task(samples.take(max(1.0, options.minutes / 5)))
        answering = asyncio.create_task(turns.answer_people())
        began = time.monotonic()
        await play(turns, sessions, options)
        watching.cancel()
        answering.cancel()
        print(f"{len(turns.course.begun)} turns in {(time.monotonic() - began) / 60:.1f} min")
        used = [each for each in sessions if each in turns.course.begun.values()]
        logs = {each: Log() for each in sessions} | await all_stored(house, used)
        last = {session: len(log) for session, log in logs.items()}
        books = [
            each
            for part in await asyncio.gather(*(holder.ask(last=last) for holder in holders))
            for each in part
        ]
        faults = turns.course.faults + compare(logs, turns.course, books)
        faults += samples.grown
        show(turns.course, samples, books, sum(last.values()))
        if options.svg:
            draw(options.svg, samples.times, samples.figures)
        return faults + await stopped(house, holders, place, options.log)


async def stopped(
    house: Supervisor, holders: list[Process], place: Path, log: Path | None
) -> list[str]:
    """Stop it with all its readers there; what is left, and who wasn't told."""
    instance = instance_in(house.data)
    began = time.monotonic()
    house.process.send_signal(signal.SIGTERM)
    status = await house.process.wait()
    took = time.monotonic() - began
    answers = await asyncio.gather(*(holder.ask() for holder in holders))
    told, untold = sum(each[0] for each in answers), [each for _, some in answers for each in some]
    left = await left_of(house.data, place / "r")
    print(f"stopped in {took:.1f} s; {told} readers were told; left: {left}")
    faults = [f"the exit status was {status}"] if status else []
    if untold:
        faults.append(f"{len(untold)} readers weren't told of the stop: {untold[:5]}")
    lines = (log or place / "stderr.log").read_text().splitlines()
    lines = [line for line in lines if "graceful shutdown exceeded" not in line]  # who stood still
    faults += [line for line in lines if "Traceback" in line or " error " in line]
    if left != NOTHING or list(processes_with(f"TRUSTFLOOR_INSTANCE={instance}")):
        faults.append(f"left behind: {left}")
    return faults


def show(course: Course, samples: Samples, books: list[dict[str, Any]], events: int) -> None:
    """What happened, and what the supervisor held."""
    seen = sum(each["seen"] for each in books)
    connections = sum(each["connections"] for each in books)
    print(f"ends: {dict(course.ends)}; {dict(course.told)}; answers: {dict(course.answers)}")
    print(f"{events} events stored, {seen} delivered over {connections} connections")
    if course.abort_seconds:
        took = course.abort_seconds
        print(
            f"abort to the end as its client saw it: median {median(took):.2f} s,"
            f" 99th percentile {percentile(took, 0.99):.2f} s, longest {max(took):.2f} s"
        )
    rows = []
    for name, values in samples.figures.items():
        before, after = samples.growth(name)
        rows.append([name, f"{before:.0f}", f"{after:.0f}", f"{max(values, default=0):.0f}"])
    print()
    table(["of the supervisor", "first half", "second half", "most"], rows)
    print()


def main() -> None:
    """Run it and give the verdict."""
    parser = argparse.ArgumentParser(description="a soak; see the module's text")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--readers", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--sandboxed", type=float, default=0.25)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))  # noqa: S311
    parser.add_argument("--svg", type=Path, help="where to draw what it held, over time")
    parser.add_argument("--log", type=Path, help="where to keep the supervisor's log")
    options = parser.parse_args()
    print(f"{machine()}\n{vars(options)}")
    faults = asyncio.run(measure(options))
    for each in faults[:30]:
        print(f"FAULT {each}")
    print(f"verdict: {len(faults)} faults" if faults else "verdict: nothing lost, nothing grown")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
