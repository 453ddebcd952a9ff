"""The egress of a sandbox, spoken to as an agent's program does: real servers, both transports."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from supervisor.mcp.chosen import Far
from supervisor.mcp.far import MOST_GREETINGS
from supervisor.mcp.relay import MOST_REFUSALS, REFUSED, RELAYED, Relay
from supervisor.mcp.server_entry import read_entry
from supervisor.policy.mcp_names import tool_name
from tests.worlds.far_servers import KINDS, Kind, a_far_server
from tests.worlds.waiting import until

SECRET = "CANARY-known-to-the-server-0123456789"
HEADERS = {"Authorization": "Bearer ${T}"}


@dataclass
class Talk:
    """A relay to servers, and what it entered into the audit log."""

    relay: Relay
    entered: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    asked: int = 0

    async def ask(self, method: str, server: str = "s", **params: Any) -> Mapping[str, Any]:
        """The whole answer to a request."""
        self.asked = number = self.asked + 1
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        answered = await self.relay.answer(server, message)
        if answered.trouble is not None:
            self.troubles.append(answered.trouble)
        assert answered.reply is not None
        assert answered.reply["id"] == number
        return answered.reply

    async def meet(self) -> list[str]:
        """Greet the server as the program does; the names of its tools."""
        about = await self.ask("initialize", protocolVersion="2025-06-18")
        assert about["result"]["instructions"] == "Ask it politely."
        listed = await self.ask("tools/list")
        return [each["name"] for each in listed["result"]["tools"]]

    async def call(self, tool: str, text: str, *, permitted: bool = True) -> Mapping[str, Any]:
        """Call a tool, with a permit or without."""
        if permitted:
            self.relay.permit(tool_name("s", tool), {"text": text})
        return await self.ask("tools/call", name=tool, arguments={"text": text})


@asynccontextmanager
async def a_talk(**entries: dict[str, Any]) -> AsyncIterator[Talk]:
    given = {
        name: Far(read_entry(name, entry).given({"T": SECRET}), frozenset({SECRET}))
        for name, entry in entries.items()
    }
    entered: list[tuple[str, dict[str, Any]]] = []

    async def record(kind: str, body: dict[str, Any]) -> None:
        entered.append((kind, body))

    talk = Talk(Relay(given, record), entered)
    async with talk.relay.open():
        yield talk


def text_of(answer: Mapping[str, Any]) -> str:
    (block,) = answer["result"]["content"]
    return str(block["text"])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_permitted_call_is_answered_and_entered_into_the_audit_log(kind: Kind) -> None:
    async with a_far_server(kind) as far, a_talk(s=far.entry) as talk:
        assert await talk.meet() == ["echo", "tell", "fail"]
        assert text_of(await talk.call("echo", "hi")) == "echo: hi"
        assert far.called == [("echo", "hi")]
    ((kind_of_entry, body),) = talk.entered
    assert kind_of_entry == RELAYED
    assert (body["server"], body["tool"]) == ("s", "mcp__s__echo")
    assert far.entry["url"].startswith(body["origin"])
    assert "hi" not in body.values()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_without_a_permit_reaches_nobody(kind: Kind) -> None:
    async with a_far_server(kind) as far, a_talk(s=far.entry) as talk:
        await talk.meet()
        before = len(far.heard)
        answer = await talk.call("echo", "smuggled", permitted=False)
        assert "nobody has allowed this call" in answer["error"]["message"]
        talk.relay.permit("mcp__s__echo", {"text": "allowed"})
        for tool, text in (("echo", "smuggled"), ("tell", "allowed"), ("echo", "allowed ")):
            assert "error" in await talk.call(tool, text, permitted=False)
        assert "error" in await talk.ask(
            "tools/call", name="echo", arguments={"text": "allowed", "more": "smuggled"}
        )
        assert far.called == []
        assert len(far.heard) == before
        assert text_of(await talk.call("echo", "allowed", permitted=False)) == "echo: allowed"
        assert "error" in await talk.call("echo", "allowed", permitted=False)
        assert far.called == [("echo", "allowed")]
    assert [each for each, _ in talk.entered].count(REFUSED) == 6


async def test_nothing_but_what_the_supervisor_makes_goes_out() -> None:
    """Each message may be full of an agent's words: none of them reaches the server."""
    words = "SMUGGLED-0123456789"
    async with a_far_server() as far, a_talk(s=far.entry) as talk:
        client = {"name": words, "version": words}
        for _ in range(3):
            await talk.ask(
                "initialize", protocolVersion=words, clientInfo=client, capabilities={words: {}}
            )
            await talk.ask("tools/list", cursor=words, _meta={words: words})
        talk.relay.permit("mcp__s__echo", {"text": "hi"})
        await talk.ask(
            "tools/call", name="echo", arguments={"text": "hi"}, _meta={words: words}, task=words
        )
        for method in (
            "resources/list", "resources/read", "prompts/get", "completion/complete",
            "logging/setLevel", "tasks/list", words,
        ):  # fmt: skip
            assert "error" in await talk.ask(method, uri=words, name=words)
        for message in (
            {"method": "notifications/cancelled", "params": {"requestId": words}},
            {"method": "notifications/progress", "params": {"progressToken": words}},
            {"id": words, "result": {words: words}},
            {"id": True, "method": "tools/list"},
            {"id": {words: words}, "method": "tools/list"},
        ):
            assert (await talk.relay.answer("s", message)).reply is None
        assert (await talk.ask("ping"))["result"] == {}
        assert far.called == [("echo", "hi")]
        assert not any(words.encode() in each for each in far.heard)


