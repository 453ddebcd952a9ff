"""What MCP servers are given stays between the CLI and them: in no argument, file, event or log.

Positive control: the server does get the values, and a program that is given them as arguments is
found by the same search.
"""

import asyncio
import logging
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import KEY, House, a_house, calls, is_a, prompt, step
from tests.worlds.mcp_servers import configure, plain

pytestmark = pytest.mark.engine

BY_REFERENCE = "CANARY-by-reference-0123456789"
BY_HAND = "CANARY-by-hand-0123456789"


def in_arguments(text: str) -> Iterator[str]:
    """Processes of the machine whose command line has the text."""
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if text.encode() in each.read_bytes():
                yield str(each)


def in_files(folder: Path, text: str) -> Iterator[str]:
    """Files below the folder that have it; transcripts aside, which have what a server tells."""
    for parent, _, names in os.walk(folder):  # which bears folders that vanish meanwhile
        for each in (Path(parent, name) for name in names if "projects" not in Path(parent).parts):
            with suppress(OSError):
                if each.is_file() and text.encode() in each.read_bytes():
                    yield str(each)


def look(name: str) -> dict[str, object]:
    return calls(("mcp__a__look", {"name": name}))


async def a_turn(house: House, level: TrustLevel) -> str:
    """Let the server tell what it has been given; what the turn's events said."""
    asked = prompt(look("T"), look("B"), look("ANTHROPIC_API_KEY"), step("x", delay_s=600.0))
    turn = await house.send(asked, level, until=is_a("init"))
    told = 0
    while told < 3:
        await turn.go_on(lambda event: event["type"] in {"permission_request", "tool_result"})
        if turn.end["type"] == "permission_request":
            await house.parts.approvals.answer(turn.end["id"], "granted")
        else:
            told += 1
    for canary in (BY_REFERENCE, BY_HAND, KEY):
        assert list(in_arguments(canary)) == []
        assert list(in_files(house.root / "run", canary)) == []
    await house.parts.conversations.abort(turn.session_id, "enough")
    await turn.go_on()
    return str(turn.events)


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_values_reach_the_server_and_nobody_else(
    level: TrustLevel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("NOTES_TOKEN", BY_REFERENCE)
    async with a_house(mcp_variables="NOTES_TOKEN") as house:
        configure(house.vault, a=plain(env={"T": "${NOTES_TOKEN}", "B": BY_HAND, "TOKEN": BY_HAND}))
        house.parts.mcp.allow("a", sandboxed=True)
        events = await a_turn(house, level)
        assert events.count("look: [redacted]") == 2
        assert "look: held-by-the-gateway" in events
        data = house.root / "data"
        for canary in (BY_REFERENCE, BY_HAND):
            # The view has a copy of the vault's own file.
            assert [each for each in in_files(data, canary) if "vault-view" not in each] == []
            assert canary not in caplog.text
        assert "look: nothing" not in events


def test_control_an_argument_is_found() -> None:
    with subprocess.Popen(["sleep", "600", BY_REFERENCE], stderr=subprocess.DEVNULL) as started:
        try:
            assert list(in_arguments(BY_REFERENCE)) or started.poll() is not None
        finally:
            started.kill()


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "TRUSTFLOOR_TOKEN", "trustfloor_api_key"])
async def test_the_supervisors_own_variables_cannot_be_named(name: str) -> None:
    with pytest.raises(ValueError, match="supervisor's own"):
        async with a_house(mcp_variables=name):
            await asyncio.sleep(0)
