"""Reads one conversation of ChatGPT's export: the branch that was last looked at. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from supervisor.imports.conversation import Conversation, Unreadable, id_of
from supervisor.imports.fields import listed, mapping, moment, plain_words, text, title
from supervisor.sessions.brought import Words
from supervisor.storage.session_source import SessionSource

_SPEAKERS: Final = ("user", "assistant")
_SHOWN_KINDS: Final = ("text", "multimodal_text", "code")
_HIDDEN: Final = "is_visually_hidden_from_conversation"


def is_chatgpt(document: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of that export."""
    return "mapping" in document


def read_chatgpt(document: Mapping[str, Any], place: str) -> Conversation:
    """The conversation. Raises Unreadable."""
    nodes = document.get("mapping")
    if not isinstance(nodes, dict):
        raise Unreadable("its mapping is no object")
    chain = _chain(nodes, document.get("current_node"))
    said = tuple(words for node in chain if (words := _said(mapping(node.get("message")))))
    if not said:
        raise Unreadable("nothing is said in it")
    named = title(document.get("title"))
    created = moment(document.get("create_time"))
    given = text(document.get("conversation_id"), 200) or text(document.get("id"), 200)
    return Conversation(
        source=SessionSource.CHATGPT,
        session_id=id_of(SessionSource.CHATGPT, given, str(created), said[0].blocks[0]["text"]),
        place=place,
        title=named,
        said=said,
        created=created,
        updated=moment(document.get("update_time")),
    )


def _chain(nodes: Mapping[str, Any], current: object) -> list[Mapping[str, Any]]:
    """From the first message to the current one. Raises Unreadable for what leads in a circle."""
    if not isinstance(current, str) or current not in nodes:
        current = _last_leaf(nodes)
    chain: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(current, str) and current in nodes:
        if current in seen:
            raise Unreadable("its messages lead in a circle")
        seen.add(current)
        node = mapping(nodes[current])
        chain.append(node)
        current = node.get("parent")
    return chain[::-1]


def _last_leaf(nodes: Mapping[str, Any]) -> str | None:
    """Where no current node is named: the message without an answer that is the latest."""
    leaves = [
        (moment(mapping(mapping(node).get("message")).get("create_time")) or 0.0, name)
        for name, node in nodes.items()
        if not listed(mapping(node).get("children"))
    ]
    return max(leaves)[1] if leaves else None


def _said(message: Mapping[str, Any]) -> Words | None:
    author = mapping(message.get("author")).get("role")
    content = mapping(message.get("content"))
    if (
        author not in _SPEAKERS
        or content.get("content_type", "text") not in _SHOWN_KINDS
        or mapping(message.get("metadata")).get(_HIDDEN) is True
        # Words to a tool of theirs, not to the person.
        or message.get("recipient", "all") not in ("all", None)
    ):
        return None
    return plain_words(author == "user", _parts(content), moment(message.get("create_time")))


def _parts(content: Mapping[str, Any]) -> Iterator[str]:
    for part in listed(content.get("parts")):
        if isinstance(part, str):
            yield text(part)
            continue
        found = mapping(part)
        kind = text(found.get("content_type"), 100)
        yield text(found.get("text")) or (f"[{kind}]" if kind else "")
    yield text(content.get("text"))
