"""Exports are read by what they hold; what of them is broken costs itself only."""

import io
import json
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.errors import InvalidRequest
from supervisor.ids import is_session_id
from supervisor.imports import reading
from supervisor.imports.conversation import Conversation, Read
from supervisor.imports.reading import read_export
from supervisor.storage.session_source import SessionSource

ID = "0b6f7a52-6a0b-4d0e-9a2d-2a4c5f3e7b11"


def claude(**more: Any) -> dict[str, Any]:
    return {
        "uuid": ID,
        "name": "Plans",
        "created_at": "2025-03-01T10:00:00.5Z",
        "updated_at": "2025-03-02T10:00:00Z",
        "chat_messages": [
            {"uuid": "1", "sender": "human", "text": "hello", "created_at": "2025-03-01T10:00:00Z"},
            {
                "uuid": "2",
                "sender": "assistant",
                "text": "",
                "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hi"}],
            },
        ],
        **more,
    }


def node(parent: str | None, role: str, *parts: Any, **message: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": list(parts)}
    return {
        "parent": parent,
        "children": [],
        "message": {"author": {"role": role}, "content": content, **message},
    }


def chatgpt(**more: Any) -> dict[str, Any]:
    mapping = {
        "root": {"parent": None, "children": ["s"], "message": None},
        "s": node("root", "system", "be kind"),
        "q": node("s", "user", "what?", create_time=1740000000.25),
        "other": node("q", "assistant", "BRANCH"),
        "hidden": node(
            "q", "user", "HIDDEN", metadata={"is_visually_hidden_from_conversation": True}
        ),
        "tool": node("hidden", "assistant", "TO-A-TOOL", recipient="python"),
        "a": node("tool", "assistant", {"content_type": "image_asset_pointer"}, "that"),
    }
    return {
        "title": "Questions",
        "create_time": 1740000000.0,
        "update_time": 1740000100.0,
        "conversation_id": ID,
        "mapping": mapping,
        "current_node": "a",
        **more,
    }


def code(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"sessionId": ID, **each}).encode() + b"\n" for each in records)


CODE = (
    {"type": "summary", "summary": "Mend the build", "leafUuid": "x"},
    {
        "type": "user",
        "cwd": "/home/ada/project",
        "timestamp": "2025-03-01T10:00:00Z",
        "message": {"role": "user", "content": "mend it"},
    },
    {
        "type": "assistant",
        "timestamp": "2025-03-01T10:01:00Z",
        "message": {
            "model": "m",
            "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "x"}}],
        },
    },
    {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]},
    },
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "done"}]}},
)  # fmt: skip


def read(document: object) -> Read:
    return read_export("conversations.json", json.dumps(document).encode())


def words(conversation: Conversation) -> list[tuple[str, str]]:
    return [
        (said.role, block["text"])
        for said in conversation.said
        for block in said.blocks
        if block["type"] == "text"
    ]


def zipped(**files: bytes) -> bytes:
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return into.getvalue()


def test_an_export_of_claude_is_read() -> None:
    (found,) = read([claude()]).conversations
    assert (found.source, found.session_id, found.title) == (SessionSource.CLAUDE, ID, "Plans")
    assert words(found) == [("user", "hello"), ("assistant", "hi")]
    assert found.said[0].timestamp == "2025-03-01T10:00:00.000000+00:00"
    assert (found.created, found.updated) == (1740823200.5, 1740909600.0)


def test_an_export_of_chatgpt_is_read_along_its_current_branch_without_what_is_hidden() -> None:
    (found,) = read([chatgpt()]).conversations
    assert (found.source, found.session_id) == (SessionSource.CHATGPT, ID)
    assert words(found) == [("user", "what?"), ("assistant", "[image_asset_pointer]\n\nthat")]


@pytest.mark.parametrize("current", [None, "gone", 7, ["a"]])
def test_without_a_current_node_the_latest_leaf_is_taken(current: object) -> None:
    mapping = {
        "q": node(None, "user", "what?"),
        "a": node("q", "assistant", "x", create_time=1.8e9),
    }
    mapping["q"]["children"] = ["a"]
    (found,) = read([chatgpt(mapping=mapping, current_node=current)]).conversations
    assert words(found) == [("user", "what?"), ("assistant", "x")]


def test_a_transcript_of_claude_code_is_read_with_its_tool_calls() -> None:
    (found,) = read_export("x.jsonl", code(*CODE)).conversations
    assert (found.source, found.session_id) == (SessionSource.CLAUDE_CODE, ID)
    assert (found.title, found.cwd) == ("Mend the build", "/home/ada/project")
    kinds = [block["type"] for said in found.said for block in said.blocks]
    assert kinds == ["text", "tool_use", "tool_result", "text"]


def test_an_archive_is_read_whatever_its_entries_are_called() -> None:
    content = zipped(
        **{
            "../../etc/conversations.json": json.dumps([claude()]).encode(),
            "/abs/x.jsonl": code(*CODE),
            "users.json": b"[1]",
            "__MACOSX/._conversations.json": b"x",
        }
    )
    found = read_export("export.zip", content)
    assert [each.source for each in found.conversations] == [
        SessionSource.CLAUDE,
        SessionSource.CLAUDE_CODE,
    ]
    assert found.broken == ()


