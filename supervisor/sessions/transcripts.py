"""Where a session's transcript lies: below `.claude/projects`, and stored as a pointer."""

import hashlib
import re
import stat
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.ids import SessionId
from supervisor.sessions.memory import transcript_for
from supervisor.storage.beneath import remove_inside, stat_inside
from supervisor.trust.levels import TrustLevel

FOLDER: Final = PurePosixPath(".claude/projects")
_OTHER = re.compile(r"[^A-Za-z0-9]")
_LONGEST = 200
_BROUGHT: Final = "brought"


def transcript_pointer(vault: Path, cwd: PurePosixPath, session_id: SessionId) -> PurePosixPath:
    """A new session's transcript, relative to the vault.

    The folder's name follows the CLI's own way of naming (each other character a dash), so that
    people find it; nothing is ever looked up by it again: the pointer is stored.
    """
    name = _OTHER.sub("-", str(vault / cwd))
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return FOLDER / name / f"{session_id}.jsonl"


def stored_pointer(stored: str | None, session_id: SessionId) -> PurePosixPath | None:
    """A pointer as a row has it; None for one that leads anywhere else than to this session's file.

    A row is no authority to read and append to any file of this machine.
    """
    if stored is None:
        return None
    pointer = PurePosixPath(stored)
    folder_and_name = len(FOLDER.parts) + 2
    if (
        pointer.is_relative_to(FOLDER)
        and len(pointer.parts) == folder_and_name
        and ".." not in pointer.parts
        and pointer.name == f"{session_id}.jsonl"
    ):
        return pointer
    return None


def brought_beside(pointer: PurePosixPath) -> PurePosixPath:
    """Where lies what the session brought along from before it began (`brought.py`)."""
    return pointer.parent / _BROUGHT / pointer.name


def delete_transcripts(vault: Path, pointer: PurePosixPath) -> bool:
    """Remove a session's transcripts of both sides, with what lies beside them; whether any was."""
    found = remove_inside(vault, brought_beside(pointer))
    for level in (TrustLevel.VAULT, TrustLevel.SANDBOXED):
        path = transcript_for(pointer, level)
        found = remove_inside(vault, path) or found
        found = remove_inside(vault, path.with_suffix("")) or found  # sub-agents', large results
    return found


def has_content(vault: Path, pointer: PurePosixPath) -> bool:
    """Whether there is a conversation to take up: a plain file with no link on the way to it."""
    return content_size(vault, pointer) > 0


def content_size(vault: Path, pointer: PurePosixPath) -> int:
    """How many bytes of a conversation there are; 0 also for what is no plain file of ours."""
    try:
        found = stat_inside(vault, pointer)
    except OSError:
        return 0
    return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else 0
