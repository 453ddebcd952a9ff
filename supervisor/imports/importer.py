"""Makes sessions of conversations from elsewhere: each once, however often it is imported."""

import asyncio
import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal

import orjson

from supervisor.clock import Clock
from supervisor.imports.conversation import Broken, Conversation
from supervisor.imports.fields import iso
from supervisor.imports.reading import read_export
from supervisor.sessions.brought import Words, write_brought
from supervisor.sessions.floors import Floors
from supervisor.sessions.transcripts import FOLDER, brought_beside, has_content, stored_pointer
from supervisor.storage.session import Session, SessionCreate, SessionUpdate
from supervisor.storage.sessions import SessionStore
from supervisor.storage.tags import TagStore
from supervisor.storage.timestamp import from_text
from supervisor.storage.workspaces import DEFAULT, WorkspaceStore
from supervisor.trust.levels import TrustLevel
from supervisor.trust.resolve import resolve_trust

IMPORTED: Final = "imported"
"""The key of a session's metadata that says what was imported."""

TAG: Final = "imported"
"""What imported sessions are found by; given once, so that one that is taken off stays off."""

State = Literal["new", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class Imported:
    """A session that an import made, brought up to date, or found as it is."""

    session: Session
    state: State
    messages: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an upload."""

    imported: tuple[Imported, ...]
    broken: tuple[Broken, ...]


@dataclass(frozen=True, slots=True)
class _Terms:
    """What all sessions of one import have in common; none of it comes from the file."""

    level: TrustLevel
    workspace: str
    folder: str
    pointers: PurePosixPath


class Imports:
    """The imports of one supervisor, one at a time: an export may be as large as memory allows."""

    def __init__(
        self,
        vault: Path,
        floor: TrustLevel,
        stores: tuple[SessionStore, WorkspaceStore, TagStore],
        clock: Clock,
    ) -> None:
        self._vault = vault
        self._sessions, self._workspaces, self._tags = stores
        self._floors = Floors(floor, self._workspaces)
        self._clock = clock
        self._lock = asyncio.Lock()

    async def take_in(
        self,
        name: str,
        content: bytes,
        *,
        workspace: str | None = None,
        level: TrustLevel | None = None,
    ) -> Outcome:
        """Import all conversations of an upload. `level` is `sandboxed` unless said otherwise.

        Raises InvalidRequest for an upload that holds nothing of the kind, NotFound (workspace).
        """
        async with self._lock:
            terms = await self._terms(workspace, level)
            read = await asyncio.to_thread(read_export, name, content)
            imported: dict[str, Imported] = {}
            broken = list(read.broken)
            for each in read.conversations:
                if each.session_id in imported:
                    broken.append(Broken(each.place, "the same conversation came before it"))
                    continue
                found = await self._take(self._believable(each), terms)
                if isinstance(found, Broken):
                    broken.append(found)
                else:
                    imported[each.session_id] = found
        return Outcome(tuple(imported.values()), tuple(broken))

    async def _terms(self, workspace: str | None, level: TrustLevel | None) -> _Terms:
        row = await self._workspaces.get(workspace or DEFAULT)
        folder = row.folder or "."
        floors = await self._floors.of(row.slug, PurePosixPath(folder))
        return _Terms(
            level=resolve_trust(level or TrustLevel.SANDBOXED, floors).effective,
            workspace=row.slug,
            folder=folder,
            # Not to be foreseen: ids of conversations are known outside, and what a vault that
            # comes from elsewhere holds under such a name must never count as their transcript.
            pointers=FOLDER / f"imported-{secrets.token_hex(8)}",
        )

    def _believable(self, conversation: Conversation) -> Conversation:
        """With no moment in the future, and the moments that are missing filled in."""
        now = self._clock.now()
        said = [words.timestamp for words in conversation.said if words.timestamp]
        created = conversation.created
        if created is None and said:
            created = from_text(min(said)).timestamp()
        updated = conversation.updated
        if updated is None and said:
            updated = from_text(max(said)).timestamp()
        created = min(now, now if created is None else created)
        updated = min(now, max(created, created if updated is None else updated))
        return replace(conversation, created=created, updated=updated)

    async def _take(self, conversation: Conversation, terms: _Terms) -> Imported | Broken:
        stored = await self._sessions.find_session(conversation.session_id)
        if stored is None:
            return await self._make(conversation, terms)
        if stored.source is not conversation.source or "source" in stored.damaged:
            return Broken(conversation.place, f"its id is that of another session: {stored.id}")
        return await self._update(stored, conversation)

    async def _make(self, conversation: Conversation, terms: _Terms) -> Imported:
        pointer = terms.pointers / f"{conversation.session_id}.jsonl"
        await self._write(pointer, conversation)
        session = await self._sessions.create_session(
            SessionCreate(
                id=conversation.session_id,
                trust_level=terms.level,
                workspace=terms.workspace,
                title=conversation.title,
                source=conversation.source,
                working_directory=terms.folder,
                vault_root=str(self._vault),
                message_count=len(conversation.said),
                created_at=from_text(iso(conversation.created)),
                last_accessed=from_text(iso(conversation.updated)),
                transcript_path=str(pointer),
                metadata={IMPORTED: _about(conversation)},
            )
        )
        await self._tags.add_tag(session.id, TAG)
        return Imported(session, "new", len(conversation.said))

    async def _update(self, stored: Session, conversation: Conversation) -> Imported | Broken:
        pointer = stored_pointer(stored.transcript_path, stored.id)
        if pointer is None:
            return Broken(conversation.place, f"the session's transcript is unknown: {stored.id}")
        before = stored.metadata.get(IMPORTED)
        before = before if isinstance(before, dict) else {}
        about = _about(conversation)
        is_there = await asyncio.to_thread(has_content, self._vault, brought_beside(pointer))
        if is_there and (before.get("digest") == about["digest"] or _is_later(before, about)):
            return Imported(stored, "unchanged", len(conversation.said))
        await self._write(pointer, conversation)
        held = before.get("messages")
        more = stored.message_count - (held if isinstance(held, int) else 0)
        is_untouched = stored.title is None or stored.title == before.get("title")
        await self._sessions.merge_metadata(stored.id, {IMPORTED: about})
        session = await self._sessions.update_session(
            stored.id,
            SessionUpdate(
                title=conversation.title if is_untouched else stored.title,
                message_count=max(0, more) + len(conversation.said),
            ),
        )
        return Imported(session, "updated", len(conversation.said))

    async def _write(self, pointer: PurePosixPath, conversation: Conversation) -> None:
        await asyncio.to_thread(
            write_brought,
            self._vault,
            pointer,
            conversation.session_id,
            _timed(conversation),
        )


def _timed(conversation: Conversation) -> Iterator[Words]:
    """The messages, each with a moment: the one before has it where its own is missing."""
    latest, last = iso(conversation.updated), iso(conversation.created)
    for words in conversation.said:
        last = min(words.timestamp or last, latest)
        yield replace(words, timestamp=last)


def _about(conversation: Conversation) -> dict[str, Any]:
    content = orjson.dumps(
        [[words.role, list(words.blocks), words.timestamp] for words in conversation.said]
    )
    about = {
        "messages": len(conversation.said),
        "digest": hashlib.sha256(content + (conversation.title or "").encode()).hexdigest(),
        "updated": iso(conversation.updated),
        "title": conversation.title,
    }
    return about if conversation.cwd is None else {**about, "cwd": conversation.cwd}


def _is_later(before: dict[str, Any], about: dict[str, Any]) -> bool:
    """Whether what is there is of a later export than this one."""
    there = before.get("updated")
    return isinstance(there, str) and there > about["updated"]
