"""What a sandbox says for its transcript is kept only in the form of the CLI (invariant 7)."""

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.ids import SessionId
from supervisor.runtimes import mirrored
from supervisor.runtimes.mirrored import Mirrored
from tests.worlds.transcript import entry

SESSION = SessionId("11111111-2222-4333-8444-555555555555")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(), below, max_size=3),
    max_leaves=8,
)
FIELDS = (
    "type", "uuid", "parentUuid", "sessionId", "timestamp", "isSidechain", "message", "cwd",
    "logicalParentUuid", "leafUuid", "sentAsUuid", "messageId",
)  # fmt: skip


def an_id() -> str:
    return str(uuid.uuid4())


def said(role: str, content: Any, **changes: Any) -> dict[str, Any]:
    return {**entry(SESSION, role, content), **changes}


def test_a_conversation_as_the_cli_writes_it_is_kept_whole() -> None:
    first, second, third = an_id(), an_id(), an_id()
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
    note = {**said("user", ""), "type": "attachment", "attachment": {"type": "session_context"}}
    boundary = {**said("user", ""), "type": "system", "subtype": "compact_boundary"}
    entries = [
        {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION},
        said("user", "hello", uuid=first),
        {**note, "parentUuid": first},
        said("assistant", [{"type": "thinking", "thinking": "…"}, call], uuid=second,
             parentUuid=first),
        said("user", [result], uuid=third, parentUuid=second),
        said("assistant", [{"type": "a_block_of_tomorrow", "x": 1}], parentUuid=third),
        {**boundary, "logicalParentUuid": third},
        {"type": "last-prompt", "leafUuid": third, "sessionId": SESSION},
        {"type": "a-kind-of-tomorrow", "anything": [{}]},
    ]  # fmt: skip
    target = Mirrored(SESSION, "/projects")
    assert [target.takes(each, None) for each in entries] == [True] * len(entries)


def test_a_turn_goes_on_from_entries_of_the_turn_before() -> None:
    assert Mirrored(SESSION, "/projects").takes(said("user", "x", parentUuid=an_id()), None)


@pytest.mark.parametrize(
    "changes",
    [
        {"type": None}, {"type": ["user"]}, {"type": "User"}, {"type": "x" * 65},
        {"uuid": None}, {"uuid": "u"}, {"uuid": 5}, {"uuid": ""},
        {"parentUuid": "loop"}, {"parentUuid": {}}, {"leafUuid": True},
        {"sessionId": None}, {"sessionId": 7},
        {"timestamp": None}, {"timestamp": "yesterday"}, {"timestamp": 10**30},
        {"isSidechain": None}, {"isSidechain": "no"}, {"cwd": 5}, {"version": []},
        {"message": 5}, {"message": None}, {"message": {"role": "user"}},
        {"message": {"role": "assistant", "content": "x"}},
        {"message": {"role": "user", "content": [None]}},
        {"message": {"role": "user", "content": [{"type": None}]}},
        {"message": {"role": "user", "content": [{"type": "text", "text": 5}]}},
        {"message": {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}},
        {"message": {"role": "user", "content": "x", "usage": []}},
        {"type": "attachment"}, {"type": "attachment", "attachment": {"type": 5}},
    ],
    ids=repr,
)  # fmt: skip
def test_an_entry_that_contradicts_its_form_is_left_out(changes: dict[str, Any]) -> None:
    target = Mirrored(SESSION, "/projects")
    assert not target.takes(said("user", "x", **changes), None)
    assert target.takes(said("user", "x"), None)


def test_no_id_is_written_twice_and_none_in_the_place_of_another() -> None:
    first = an_id()
    target = Mirrored(SESSION, "/projects")
    assert target.takes(said("user", "x", uuid=first), None)
    assert not target.takes(said("user", "another", uuid=first), None)
    assert not target.takes(said("user", "another", sentAsUuid=first), None)
    assert target.takes(said("user", "x", uuid=first), "subagents/agent-a")


def test_no_entry_follows_on_itself_or_on_one_that_comes_later() -> None:
    first, second = an_id(), an_id()
    target = Mirrored(SESSION, "/projects")
    assert not target.takes(said("user", "x", uuid=first, parentUuid=first), None)
    assert target.takes(said("user", "x", uuid=first, parentUuid=second), None)
    assert not target.takes(said("user", "x", uuid=second, parentUuid=first), None)
    assert not target.takes(said("user", "x", sentAsUuid=second, parentUuid=first), None)


def test_a_turn_writes_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrored, "MOST_ENTRIES", 2)
    target = Mirrored(SESSION, "/projects")
    assert target.takes(said("user", "x"), None)
    assert not target.is_full
    assert target.takes({"type": "tag"}, "subagents/agent-a")
    assert target.is_full


@given(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4))
def test_whatever_an_entry_holds_it_is_taken_or_left_out(changes: dict[str, Any]) -> None:
    target = Mirrored(SESSION, "/projects")
    taken = target.takes(said("user", "x", **changes), None)
    assert isinstance(taken, bool)
