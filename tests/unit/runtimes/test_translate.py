"""What a frame of the CLI's output means, and that none makes the translator raise."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.events.schema import (
    InitEvent,
    ModelEvent,
    TextEvent,
    ToolResultEvent,
    ToolUseEvent,
    WarningEvent,
)
from supervisor.runtimes import translate
from supervisor.runtimes.contract import RunResult
from supervisor.runtimes.translate import Translator
from supervisor.sessions.spoken import spoken


def said(*frames: dict[str, Any]) -> list[object]:
    translator = Translator()
    return [event for frame in frames for event in translator.translate(frame)]


def delta(text: str, parent: str | None = None) -> dict[str, Any]:
    event = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": parent}


def answer(*blocks: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": list(blocks)}, "parent_tool_use_id": parent}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_streamed_text_comes_once_and_its_block_closes_with_the_whole() -> None:
    events = said(
        delta("Hel"), delta("lo"), answer(text("Hello")), delta("Bye"), answer(text("Bye"))
    )
    assert events == [
        TextEvent(delta="Hel", block=0),
        TextEvent(delta="lo", block=0),
        TextEvent(delta="", content="Hello", block=0),
        TextEvent(delta="Bye", block=1),
        TextEvent(delta="", content="Bye", block=1),
    ]


def test_text_that_was_not_streamed_comes_with_its_block() -> None:
    assert said(answer(text("Hello"))) == [TextEvent(delta="Hello", content="Hello", block=0)]


def test_the_deltas_add_up_to_the_text_when_the_stream_was_cut() -> None:
    events = said(delta("Hel"), answer(text("Hello")))
    assert "".join(e.delta for e in events if isinstance(e, TextEvent)) == "Hello"


def test_a_sub_agents_text_is_not_the_answers() -> None:
    assert said(delta("x", parent="toolu_1"), answer(text("x"), parent="toolu_1")) == []


def test_a_sub_agents_tool_calls_name_it() -> None:
    block = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
    (event,) = said(answer(block, parent="toolu_1"))
    assert isinstance(event, ToolUseEvent)
    assert event.agent == "toolu_1"


def test_a_tool_result_is_flat_text_and_other_parts_are_named() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "image", "source": {}}]
    block = {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": True}
    assert said({"type": "user", "message": {"content": [block]}}) == [
        ToolResultEvent(tool_use_id="t", content="a\n[image]", is_error=True)
    ]


def test_an_endless_tool_result_is_cut_and_says_so() -> None:
    content = "x" * (translate.MAX_RESULT_CHARS + 5)
    block = {"type": "tool_result", "tool_use_id": "t", "content": content}
    (event,) = said({"type": "user", "message": {"content": [block]}})
    assert isinstance(event, ToolResultEvent)
    assert event.content.endswith("[5 characters left out]")


def test_a_second_init_says_nothing_again() -> None:
    init = {"type": "system", "subtype": "init", "model": "m", "tools": ["Bash"]}
    assert [type(event) for event in said(init, init)] == [ModelEvent, InitEvent]


def test_a_retry_of_the_model_is_a_warning() -> None:
    (event,) = said({"type": "system", "subtype": "api_retry", "error_status": 529})
    assert isinstance(event, WarningEvent)
    assert "529" in event.message


def test_a_result_with_an_error_says_which() -> None:
    (result,) = said(
        {"type": "result", "is_error": True, "errors": ["boom"], "api_error_status": 429}
    )
    assert isinstance(result, RunResult)
    assert (result.error, result.error_status) == ("boom", 429)


_KEYS = st.sampled_from(
    ["type", "message", "content", "event", "delta", "text", "tools", "mcp_servers", "errors", "x"]
)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=10,
)
_KINDS = st.sampled_from(["assistant", "user", "system", "stream_event", "result", "?"])


@given(_KINDS, st.dictionaries(_KEYS | st.sampled_from(["subtype", "usage"]), _ANY))
def test_no_frame_makes_the_translator_raise(kind: str, rest: dict[str, Any]) -> None:
    said({**rest, "type": kind}, {**rest, "type": kind, "subtype": "init"})


@pytest.mark.parametrize(
    ("status", "says"),
    [("failed", "did not start"), ("needs-auth", "login"), ("pending", "not answered")],
)
def test_a_server_that_the_turn_has_to_do_without_is_a_warning(status: str, says: str) -> None:
    servers = [
        {"name": "n" * 1000, "status": status},
        {"name": "good", "status": "connected"},
        {"name": "odd", "status": []},
        None,
    ]
    frame = {"type": "system", "subtype": "init", "mcp_servers": servers}
    (warning,) = [each for each in said(frame) if isinstance(each, WarningEvent)]
    assert says in warning.message
    assert len(warning.message) < 300


def test_a_server_whose_failure_was_told_is_not_told_of_again() -> None:
    servers = [{"name": name, "status": "failed"} for name in ("far", "near")]
    translator = Translator("", {"far"})
    events = translator.translate({"type": "system", "subtype": "init", "mcp_servers": servers})
    (warning,) = [each for each in events if isinstance(each, WarningEvent)]
    assert "server near did" in warning.message


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("PreToolUse:Read hook error: `.env` is denied", "refused: `.env` is denied"),
        ("PreToolUse:mcp__a__b hook error: no", "refused: no"),
        ("cat: no such file", "cat: no such file"),
        ("said\nPreToolUse:Read hook error: no", "said\nPreToolUse:Read hook error: no"),
    ],
)  # fmt: skip
def test_a_refusal_reads_as_one_live_and_later(content: str, told: str) -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": True}
    frame = {"type": "user", "message": {"role": "user", "content": [block]}}
    assert said(frame) == [ToolResultEvent(tool_use_id="t", content=told, is_error=True)]
    kept = spoken(frame)
    assert kept is not None
    assert kept.blocks[0]["content"] == told
    # What a tool gave that did its work is told as it is.
    fine = {"type": "user", "message": {"role": "user", "content": [{**block, "is_error": False}]}}
    assert said(fine) == [ToolResultEvent(tool_use_id="t", content=content)]
