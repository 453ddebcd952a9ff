"""What a session brings along from before it began: an import's words, or those of what it forks.

They lie in a file of their own beside the transcript, in the CLI's form, so that they are shown
like one. No CLI is ever handed it: what comes from elsewhere is text to read, not a transcript to
obey (`memory.py` says why).
"""

import os
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal

import orjson

from supervisor.ids import SessionId
from supervisor.sessions.memory import MAX_EARLIER_CHARS, as_spoken
from supervisor.sessions.records_back import records_back
from supervisor.sessions.spoken import spoken
from supervisor.sessions.transcripts import brought_beside
from supervisor.storage.beneath import open_inside, replace_inside

LONGEST_TOLD: Final = 50_000
"""Characters of one message that are told to an agent; all of it is shown to people."""
_CUT: Final = "… [cut]"


@dataclass(frozen=True, slots=True)
class Words:
    """One message. `blocks` are the CLI's content blocks, `timestamp` ISO 8601 in UTC or empty."""

    role: Literal["user", "assistant"]
    blocks: tuple[Mapping[str, Any], ...]
    timestamp: str = ""
    model: str | None = None


def text_block(text: str) -> dict[str, Any]:
    """A block of plain words."""
    return {"type": "text", "text": text}


def write_brought(
    vault: Path, pointer: PurePosixPath, session_id: SessionId, said: Iterable[Words]
) -> None:
    """Keep what was said before, whole or not at all. Blocks; raises OSError as the disk does.

    The same words give the same bytes, so that more of them only add to the file's end.
    """
    content = b"".join(
        orjson.dumps(_record(session_id, number, words)) + b"\n"
        for number, words in enumerate(said)
    )
    replace_inside(vault, brought_beside(pointer), content, mode=0o600)


def read_brought(vault: Path, pointer: PurePosixPath) -> list[dict[str, Any]]:
    """What was said before, as events that hold it, oldest first. Blocks.

    Read from the end, and not much more of it than an agent is told.
    """
    try:
        descriptor = open_inside(vault, brought_beside(pointer), os.O_RDONLY)
    except OSError:
        return []
    said: list[dict[str, Any]] = []
    room = MAX_EARLIER_CHARS
    try:
        for line in records_back(descriptor):
            message = None if line.record is None else spoken(line.record)
            if message is None or not message.text.strip():
                continue
            text = message.text
            text = text if len(text) <= LONGEST_TOLD else text[:LONGEST_TOLD] + _CUT
            said.append(as_spoken(text, message.timestamp, by_person=message.role == "user"))
            room -= len(text)
            if room < 0:
                break
    finally:
        os.close(descriptor)
    return said[::-1]


def _record(session_id: SessionId, number: int, words: Words) -> dict[str, Any]:
    name = str(uuid.uuid5(uuid.UUID(session_id), str(number)))
    message: dict[str, Any] = {"role": words.role, "content": list(words.blocks)}
    if words.role == "assistant":
        message |= {"id": name, "model": words.model}
    return {
        "type": words.role,
        "uuid": name,
        "sessionId": session_id,
        "timestamp": words.timestamp,
        "message": message,
    }
