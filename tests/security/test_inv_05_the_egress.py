"""Invariant 5: from a sandbox a far server is called by the supervisor, or not at all.

The agent's shell has no way to the server, and a program in the sandbox that speaks for the agent
gets no call out which the gate hasn't allowed. Positive controls: the host reaches the server, the
allowed call arrives, and the forged frames do reach the supervisor.
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
import pytest_asyncio

from supervisor.mcp.relay import REFUSED, RELAYED
from supervisor.observability.audit_pages import Wanted, page_before
from supervisor.runtimes.container.image import RUNNER_IMAGE
from tests.worlds import hostile_image as images
from tests.worlds.far_servers import KINDS, FarWorld, Kind, a_far_server
from tests.worlds.hostile_image import hostile
from tests.worlds.house import House, Turn, a_house, calls, is_a, prompt, step

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

TAG = f"trustfloor-test/egress:{os.getpid()}"
CANARY = "CANARY-of-the-far-server-0123456789"


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="house")
async def house_fixture() -> AsyncIterator[House]:
    os.environ["FAR_TOKEN"] = CANARY
    images.tag(RUNNER_IMAGE, TAG)
    try:
        async with a_house(runner_image=TAG, mcp_variables="FAR_TOKEN") as house:
            yield house
    finally:
        images.untag(TAG)
        del os.environ["FAR_TOKEN"]


@asynccontextmanager
async def a_far_one(house: House, kind: Kind = "http") -> AsyncIterator[FarWorld]:
    """A server that is allowed in the house's sandboxes, and known by a secret."""
    async with a_far_server(kind, headers={"Authorization": "Bearer ${FAR_TOKEN}"}) as far:
        house.parts.mcp.save("far", far.entry)
        house.parts.mcp.allow("far", sandboxed=True)
        yield far


async def granted(house: House, turn: Turn) -> Turn:
    """Say yes to the turn's request, and follow it to its end."""
    (request,) = turn.of("permission_request")
    await house.parts.approvals.answer(request["id"], "granted")
    return await turn.go_on()


def in_shell(command: str) -> dict[str, object]:
    return calls(("Bash", {"command": command}))


def entries(house: House, turn: Turn, kind: str) -> int:
    wanted = Wanted(kind=kind, session_id=turn.session_id)
    page = page_before(house.root / "data" / "audit.jsonl", wanted, before=None, limit=100)
    return len(page.entries)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_allowed_call_goes_out_and_a_denied_one_does_not(house: House, kind: Kind) -> None:
    async with a_far_one(house, kind) as far:
        asked = calls(("mcp__far__echo", {"text": "hi"}))
        turn = await house.send(prompt(asked, step("ok")), until=is_a("permission_request"))
        assert far.called == []
        await granted(house, turn)
        assert "echo: hi" in turn.results()[0]
        assert far.called == [("echo", "hi")]
        assert entries(house, turn, RELAYED) == 1
        turn = await house.send(prompt(asked, step("ok")), until=is_a("permission_request"))
        await house.parts.approvals.answer(turn.end["id"], "denied")
        await turn.go_on()
        assert turn.end["type"] == "done"
        assert far.called == [("echo", "hi")]
        assert entries(house, turn, RELAYED) == 0


async def test_the_shell_in_the_sandbox_has_no_way_to_it(house: House) -> None:
    async with a_far_one(house) as far:
        url = far.entry["url"]
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(url)  # control: it answers a caller of this machine
        assert answer.is_client_error
        heard = len(far.heard)
        reach = f"""python3 -c 'import urllib.request as u; u.urlopen("{url}")' 2>&1 | tail -1"""
        look = (
            "(env; cat /run/trustfloor/*; cat /home/agent/.claude/*.json) 2>/dev/null"
            " | grep -a -c -e CANARY -e 127.0.0.1: ; ls /run/trustfloor"
        )
        turn = await house.send(prompt(in_shell(reach), in_shell(look), step("ok")))
        assert turn.end["type"] == "done", turn.end
        refused, found = turn.results()
        assert "unreachable" in refused or "refused" in refused
        assert found.splitlines()[0] == "0"
        assert "servers.json" not in found
        assert far.called == []
        assert len(far.heard) > heard  # the supervisor's own: greeted, thanked, listed


async def test_what_the_server_was_given_is_in_no_event_and_no_container(house: House) -> None:
    async with a_far_one(house) as far:
        asked = calls(("mcp__far__tell", {"text": "who am I?"}))
        turn = await house.send(prompt(asked, step("ok")), until=is_a("permission_request"))
        await granted(house, turn)
        assert far.authorization == f"Bearer {CANARY}"
        assert "it was: [redacted]" in turn.results()[0]
        assert CANARY not in json.dumps(turn.events)
        kept = [each for each in house.root.rglob("*") if each.is_file()]
        assert kept
        assert [each for each in kept if CANARY.encode() in each.read_bytes()] == []


async def test_a_program_that_speaks_for_the_agent_gets_no_call_out(house: House) -> None:
    async with a_far_one(house) as far:
        images.tag(images.hostile_image(), TAG)
        try:
            said = hostile("call_far", server="far", tool="echo")
            turn = await house.send("go", system_prompt=said)
        finally:
            images.tag(RUNNER_IMAGE, TAG)
        greeting, listing, call = [json.loads(event["content"]) for event in turn.of("text")]
        assert greeting["result"]["serverInfo"]["name"] == "far"  # control: its frames do arrive
        assert [each["name"] for each in listing["result"]["tools"]] == ["echo", "tell", "fail"]
        assert "nobody has allowed this call" in call["error"]["message"]
        assert far.called == []
        assert not any(b"smuggled" in each for each in far.heard)
        assert entries(house, turn, REFUSED) == 1
        assert "request_not_allowed" in {event["code"] for event in turn.of("warning")}


async def test_a_server_that_cannot_be_reached_costs_the_turn_itself_only(house: House) -> None:
    async with a_far_one(house):
        pass
    turn = await house.send("hello")
    assert turn.end["type"] == "done"
    (told,) = [event["message"] for event in turn.of("warning")]
    assert "the MCP server far can't be used: it can't be reached" in told
    assert CANARY not in str(turn.events)


async def test_one_that_is_not_allowed_there_is_not_called(house: House) -> None:
    async with a_far_server() as far:
        house.parts.mcp.save("far", {**far.entry, "headers": {"X-Other": "entry"}})
        turn = await house.send("hello")
        assert turn.end["type"] == "done"
        (warning,) = turn.of("warning")
        assert "--sandboxed" in warning["message"]
        assert far.heard == []
