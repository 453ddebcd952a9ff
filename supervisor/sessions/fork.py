"""A session that goes on from another one, which stays as it is."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from supervisor.ids import new_session_id
from supervisor.sessions.brought import Words, text_block, write_brought
from supervisor.sessions.memory import words_of
from supervisor.sessions.records import Records
from supervisor.sessions.transcripts import transcript_pointer
from supervisor.storage.session import PERMISSIONS, Session, SessionCreate
from supervisor.storage.sessions import SessionStore
from supervisor.trust.resolve import resolve_trust

_LONGEST_TITLE: Final = 500
_MARK: Final = " (fork)"


async def fork(vault: Path, sessions: SessionStore, records: Records, parent: Session) -> Session:
    """A new session of the same workspace, folder, agent and permissions; nothing of it runs yet.

    Its trust is at least as strict. It brings along what was said up to now, as text.
    Raises InvalidRequest, NotFound where the parent's agent or workspace is gone.
    """
    place = await records.workplace(parent.working_directory)
    floors = await records.floors_of(parent, place.cwd)
    said = list(_words(await records.said_in(parent)))
    session_id = new_session_id()
    pointer = transcript_pointer(vault, place.cwd, session_id)
    await asyncio.to_thread(write_brought, vault, pointer, session_id, said)
    return await sessions.create_session(
        SessionCreate(
            id=session_id,
            trust_level=resolve_trust(parent.trust_level, floors).effective,
            workspace=parent.workspace,
            title=_title(parent.title),
            module=parent.module,
            working_directory=parent.working_directory,
            vault_root=str(vault),
            model=parent.model,
            message_count=len(said),
            continued_from=parent.id,
            agent_type=parent.agent_type,
            agent_path=parent.agent_path,
            transcript_path=str(pointer),
            metadata=_permitted(parent),
        )
    )


def _permitted(parent: Session) -> dict[str, Any]:
    """What the parent's record lets it do unasked, if it says anything."""
    own = parent.own_permissions
    return {} if own is None else {PERMISSIONS: own.model_dump(mode="json", exclude_unset=True)}


def _words(events: Sequence[dict[str, Any]]) -> Iterator[Words]:
    for event in events:
        by_person, text = words_of(event)
        if text:
            when = event.get("ts")
            yield Words(
                role="user" if by_person else "assistant",
                blocks=(text_block(text),),
                timestamp=when if isinstance(when, str) else "",
            )


def _title(title: str | None) -> str | None:
    return None if title is None else title[: _LONGEST_TITLE - len(_MARK)] + _MARK
