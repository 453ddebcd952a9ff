"""A world with a whole supervisor in a process of its own, and the scripted model."""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.worlds.forked import Forked, trustfloor
from tests.worlds.http import PLAIN

START_SECONDS = 60.0


@dataclass(frozen=True)
class Running:
    """A supervisor of this test's own; `lines` is what it had printed when it was up."""

    url: str
    token: str
    vault: Path
    data_dir: Path
    process: Forked
    lines: tuple[str, ...]
    log_file: Path

    @property
    def log(self) -> str:
        """What it has written to standard error so far, earlier starts included."""
        return self.log_file.read_text()

    def client(self, *, timeout_s: float = 60.0) -> httpx.AsyncClient:
        """A client with the token."""
        return httpx.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=timeout_s,
            trust_env=False,
            verify=PLAIN,
        )

    async def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """End it by a signal; its exit status."""
        if self.process.returncode is None:
            self.process.send_signal(by)
        return await self.process.wait()


def environment(folder: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """A process's environment with none of the caller's settings or keys, and these."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TRUSTFLOOR_", "ANTHROPIC_")) and name not in {"VAULT_PATH", "PORT"}
    }
    return {
        **kept,
        "PYTHONUNBUFFERED": "1",
        "TRUSTFLOOR_VAULT": str(folder / "vault"),
        "TRUSTFLOOR_DATA_DIR": str(folder / "data"),
        **settings,
    }


@contextlib.asynccontextmanager
async def supervisor_process(
    folder: Path, scenario: str, **settings: str
) -> AsyncIterator[Running]:
    """`trustfloor serve` on a free port over `folder`/vault and `folder`/data, with a script.

    `settings` are names as in `TRUSTFLOOR_…`, in small letters. The folders stay, so that a second
    one over the same folder is the same supervisor started again. Killed if it hasn't ended.
    """
    (folder / "vault").mkdir(exist_ok=True)
    script = folder / "scenario.yaml"
    script.write_text(scenario, encoding="utf-8")
    log_file = folder / "stderr.log"
    with (
        tempfile.TemporaryDirectory(prefix="tf-") as runtime,  # short, as sockets' paths must be
        log_file.open("ab") as log,
    ):
        named = {f"TRUSTFLOOR_{name.upper()}": value for name, value in settings.items()}
        process = await trustfloor(
            *("serve", "--port", "0", "--model", f"scripted:{script}"),
            env=environment(folder, {"TRUSTFLOOR_RUNTIME_DIR": runtime, **named}),
            stderr=log,
        )
        try:
            async with asyncio.timeout(START_SECONDS):
                lines = await _until_listening(process, log_file)
            url = lines[0].split()[1]
            token = (folder / "data" / "token").read_text().strip()
            yield Running(url, token, folder / "vault", folder / "data", process, lines, log_file)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _until_listening(process: Forked, log_file: Path) -> tuple[str, ...]:
    assert process.stdout is not None
    lines: list[str] = []
    while not any(line.startswith("token in") for line in lines):
        line = await process.stdout.readline()
        assert line, f"it ended ({await process.wait()}) before it was up: {log_file.read_text()}"
        lines.append(line.decode().rstrip("\n"))
    return tuple(lines)
