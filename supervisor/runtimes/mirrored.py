"""Which of a turn's transcript entries are kept: the session's own, formed as the CLI forms them.

A later CLI reads them all, and one that can't be read can cost the whole conversation. Pure. Only
what the conversation hangs on is looked at: the kind, whose it is, the ids and what they follow on,
the message's own form. Facts this rests on (CLI 2.1.332): the five kinds of a conversation have ids
that are UUIDs, each follows on none or on one that was written before, and no id is written twice.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from supervisor.ids import SessionId

MOST_ENTRIES: Final = 100_000
"""Of a turn, of all its transcripts together."""

MAX_SUBAGENTS: Final = 1000

_SUBAGENT: Final = re.compile(
    r"subagents/(?:[A-Za-z0-9_-]{1,128}/){0,4}agent-[A-Za-z0-9_-]{1,128}\Z"
)
_KIND: Final = re.compile(r"[a-z][a-z0-9-]{0,63}\Z")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z\Z")
_OF_THE_CONVERSATION: Final = frozenset({"user", "assistant", "system", "attachment", "progress"})
_IDS: Final = ("uuid", "parentUuid", "logicalParentUuid", "leafUuid", "messageId", "sentAsUuid")
_TEXTS: Final = ("cwd", "version", "gitBranch", "subtype")
_PARTS: Final[Mapping[str, Mapping[str, type]]] = {
    "text": {"text": str},
    "thinking": {"thinking": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str},
    "image": {"source": dict},
    "document": {"source": dict},
}
"""What a block of a message must have."""


class Mirrored:
    """Knows what ids one turn's transcripts have had so far; `None` names the session's own.

    `projects` is the folder, as the process sees it, under which they must lie.
    """

    def __init__(self, session_id: SessionId, projects: str) -> None:
        self._session_id = session_id
        self._projects = projects.rstrip("/") + "/"
        self._subagents: set[str] = set()
        self._ids: set[tuple[str | None, str]] = set()
        self._followed: set[tuple[str | None, str]] = set()
        self._entries = 0

    @property
    def is_full(self) -> bool:
        """Whether the turn has written all that it may."""
        return self._entries >= MOST_ENTRIES

    def whose(self, path: object) -> tuple[bool, str | None]:
        """Whether the path names a transcript of the session, and if a sub-agent's, which."""
        if not isinstance(path, str) or not path.startswith(self._projects):
            return False, None
        _key, _, rest = path.removeprefix(self._projects).partition("/")
        if not rest.endswith(".jsonl"):
            return False, None
        rest = rest.removesuffix(".jsonl")
        if rest == self._session_id:
            return True, None
        below = rest.removeprefix(f"{self._session_id}/")
        if below != rest and _SUBAGENT.match(below):
            return True, below
        return False, None

    def has_room_for(self, subagent: str | None) -> bool:
        """Whether that sub-agent's transcript may be written; if so, it counts among them."""
        if subagent is not None and subagent not in self._subagents:
            if len(self._subagents) >= MAX_SUBAGENTS:
                return False
            self._subagents.add(subagent)
        return True

    def takes(self, entry: Mapping[str, Any], subagent: str | None) -> bool:
        """Whether this entry is to be kept; if so, it counts."""
        kind = entry.get("type")
        if not isinstance(kind, str) or _KIND.match(kind) is None or not _has_good_ids(entry):
            return False
        if kind in _OF_THE_CONVERSATION and not self._hangs_on(entry, kind, subagent):
            return False
        self._entries += 1
        return True

    def _hangs_on(self, entry: Mapping[str, Any], kind: str, subagent: str | None) -> bool:
        if entry.get("sessionId") != self._session_id or not _is_formed(entry, kind):
            return False
        # The CLI puts the second in the place of the first.
        own = {(subagent, entry[name]) for name in ("uuid", "sentAsUuid") if entry.get(name)}
        parent = entry.get("parentUuid")
        # An entry that something followed on before it was there would close a ring.
        if not own or own & self._ids or own & self._followed or (subagent, parent) in own:
            return False
        self._ids |= own
        if parent is not None and (subagent, parent) not in self._ids:
            self._followed.add((subagent, parent))
        return True


def _has_good_ids(entry: Mapping[str, Any]) -> bool:
    given = (entry.get(name) for name in _IDS)
    return all(
        each is None or (isinstance(each, str) and _UUID.match(each) is not None) for each in given
    )


def _is_formed(entry: Mapping[str, Any], kind: str) -> bool:
    moment = entry.get("timestamp")
    if not isinstance(moment, str) or _MOMENT.match(moment) is None:
        return False
    if not isinstance(entry.get("isSidechain"), bool):
        return False
    if not all(isinstance(entry.get(name, ""), str) for name in _TEXTS):
        return False
    if kind == "attachment":
        attachment = entry.get("attachment")
        return isinstance(attachment, dict) and isinstance(attachment.get("type"), str)
    return kind not in ("user", "assistant") or _is_message(entry.get("message"), kind)


def _is_message(message: object, role: str) -> bool:
    if not isinstance(message, dict) or message.get("role") != role:
        return False
    if not isinstance(message.get("usage", {}), dict):
        return False
    content = message.get("content")
    if isinstance(content, str):
        return role == "user"
    return isinstance(content, list) and all(map(_is_block, content))


def _is_block(block: object) -> bool:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return False
    wanted = _PARTS.get(block["type"], {})
    return all(isinstance(block.get(name), kind) for name, kind in wanted.items())
