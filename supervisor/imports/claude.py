"""Reads one conversation of Claude's web export. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from supervisor.imports.conversation import Conversation, Unreadable, id_of
from supervisor.imports.fields import listed, mapping, moment, plain_words, text, title
from supervisor.sessions.brought import Words
from supervisor.storage.session_source import SessionSource

_PERSON: Final = "human"
_SPEAKERS: Final = (_PERSON, "assistant")


def is_claude(document: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of that export."""
    return "chat_messages" in document


def read_claude(document: Mapping[str, Any], place: str) -> Conversation:
    """The conversation. Raises Unreadable."""
    messages = document.get("chat_messages")
    if not isinstance(messages, list):
        raise Unreadable("its chat_messages are no list")
    said = tuple(_said(messages))
    if not said:
        raise Unreadable("nothing is said in it")
    named = title(document.get("name"))
    created = document.get("created_at")
    first = said[0].blocks[0]["text"]
    return Conversation(
        source=SessionSource.CLAUDE,
        session_id=id_of(
            SessionSource.CLAUDE, text(document.get("uuid"), 200), text(created, 100), first
        ),
        place=place,
        title=named,
        said=said,
        created=moment(created),
        updated=moment(document.get("updated_at")),
    )


def _said(messages: list[Any]) -> Iterator[Words]:
    for each in messages:
        message = mapping(each)
        if message.get("sender") in _SPEAKERS:
            words = plain_words(
                message["sender"] == _PERSON, _parts(message), moment(message.get("created_at"))
            )
            if words is not None:
                yield words


def _parts(message: Mapping[str, Any]) -> Iterator[str]:
    blocks = [mapping(block) for block in listed(message.get("content"))]
    texts = [text(block.get("text")) for block in blocks if block.get("type") == "text"]
    # Older exports have `text` alone, newer ones the same words in both.
    yield from texts if any(each.strip() for each in texts) else [text(message.get("text"))]
    for each in listed(message.get("attachments")):
        attached = mapping(each)
        name = text(attached.get("file_name"), 200) or "a file"
        yield f"[attached: {name}]\n{text(attached.get('extracted_content'))}".strip()
    for each in listed(message.get("files")):
        name = text(mapping(each).get("file_name"), 200)
        yield f"[attached: {name}]" if name else ""
