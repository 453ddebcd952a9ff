"""A transcript's record → what was said, in a form that clients are shown. Pure.

Records of kinds that aren't known say nothing; so do those of sub-agents and of the CLI's own
book-keeping.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from supervisor.events.refusal import in_plain_words
from supervisor.sessions.memory import without_earlier

Role = Literal["user", "assistant", "summary"]

LONGEST_TEXT: Final = 1_000_000
"""Characters of one block that are shown."""
_CUT: Final = "… [cut]"
_HIDDEN: Final = ("isMeta", "isSidechain", "isVisibleInTranscriptOnly")


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message, or a part of one: parts of a message have the same `id`.

    `blocks` are documents by `type`: text, thinking, tool_use, tool_result, image. `timestamp` is
    as the record has it, or empty.
    """

    id: str
    role: Role
    blocks: tuple[Mapping[str, Any], ...]
    timestamp: str = ""
    model: str | None = None

    @property
    def text(self) -> str:
        """What was said in words."""
        return "\n\n".join(each["text"] for each in self.blocks if each["type"] == "text")


def spoken(record: Mapping[str, Any]) -> Spoken | None:
    """What a record says; None if it is no message."""
    role = record.get("type")
    message = record.get("message")
    if role not in ("user", "assistant") or not isinstance(message, Mapping):
        return None
    if any(record.get(key) is True for key in _HIDDEN):
        return None
    blocks = tuple(_blocks(message.get("content")))
    if not blocks:
        return None
    model = message.get("model")
    known = message.get("id") if role == "assistant" else None
    return Spoken(
        id=_text(known) or _text(record.get("uuid")),
        role="summary" if record.get("isCompactSummary") is True else role,
        blocks=blocks,
        timestamp=_text(record.get("timestamp")),
        model=model if isinstance(model, str) else None,
    )


def are_one(one: Spoken, other: Spoken) -> bool:
    """Whether two neighbouring parts belong to one message."""
    return bool(one.id) and (one.id, one.role) == (other.id, other.role)


def whole(parts: Sequence[Spoken]) -> Spoken:
    """The parts of one message, the last one first, as that message."""
    last, first = parts[0], parts[-1]
    return Spoken(
        last.id,
        last.role,
        tuple(block for each in reversed(parts) for block in each.blocks),
        first.timestamp,
        next((each.model for each in parts if each.model), None),
    )


def _blocks(content: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(content, str):
        if content:
            yield {"type": "text", "text": _short(without_earlier(content))}
        return
    for each in content if isinstance(content, list) else ():
        if isinstance(each, Mapping):
            block = _block(each)
            if block is not None:
                yield block


def _block(block: Mapping[str, Any]) -> Mapping[str, Any] | None:
    match block.get("type"):
        case "text":
            text = without_earlier(_text(block.get("text")))
            return {"type": "text", "text": _short(text)} if text else None
        case "thinking":
            return {"type": "thinking", "thinking": _short(_text(block.get("thinking")))}
        case "tool_use":
            return {
                "type": "tool_use",
                "id": _text(block.get("id")),
                "name": _text(block.get("name")),
                "input": block.get("input"),
            }
        case "tool_result":
            content = _short(_plain(block.get("content")))
            is_error = block.get("is_error") is True
            return {
                "type": "tool_result",
                "toolUseId": _text(block.get("tool_use_id")),
                "content": in_plain_words(content) if is_error else content,
                "isError": is_error,
            }
        case "image":
            return {"type": "image"}
        case _:
            return None


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [_text(each.get("text")) for each in parts if isinstance(each, Mapping)]
    return "\n".join(text for text in texts if text)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + _CUT
