"""Reads one transcript of Claude Code: a session's records, of which only what is known is kept.

Pure. Records come out of it made anew: nothing of the file but words, tool calls and their results.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from supervisor.imports.conversation import Conversation, Unreadable, id_of
from supervisor.imports.fields import iso, listed, mapping, moment, text, title
from supervisor.sessions.brought import Words, text_block
from supervisor.sessions.spoken import spoken
from supervisor.storage.session_source import SessionSource

_TITLES: Final = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Kinds of record that name the session, and the key that has the name; the first ones win."""
_LARGEST_INPUT: Final = 256 * 1024
"""Bytes of a tool call's input that are kept."""
_TITLE_CHARS: Final = 80


def is_claude_code(record: Mapping[str, Any]) -> bool:
    """Whether this is a record of such a transcript."""
    return isinstance(record.get("type"), str) and (
        "sessionId" in record or "leafUuid" in record or "uuid" in record
    )


def is_of_subagent(records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all that is said in it is between agents."""
    said = [each for each in records if each.get("type") in ("user", "assistant")]
    return bool(said) and all(each.get("isSidechain") is True for each in said)


def read_claude_code(records: Sequence[Mapping[str, Any]], place: str) -> Conversation:
    """The session. Raises Unreadable."""
    said = tuple(_said(records))
    if not said:
        raise Unreadable("nothing is said in it")
    given = next((found for each in records if (found := text(each.get("sessionId"), 200))), None)
    times = [when for each in records if (when := moment(each.get("timestamp"))) is not None]
    return Conversation(
        source=SessionSource.CLAUDE_CODE,
        session_id=id_of(SessionSource.CLAUDE_CODE, given, said[0].timestamp, _first_words(said)),
        place=place,
        title=_title(records) or title(_first_words(said)[:_TITLE_CHARS]),
        said=said,
        created=min(times, default=None),
        updated=max(times, default=None),
        cwd=next((found for each in records if (found := text(each.get("cwd"), 4096))), None),
    )


def _said(records: Sequence[Mapping[str, Any]]) -> Iterator[Words]:
    for record in records:
        message = spoken(record)
        if message is None:
            continue
        content = mapping(record.get("message")).get("content")
        parts = [text_block(text(content))] if isinstance(content, str) else listed(content)
        blocks = tuple(block for part in parts if (block := _block(mapping(part))) is not None)
        if blocks:
            yield Words(
                role="assistant" if message.role == "assistant" else "user",
                blocks=blocks,
                timestamp=iso(moment(record.get("timestamp"))),
                model=text(message.model, 200) or None,
            )


def _block(block: Mapping[str, Any]) -> Mapping[str, Any] | None:
    match block.get("type"):
        case "text":
            said = text(block.get("text"))
            return text_block(said) if said.strip() else None
        case "tool_use":
            return {
                "type": "tool_use",
                "id": text(block.get("id"), 200),
                "name": text(block.get("name"), 200),
                "input": _input(block.get("input")),
            }
        case "tool_result":
            return {
                "type": "tool_result",
                "tool_use_id": text(block.get("tool_use_id"), 200),
                "content": _result(block.get("content")),
                "is_error": block.get("is_error") is True,
            }
        case "image":
            return {"type": "image"}
        case _:
            return None


def _input(value: object) -> object:
    """The input as it is, if it can be written down again."""
    try:
        # As deep as it will lie: the writer's depth has a bound.
        written = orjson.dumps([[[[[[[[value]]]]]]]])
    except TypeError:  # orjson's word for all that it can't write
        return {}
    return value if len(written) <= _LARGEST_INPUT else {}


def _result(content: object) -> str:
    if isinstance(content, str):
        return text(content)
    return text("\n".join(text(mapping(each).get("text")) for each in listed(content)))


def _title(records: Sequence[Mapping[str, Any]]) -> str | None:
    for kind, key in _TITLES.items():
        for record in reversed(records):
            if record.get("type") == kind:
                named = title(record.get(key))
                if named is not None:
                    return named
    return None


def _first_words(said: Sequence[Words]) -> str:
    texts = (str(each["text"]) for words in said for each in words.blocks if each["type"] == "text")
    return next(texts, "")
