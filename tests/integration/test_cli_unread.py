"""A command whose output nobody reads, as behind `| head`, ends quietly and as SIGPIPE would."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.ids import SessionId
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.played_turns import done
from tests.worlds.server import environment
from tests.worlds.waiting import A_WHILE


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        world.turns.script = [done(SessionId("s"), "the end")]
        async with world.client() as client:
            await client.post("/api/chat", json={"message": "x"})
            await client.post("/api/captures", json={"filename": "a.md", "content": "x"})
        yield world


async def unread(world: ApiWorld, *words: str) -> tuple[int | None, bytes]:
    """The exit status of a command and what it complains of, whose output nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    own = {
        "TRUSTFLOOR_URL": world.at.url,
        "TRUSTFLOOR_TOKEN": TOKEN,
        "TRUSTFLOOR_AUDIT_KEY_FILE": str(world.parts.settings.vault.parent / "audit.key"),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "supervisor", *words),
        env=environment(world.parts.settings.vault.parent, own),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=writer,
        stderr=asyncio.subprocess.PIPE,
    )
    os.close(writer)
    async with asyncio.timeout(A_WHILE):
        _, complaint = await process.communicate()
    return process.returncode, complaint


@pytest.mark.parametrize(
    "words",
    [
        "sessions",
        "sessions list --json",
        "events",
        "events --json",
        "captures get a.md",
        "ready",
        "stats --json",
        "policy show",
        "policy explain Bash ls",
        "audit show --json --log {log}",
        "audit export --log {log}",
        "audit export --csv --log {log}",
    ],
)
async def test_it_says_nothing_of_it_and_its_status_is_no_answer(
    world: ApiWorld, words: str
) -> None:
    log = world.parts.settings.vault.parent / "audit.jsonl"
    given = [each.replace("{log}", str(log)) for each in words.split()]
    assert await unread(world, *given) == (141, b"")
