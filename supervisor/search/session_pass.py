"""Brings the index up to what was said in sessions: their words, and nothing of their tools."""

import asyncio
import hashlib
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

import orjson

from supervisor.ids import SessionId, is_session_id
from supervisor.search.passes import Counted, is_as_noted, metadata_of
from supervisor.search.pieces import pieces
from supervisor.search.put import Part, put
from supervisor.search.snippets import plain_text
from supervisor.sessions.reading_on import (
    Mark,
    marks_of,
    read_on,
    transcripts_at_home,
    transcripts_of,
)
from supervisor.sessions.transcripts import stored_pointer
from supervisor.storage.chunks import SESSION_CONTENT
from supervisor.storage.index_manifest import IndexedContent
from supervisor.storage.index_records import SessionRow
from supervisor.storage.index_rows import IndexRows

logger = logging.getLogger(__name__)

_NO_FILES: Final[tuple[PurePosixPath, ...]] = ()


class SessionPass:
    """One pass. `home` is where transcripts are that the vault hasn't; None: nowhere."""

    def __init__(self, rows: IndexRows, vault: Path, home: Path | None) -> None:
        self._rows = rows
        self._vault = vault
        self._home = home
        self._at_home: dict[SessionId, PurePosixPath] | None = None
        self.counted = Counted()

    async def all(self, *, anew: bool = False) -> None:
        """All sessions; `anew`: those that haven't changed as well."""
        after = 0
        while batch := await self._rows.sessions(after):
            await self._some(batch, anew=anew)
            after = batch[-1].number
        for session_id in await self._rows.gone_sessions():
            await self._rows.remove(session_id)
            self.counted.removed += 1

    async def one(self, session_id: SessionId) -> None:
        """One session, if it is there."""
        row = await self._rows.session(session_id)
        if row is not None:
            await self._some([row], anew=False)

    async def _some(self, batch: Sequence[SessionRow], *, anew: bool) -> None:
        noted = await self._rows.noted([each.id for each in batch])
        places = await asyncio.to_thread(lambda: [self._place(each) for each in batch])
        for row, (root, files, marks) in zip(batch, places, strict=True):
            title = plain_text(row.title or "").strip()
            mark = [title, *(None if each is None else list(each) for each in marks)]
            if not anew and is_as_noted(noted.get(row.id), mark):
                self.counted.unchanged += 1
                continue
            content = IndexedContent(
                content_id=row.id,
                content_type=SESSION_CONTENT,
                content_hash=hashlib.sha256(orjson.dumps(mark)).hexdigest(),
                title=title,
                metadata=metadata_of(mark),
            )
            try:
                self.counted.add(await put(self._rows, content, _parts(root, files)))
            except OSError as error:
                logger.warning("session %s is not indexed: %s", row.id, error.strerror)
                self.counted.left_out["unreadable"] += 1

    def _place(
        self, row: SessionRow
    ) -> tuple[Path, tuple[PurePosixPath, ...], tuple[Mark | None, ...]]:
        """Where the session's words are, and the marks of these files."""
        if not is_session_id(row.id):
            return self._vault, _NO_FILES, ()
        session_id = SessionId(row.id)
        pointer = stored_pointer(row.transcript_path, session_id)
        if pointer is not None:
            files = transcripts_of(pointer)
            marks = marks_of(self._vault, files)
            if any(marks):
                return self._vault, files, marks
        if self._home is not None:
            if self._at_home is None:
                self._at_home = transcripts_at_home(self._home)
            file = self._at_home.get(session_id)
            if file is not None:
                return self._home, (file,), marks_of(self._home, (file,))
        return self._vault, _NO_FILES, ()


def _parts(root: Path, files: tuple[PurePosixPath, ...]) -> Iterator[Part]:
    for number, message in read_on(root, files):
        if message.role != "summary" and message.text.strip():
            for piece in pieces(message.text.splitlines(keepends=True)):
                yield Part(piece.text, piece.heading, number)