def test_a_circle_of_messages_is_told_with_its_place_and_the_others_are_read() -> None:
    circle = {"a": node("b", "user", "x"), "b": node("a", "user", "y")}
    found = read([claude(), chatgpt(mapping=circle), 7, {"mapping": []}, chatgpt()])
    assert len(found.conversations) == 2
    assert [(each.place, each.reason) for each in found.broken] == [
        ("conversations.json[1]", "its messages lead in a circle"),
        ("conversations.json[2]", "this is no conversation of a known kind"),
        ("conversations.json[3]", "its mapping is no object"),
    ]


@pytest.mark.parametrize(
    "time", ["yesterday", "0001-01-01T00:00:00+23:59", -1e300, 1e300, True, [], 10**400, "9999"]
)
def test_a_time_that_can_not_be_is_none(time: object) -> None:
    (found,) = read([claude(created_at=time, updated_at=time)]).conversations
    assert (found.created, found.updated) == (None, None)


def test_half_a_surrogate_pair_and_bytes_that_are_no_utf_8_spoil_only_their_text() -> None:
    content = json.dumps([claude(name="x\ud800y"), claude(uuid="b", name="z")]).encode()
    found = read_export("c.json", content.replace(b'"z"', b'"z\xff"'))
    assert [each.title for each in found.conversations] == ["x?y", "z\ufffd"]


def test_a_huge_message_is_cut_and_a_torn_line_told() -> None:
    (found,) = read(
        [claude(chat_messages=[{"sender": "human", "text": "x" * 3_000_000}])]
    ).conversations
    assert len(words(found)[0][1]) < 1_100_000
    torn = read_export("x.jsonl", code(*CODE) + b'{"type": "us')
    assert len(torn.conversations) == 1
    assert torn.broken[0].place == "x.jsonl:6"


def test_an_archive_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_UNPACKED", 3_000_000)
    bomb = zipped(**{"conversations.json": b" " * 4_000_000})
    assert len(bomb) < 10_000
    with pytest.raises(InvalidRequest, match="unpacks to too much"):
        read_export("bomb.zip", bomb)


def test_a_damaged_entry_of_an_archive_is_told_and_the_others_are_read() -> None:
    whole = zipped(
        **{"a.jsonl": code(*CODE), "conversations.json": json.dumps([claude()]).encode()}
    )
    found = read_export("x.zip", whole[:60] + b"\xff\xff\xff\xff" + whole[64:])
    assert [each.source for each in found.conversations] == [SessionSource.CLAUDE]
    assert [each.place for each in found.broken] == ["a.jsonl"]


def test_a_transcript_between_agents_is_no_session_and_no_fault() -> None:
    between = [{**each, "isSidechain": True} for each in CODE]
    found = read_export("x.zip", zipped(**{"a.jsonl": code(*between), "b.jsonl": code(*CODE)}))
    assert (len(found.conversations), found.broken) == (1, ())


def test_an_empty_archive_holds_nothing() -> None:
    with pytest.raises(InvalidRequest, match="no conversation"):
        read_export("x.zip", zipped(**{"readme.txt": b"x"}))
    with pytest.raises(InvalidRequest, match="can't be read"):
        read_export("x.zip", b"PK\x03\x04 and no more")


def test_what_has_no_id_of_ours_has_always_the_same_one() -> None:
    one, again, other = (
        read([chatgpt(conversation_id=given)]).conversations[0].session_id
        for given in ("chat-1", "chat-1", "chat-2")
    )
    assert is_session_id(one)
    assert one == again != other
    nameless = [read([claude(uuid=None)]).conversations[0].session_id for _ in range(2)]
    assert nameless[0] == nameless[1]


def test_input_too_deep_to_be_written_down_is_left_out() -> None:
    deep: Any = 1
    for _ in range(248):
        deep = [deep]
    call = {"type": "tool_use", "id": "t", "name": "x", "input": deep}
    record = {"type": "assistant", "message": {"content": [call]}}
    (found,) = read_export("x.jsonl", code(record)).conversations
    assert found.said[0].blocks[0]["input"] == {}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)  # fmt: skip
KEYS = sorted(
    {*claude(), *chatgpt(), *claude()["chat_messages"][1], *chatgpt()["mapping"]["q"]}
    | {"author", "content", "role", "parts", "type", "sessionId", "cwd", "attachments", "files"}
)


def spoiled(data: st.DataObject, document: Any) -> Any:
    """The document with values of any kind in some of its places."""
    if data.draw(st.integers(0, 7)) == 0:
        return data.draw(VALUES | st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3))
    if isinstance(document, dict):
        return {key: spoiled(data, value) for key, value in document.items()}
    if isinstance(document, list):
        return [spoiled(data, value) for value in document]
    return document


@given(st.data())
def test_whatever_stands_where_in_an_export_it_is_read_or_told(data: st.DataObject) -> None:
    documents = [spoiled(data, claude()), spoiled(data, chatgpt()), claude(uuid="sound")]
    found = read(documents)
    assert len(found.conversations) + len(found.broken) == 3
    assert any(each.title == "Plans" for each in found.conversations)


@given(st.data())
def test_whatever_stands_where_in_a_transcript_it_is_read_or_told(data: st.DataObject) -> None:
    lines = [json.dumps(spoiled(data, each)).encode() for each in CODE]
    found = read_export("x.jsonl", b"\n".join([*lines, code(CODE[-1])]))
    assert len(found.conversations) == 1


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda end: b"PK\x03\x04" + end))
def test_any_bytes_are_told_to_be_broken(content: bytes) -> None:
    try:
        found = read_export("x", content)
    except InvalidRequest:
        return
    assert found.conversations == ()
    assert found.broken
