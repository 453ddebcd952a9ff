"""Fuzzes a supervisor that really runs: `python -m tests.fuzz.run [REQUESTS]`, 20,000 if not said.

Requests are made up from the OpenAPI document of the server, then chains of them along its links.
An answer is a failure if its status, headers, type or content isn't what the document tells, if it
is a 5xx, or if it takes what the document forbids; an incident in the server's log is one as well.
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.worlds.server import Running, supervisor_process

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REQUESTS = 20_000
STATEFUL_SHARE = 5
"""One in so many requests belongs to a chain of them."""
SESSIONS = 12
TURNS, STREAMS = 12, 40
MOST_ROUNDS = 60
UNLIMITED = {"rate_per_minute": "0", "failed_per_minute": "0"}
"""So many requests, and so many without a token, would all be told to wait."""
SCENARIO = """\
version: 1
scripts:
  - {name: hello, when: {always: true}, steps: [{text: Hello.}]}
"""
AGENT = """\
---
name: writer
description: Writes.
---
Write.
"""


@dataclass
class Tally:
    """What was asked and answered so far."""

    answers: Counter[str] = field(default_factory=Counter)
    stateless: int = 0
    stateful: int = 0
    failures: int = 0

    @property
    def requests(self) -> int:
        """How many were answered."""
        return self.answers.total()

    def by_status(self) -> str:
        """How many answers there were of each status."""
        found: Counter[str] = Counter()
        for what, count in self.answers.items():
            found[what.partition(" ")[0]] += count
        return ", ".join(f"{status}: {count}" for status, count in sorted(found.items()))


async def fuzz(folder: Path, requests: int, *, seed: int = 1, whole: bool = True) -> Tally:
    """Ask so many requests or some more of a server over `folder`; what failed is printed.

    `whole`: every edge of every parameter besides, which takes some thousand requests. Fewer
    requests than were wanted, after so many rounds, are a failure as well.
    """
    tally = Tally()
    vault = folder / "vault"
    (vault / "agents").mkdir(parents=True)
    (vault / "agents" / "writer.md").write_text(AGENT)
    (vault / "notes.md").write_text("Buy oat milk.\n")
    async with supervisor_process(folder, SCENARIO, **UNLIMITED) as server:
        chained = max(requests // STATEFUL_SHARE, 1)
        for turn in range(MOST_ROUNDS):
            if tally.failures or (
                tally.stateless >= requests - chained and tally.stateful >= chained
            ):
                break
            stateful = tally.stateless >= requests - chained
            left = chained - tally.stateful if stateful else requests - chained - tally.stateless
            first = "examples,coverage,fuzzing" if whole else "examples,fuzzing"
            phases = "stateful" if stateful else "fuzzing" if tally.stateless else first
            await _round(server, folder, tally, left, seed=seed + turn, phases=phases)
        else:
            print(f"fuzz: ended short, after {MOST_ROUNDS} rounds")
            tally.failures += 1
        tally.failures += _incidents(server)
    return tally


async def _round(
    server: Running, folder: Path, tally: Tally, left: int, *, seed: int, phases: str
) -> None:
    """One run of schemathesis, of as many requests as are left, if they can be had in one."""
    await _sessions(server, folder)
    shutil.copy(HERE / "schemathesis.toml", folder)
    stateful = phases == "stateful"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "--no-color"),
        *("--config-file", "schemathesis.toml", "run", "openapi.json"),
        *("--url", server.url),
        *(
            "--seed",
            str(seed),
            "--phases",
            phases,
            "--max-examples",
            str(_examples(left, stateful)),
        ),
        *("--report", "json", "--report-json-path", "report.json"),
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks",
            "FUZZ_FOLDER": str(folder),
            "FUZZ_TOKEN": server.token,
            "FUZZ_TURNS": str(TURNS),
            "FUZZ_STREAMS": str(STREAMS),
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if not (folder / "tally.json").exists():
        raise RuntimeError(f"schemathesis did not begin: {said.decode()}")
    answers = Counter(json.loads((folder / "tally.json").read_text()))
    (folder / "tally.json").unlink()
    tally.answers += answers
    if stateful:
        tally.stateful += answers.total()
    else:
        tally.stateless += answers.total()
    if process.returncode:
        print(said.decode())
        tally.failures += max(1, _unique_failures(folder / "report.json"))
    print(f"fuzz: {tally.requests} requests ({phases}, seed {seed})", file=sys.stderr)


def _examples(left: int, stateful: bool) -> int:
    """How many examples to ask for: of each route, or of chains."""
    return max(2, min(left // 8, 400)) if stateful else max(2, min(left // 60, 60))


def _unique_failures(report: Path) -> int:
    return int(json.loads(report.read_text())["test_cases"]["unique_failures"])


def _incidents(server: Running) -> int:
    found = [line for line in server.log.splitlines() if "incident" in line or "Traceback" in line]
    for line in found:
        print(line)
    return len(found)


async def _sessions(server: Running, folder: Path) -> None:
    """Some sessions that are there, for requests that name one."""
    talks = [
        {
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, str(number))),
            "name": f"Talk {number}",
            "created_at": "2026-05-01T10:00:00Z",
            "chat_messages": [{"sender": "human", "text": f"Hello {number}."}],
        }
        for number in range(SESSIONS)
    ]
    async with server.client() as client:
        answer = await client.post(
            "/api/import", json={"filename": "talks.json", "content": json.dumps(talks)}
        )
        answer.raise_for_status()
        document = (await client.get("/api/openapi.json")).raise_for_status()
        (folder / "openapi.json").write_bytes(document.content)
        ids = [each["id"] for each in answer.json()["imported"]]
    (folder / "sessions.txt").write_text("".join(f'"{each}"\n' for each in ids))


def main() -> None:
    """Fuzz a supervisor of its own in a temporary folder; ends with 1 if anything failed."""
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else REQUESTS
    folder = Path(tempfile.mkdtemp(prefix="tf-fuzz-", dir="/tmp"))
    try:
        tally = asyncio.run(fuzz(folder, requests))
        print(f"fuzz: {tally.by_status()}")
        print(f"fuzz: {tally.stateless} by themselves, {tally.stateful} in chains")
        print(f"fuzz: {tally.requests} requests, {tally.failures} failures")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(bool(tally.failures))


if __name__ == "__main__":
    main()
