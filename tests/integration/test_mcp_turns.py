"""Turns with real MCP servers: allowed ones run where the agent does, their calls pass the gate."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
import yaml

from supervisor.mcp.chosen import LEFT_OUT
from supervisor.settings import Settings
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, Turn, a_house, calls, is_a, prompt, step
from tests.worlds.mcp_servers import STUBBORN, configure, packaged, plain

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]
LOCAL = [TrustLevel.FULL, TrustLevel.VAULT]
ECHO = calls(("mcp__a__echo", {"text": "hi"}))


@pytest_asyncio.fixture(name="house", scope="module", loop_scope="module")
async def house_fixture() -> AsyncIterator[House]:
    async with a_house() as house:
        yield house


@pytest.fixture(autouse=True)
def without_servers(house: House) -> None:
    """Each test begins with no server."""
    (house.vault / ".mcp.json").unlink(missing_ok=True)


def touching(mark: Path, **more: Any) -> dict[str, Any]:
    """A server whose start leaves a mark, and which then fails."""
    return {"command": "/usr/bin/env", "args": ["touch", str(mark)], **more}


def warnings(turn: Turn, code: str) -> list[str]:
    return [event["message"] for event in turn.of("warning") if event["code"] == code]


def tools(turn: Turn) -> list[str]:
    return [each for each in turn.of("init")[0]["tools"] if each.startswith("mcp__")]


async def test_a_server_made_with_the_package_is_called_at_full(house: House) -> None:
    house.parts.mcp.save("a", packaged(house.root))
    turn = await house.send(prompt(ECHO, step("ok")), TrustLevel.FULL)
    assert turn.end["type"] == "done", turn.end
    assert "echo: hi" in turn.results()[0]
    assert not turn.of("warning")


@pytest.mark.parametrize("level", LOCAL)
async def test_a_server_runs_where_its_agent_does(house: House, level: TrustLevel) -> None:
    house.parts.mcp.save("a", plain())
    outside = house.root / f"noted-{level.value}"
    asked = calls(("mcp__a__note", {"place": str(outside)}))
    turn = await house.send(prompt(ECHO, step("ok")), level)
    assert turn.results() == ["echo: hi"]
    turn = await house.send(prompt(asked, step("ok")), level)
    assert turn.results()
    assert outside.exists() == (level is TrustLevel.FULL)


async def test_in_a_sandbox_only_what_an_admin_allowed_there_runs_and_no_host_process(
    house: House,
) -> None:
    mark = house.root / "on-the-host"
    mcp = house.parts.mcp
    for name, entry in (("a", plain()), ("b", plain()), ("t", touching(mark))):
        mcp.save(name, entry)
    mcp.save("r", {"type": "http", "url": "http://127.0.0.1:1/"})
    for name in ("a", "t"):
        mcp.allow(name, sandboxed=True)
    turn = await house.send(prompt(ECHO, step("ok")), until=is_a("permission_request"))
    (request,) = turn.of("permission_request")
    assert (request["mcpServer"], request["toolName"]) == ("a", "mcp__a__echo")
    await house.parts.approvals.answer(request["id"], "granted")
    await turn.go_on()
    assert turn.results() == ["echo: hi"]
    assert tools(turn) == ["mcp__a__echo", "mcp__a__look", "mcp__a__note"]
    (told,) = warnings(turn, LEFT_OUT)
    assert "b, r;" in told
    assert "--sandboxed" in told
    (failed,) = warnings(turn, "mcp_connection_failed")
    assert failed.startswith(
        "the MCP server t did not start, or can't be reached; in a sandbox its"
    )
    assert "runner image" in failed
    assert not mark.exists()


async def test_control_the_same_server_leaves_its_mark_at_full(house: House) -> None:
    mark = house.root / "by-allowed"
    house.parts.mcp.save("t", touching(mark))
    turn = await house.send("hello", TrustLevel.FULL)
    assert turn.end["type"] == "done"
    (failed,) = warnings(turn, "mcp_connection_failed")
    assert failed == (
        "the MCP server t did not start, or can't be reached; `trustfloor mcp test` says why"
    )
    assert mark.exists()
    # What goes on turn after turn is told once.
    again = await house.send("hello", TrustLevel.FULL, session_id=turn.session_id)
    assert again.end["type"] == "done"
    assert warnings(again, "mcp_connection_failed") == []


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_what_nobody_allowed_is_not_started_and_the_turn_goes_on(
    house: House, level: TrustLevel
) -> None:
    mark = house.root / f"by-hand-{level.value}"
    configure(house.vault, t=touching(mark))
    turn = await house.send("hello", level)
    assert turn.end["type"] == "done"
    (told,) = warnings(turn, LEFT_OUT)
    assert "trustfloor mcp allow t" in told
    assert not mark.exists()
    house.parts.mcp.allow("t")
    configure(house.vault, t=touching(mark, env={"A": "changed since"}))
    turn = await house.send("hello", level)
    assert len(warnings(turn, LEFT_OUT)) == 1
    assert not mark.exists()


async def test_a_server_without_its_variable_or_with_a_mistake_costs_itself_only(
    house: House,
) -> None:
    configure(house.vault, bad={"command": 1}, key=plain(env={"T": "${ANTHROPIC_API_KEY}"}))
    house.parts.mcp.allow("key")
    house.parts.mcp.save("a", plain())
    turn = await house.send(prompt(ECHO, step("ok")), TrustLevel.FULL)
    assert turn.results() == ["echo: hi"]
    told = sorted(warnings(turn, LEFT_OUT))
    assert ".mcp.json:1:2 bad.command" in told[0]
    assert "ANTHROPIC_API_KEY" in told[1]


async def test_an_agent_has_the_servers_that_its_file_names_or_describes(house: House) -> None:
    agents = house.vault / "agents"
    agents.mkdir(exist_ok=True)
    described = yaml.safe_dump({"mcpServers": ["b", {"own": plain()}]})
    (agents / "both.md").write_text(f"---\nname: Both\n{described}---\nBe kind.\n")
    (agents / "none.md").write_text("---\nname: None\nmcpServers: []\n---\n")
    (agents / "gone.md").write_text("---\nname: Gone\nmcpServers: [gone]\n---\n")
    for name in ("a", "b"):
        house.parts.mcp.save(name, plain())
    turn = await house.send("hello", TrustLevel.FULL, agent="Both")
    (told,) = warnings(turn, LEFT_OUT)
    assert "trustfloor mcp allow own --agent agents/both.md" in told
    assert {each.split("__")[1] for each in tools(turn)} == {"b"}
    both = house.parts.agents().find("Both")
    house.parts.mcp.allow("own", _wanted(both))
    asked = prompt(calls(("mcp__own__echo", {"text": "hi"})), step("ok"))
    turn = await house.send(asked, TrustLevel.FULL, agent="Both")
    assert turn.results() == ["echo: hi"]
    assert {each.split("__")[1] for each in tools(turn)} == {"b", "own"}
    assert tools(await house.send("hello", TrustLevel.FULL, agent="None")) == []
    turn = await house.send("hello", TrustLevel.FULL, agent="Gone")
    assert ".mcp.json has no server of this name" in warnings(turn, LEFT_OUT)[0]


def _wanted(agent: Any) -> Any:
    from supervisor.mcp.chosen import Wanted  # noqa: PLC0415

    return Wanted(agent.mcp_servers, agent.own_servers, agent.path)


@pytest.mark.parametrize("answer", ["deny", "allow"])
async def test_every_call_of_a_server_passes_the_gate(tmp_path: Path, answer: str) -> None:
    policies = tmp_path / "policies"
    shutil.copytree(Settings().policies, policies)
    rule = {"id": "no-notes", "reason": "not this server", "answer": answer, "servers": ["a"]}
    (policies / "site.yaml").write_text(yaml.safe_dump({"version": 1, "rules": [rule]}))
    async with a_house(policies=policies) as house:
        house.parts.mcp.save("a", plain())
        place = house.vault / "noted"
        asked = calls(("mcp__a__note", {"place": str(place)}))
        turn = await house.send(prompt(asked, step("ok")), TrustLevel.FULL)
    assert place.exists() == (answer == "allow") or not house.vault.exists()
    denied = [event["rule"] for event in turn.of("permission_denied")]
    assert denied == (["no-notes"] if answer == "deny" else [])
    (result,) = turn.of("tool_result")
    assert result["isError"] == (answer == "deny")
    # The agent's program calls a refusal a "hook error"; people read what it is.
    assert result["content"].startswith("refused: ") == (answer == "deny")


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_a_server_that_ignores_signals_and_hides_a_process_is_gone_after_the_turn(
    house: House, level: TrustLevel
) -> None:
    program = f"{STUBBORN}\n# {uuid4().hex}"  # known from those of tests side by side
    house.parts.mcp.save("a", plain(program))
    house.parts.mcp.allow("a", sandboxed=True)
    turn = await house.send(prompt(step("slow", delay_s=600.0)), level, until=is_a("init"))
    assert "mcp__a__echo" in tools(turn)
    assert await house.parts.conversations.abort(turn.session_id, "enough")
    await turn.go_on()
    assert turn.end["type"] == "aborted"
    await house.nothing_left()
    assert not _with_argument(program)
    turn = await house.send("hello", level)
    assert turn.end["type"] == "done"
    await house.nothing_left()
    assert not _with_argument(program)


def _with_argument(text: str) -> list[str]:
    """Processes of the whole machine, containers' too, that run this program."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in each.read_bytes():
                found.append(str(each))
        except OSError:
            continue
    return found
