"""A supervisor in a process of its own, over a vault of the benchmark's, and a client of it."""

import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

FILES_PER_FOLDER = 50
START_SECONDS = 60.0


@dataclass(frozen=True)
class Mark:
    """A step of the supervisor's; seconds on the monotonic clock."""

    name: str
    begin: float
    end: float


@dataclass(frozen=True)
class Turn:
    """A turn, as its client saw it; seconds on the monotonic clock."""

    session: str
    posted: float
    events: dict[str, float] = field(default_factory=dict)
    """When the first event of each type came."""
    last: dict[str, Any] = field(default_factory=dict)
    isolation: dict[str, Any] = field(default_factory=dict)

    @property
    def done(self) -> float:
        return self.events["done"]


@dataclass(frozen=True)
class Supervisor:
    """A running supervisor."""

    url: str
    process: asyncio.subprocess.Process
    marks_file: Path
    client: aiohttp.ClientSession
    data: Path

    async def send(self, message: str, level: str, **more: Any) -> Turn:
        """Send one message in a new session and read its events to the end."""
        posted = time.monotonic()
        body = {"message": message, "trustLevel": level, **more}
        async with self.client.post(f"{self.url}/api/chat/stream", json=body) as answer:
            answer.raise_for_status()
            turn = Turn(answer.headers["Trustfloor-Session"], posted)
            kind = ""
            async for line in answer.content:
                if line.startswith(b"event: "):
                    kind = line[7:-1].decode()
                    turn.events.setdefault(kind, time.monotonic())
                elif line.startswith(b"data: ") and kind in {"done", "error", "aborted"}:
                    turn.last.update(json.loads(line[6:]))
                elif line.startswith(b"data: ") and kind == "isolation":
                    turn.isolation.update(json.loads(line[6:]))
        if "done" not in turn.events:
            raise RuntimeError(f"the turn ended otherwise: {turn.last}")
        return turn

    async def until_all_wait(self) -> None:
        """Wait until no sandbox is at work: those that are there wait for a message."""
        while True:
            async with self.client.get(f"{self.url}/api/containers") as answer:
                answer.raise_for_status()
                found = (await answer.json())["containers"]
            if all(each["waiting"] for each in found):
                return
            await asyncio.sleep(0.05)

    def marks(self, begin: float) -> list[Mark]:
        """The steps since then."""
        lines = self.marks_file.read_text().splitlines()
        return [mark for line in lines if (mark := Mark(*json.loads(line))).begin >= begin]

    def resident_kib(self) -> int:
        """The memory it holds now."""
        return resident_kib(self.process.pid)

    def peak_kib(self) -> int:
        """The most memory it held so far."""
        return _status_kib(self.process.pid, "VmHWM")


def resident_kib(pid: int) -> int:
    """The memory that a process holds now."""
    return _status_kib(pid, "VmRSS")


def _status_kib(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name + ":"))


def make_vault(folder: Path, files: int) -> None:
    """A vault of small notes, a secret in each tenth folder."""
    for number in range(max(1, files // FILES_PER_FOLDER)):
        project = folder / f"project {number}"
        project.mkdir(parents=True)
        for note in range(min(files, FILES_PER_FOLDER)):
            (project / f"note-{note}.md").write_bytes(b"x" * 2000)
        if number % 10 == 0:
            (project / ".env").write_text("TOKEN=nothing")
    os.sync()
    time.sleep(0.1)  # so that no file is too young for its copy to be kept


@contextlib.contextmanager
def workplace() -> Any:
    """A folder with a short path, for sockets; gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="tfb-", dir="/tmp"))
    try:
        place.chmod(0o755)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@asynccontextmanager
async def supervisor(
    place: Path,
    *,
    extra: Mapping[str, str] | None = None,
    served: str = "benchmarks._served",
    log: Path | None = None,
    **settings: str,
) -> AsyncIterator[Supervisor]:
    """Start one as `trustfloor serve` does, over `place`/vault.

    `settings` are names as in `TRUSTFLOOR_…`, `extra` further variables of its environment,
    `served` the module that is run, `log` where its log goes instead of standard error.
    """
    data = place / "data"
    marks = place / "marks.jsonl"
    marks.touch()
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TRUSTFLOOR_", "ANTHROPIC_")) and name not in {"VAULT_PATH", "PORT"}
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", served, str(marks), "serve", "--port", "0"),
        env={
            **kept,
            "PYTHONUNBUFFERED": "1",
            "TRUSTFLOOR_VAULT": str(place / "vault"),
            "TRUSTFLOOR_DATA_DIR": str(data),
            "TRUSTFLOOR_RUNTIME_DIR": str(place / "r"),
            **(extra or {}),
            **{f"TRUSTFLOOR_{name.upper()}": value for name, value in settings.items()},
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=None if log is None else await asyncio.to_thread(log.open, "wb"),
    )
    try:
        async with asyncio.timeout(START_SECONDS):
            url = await _until_listening(process)
        token = (data / "token").read_text().strip()
        async with aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {token}"},
            timeout=aiohttp.ClientTimeout(total=600),
            read_bufsize=1 << 20,
        ) as client:
            yield Supervisor(url, process, marks, client, data)
    finally:
        if process.returncode is None:
            process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(15):
                    await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _until_listening(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    url = ""
    while line := (await process.stdout.readline()).decode():
        if line.startswith("listening"):
            url = line.split()[1]
        if line.startswith("token in"):
            return url
    raise RuntimeError(f"the supervisor ended ({await process.wait()}) before it was up")