async def test_how_often_an_agent_asks_tells_the_server_nothing() -> None:
    async with a_far_server() as far, a_talk(s=far.entry) as talk:
        await talk.meet()
        before = len(far.heard)
        for _ in range(20):
            await talk.meet()
        assert len(far.heard) == before
    async with a_talk(s={"type": "http", "url": "http://127.0.0.1:1/"}) as talk:
        answers = [await talk.ask("initialize") for _ in range(MOST_GREETINGS + 3)]
        assert all("error" in each for each in answers)
        assert "times in this turn" in answers[-1]["error"]["message"]
        assert len(talk.troubles) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_what_the_server_was_given_does_not_come_back(kind: Kind) -> None:
    async with a_far_server(kind, headers=HEADERS) as far, a_talk(s=far.entry) as talk:
        await talk.meet()
        answer = await talk.call("tell", "who am I?")
        assert far.authorization == f"Bearer {SECRET}"  # control: it did get it
        assert text_of(answer) == "it was: Bearer [redacted]"


async def test_a_tool_that_fails_is_the_agents_to_know() -> None:
    async with a_far_server() as far, a_talk(s=far.entry) as talk:
        await talk.meet()
        answer = await talk.call("fail", "x")
        assert answer["result"]["isError"] is True
        assert far.called == [("fail", "x")]
    async with a_talk(s=far.entry) as talk:
        answer = await talk.ask("initialize")
        assert "can't be reached" in answer["error"]["message"]
        assert len(talk.troubles) == 1
        assert SECRET not in str(answer)


@pytest.mark.parametrize("kind", KINDS)
async def test_many_calls_at_once_each_get_their_own_answer(kind: Kind) -> None:
    async with a_far_server(kind) as far, a_talk(s=far.entry) as talk:
        await talk.meet()
        answers = await asyncio.gather(*(talk.call("echo", str(i)) for i in range(30)))
        assert [text_of(each) for each in answers] == [f"echo: {i}" for i in range(30)]
        assert len(far.called) == 30


async def test_a_permit_for_one_server_opens_no_other() -> None:
    async with (
        a_far_server() as first,
        a_far_server() as second,
        a_talk(s=first.entry, t=second.entry) as talk,
    ):
        await talk.meet()
        await talk.ask("tools/list", server="t")
        talk.relay.permit("mcp__s__echo", {"text": "hi"})
        given = {"name": "echo", "arguments": {"text": "hi"}}
        assert "error" in await talk.ask("tools/call", server="t", **given)
        assert "error" not in await talk.ask("tools/call", server="s", **given)
        assert (len(first.called), len(second.called)) == (1, 0)


async def test_refusals_without_end_do_not_fill_the_audit_log() -> None:
    async with a_far_server() as far, a_talk(s=far.entry) as talk:
        await talk.meet()
        for i in range(MOST_REFUSALS + 20):
            await talk.call("echo", str(i), permitted=False)
    assert len(talk.entered) == MOST_REFUSALS


async def test_where_the_audit_log_fails_nothing_goes_out() -> None:
    async def record(_kind: str, _body: dict[str, Any]) -> None:
        raise OSError("the disk is full")

    async with a_far_server() as far:
        relay = Relay({"s": Far(read_entry("s", far.entry).given({}))}, record)
        async with relay.open():
            talk = Talk(relay)
            await talk.meet()
            answer = await talk.call("echo", "hi")
        assert "error" in answer
        assert "disk" not in str(answer)
        assert far.called == []


async def test_hanging_up_leaves_no_connection() -> None:
    async with a_far_server("sse") as far:
        async with a_talk(s=far.entry) as talk:
            await talk.meet()
            assert far.open == 1
        await until(lambda: not far.open)
