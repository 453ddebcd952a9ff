"""A world with a search index of its own: a real database, a real vault, the real deny list."""

import contextlib
import hashlib
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from supervisor.ids import SessionId, new_session_id
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.runtimes.container.vault_view import VaultViews
from supervisor.search.embeds import Embeds
from supervisor.search.finding import Answer, Finding
from supervisor.search.index import Index, PassReport
from supervisor.search.similarity import Similarity
from supervisor.sessions.memory import transcript_for
from supervisor.sessions.transcripts import brought_beside, stored_pointer
from supervisor.storage.database import Database
from supervisor.storage.index_rows import IndexRows
from supervisor.storage.session import SessionCreate
from supervisor.storage.sessions import SessionStore
from supervisor.storage.tags import TagStore
from supervisor.trust.levels import TrustLevel
from tests.worlds.storage import new_databases

DENIED = DenyList((DenyRule("env", "secret", names=(".env", "*.pem", "secret*")),))


def said(role: str, text: str, number: int, **more: Any) -> bytes:
    """A transcript's line, said in the second of that number."""
    record = {
        "type": role,
        "uuid": f"u{number}",
        "timestamp": f"2026-01-01T00:{number // 60:02}:{number % 60:02}.000Z",
        "message": {"role": role, "content": text, **more},
    }
    return orjson.dumps(record) + b"\n"


@dataclass
class SearchWorld:
    """The index and what it is of. Change `hidden` as an admin changes the policy."""

    db: Database
    vault: Path
    rows: IndexRows
    index: Index
    sessions: SessionStore
    tags: TagStore
    hidden: DenyList = field(default=DENIED)
    finding: Finding = field(init=False)

    async def session(
        self, *lines: bytes, title: str = "a session", side: str = "vault"
    ) -> SessionId:
        """A session in which these lines were said."""
        session_id = new_session_id()
        pointer = f".claude/projects/-vault/{session_id}.jsonl"
        await self.sessions.create_session(
            SessionCreate(
                id=session_id,
                title=title,
                trust_level=TrustLevel.VAULT,
                workspace="default",
                transcript_path=pointer,
            )
        )
        self.say(session_id, *lines, side=side)
        return session_id

    def say(self, session_id: SessionId, *lines: bytes, side: str = "vault") -> None:
        """More lines in a session."""
        pointer = stored_pointer(f".claude/projects/-vault/{session_id}.jsonl", session_id)
        assert pointer is not None
        path = {
            "vault": pointer,
            "sandboxed": transcript_for(pointer, TrustLevel.SANDBOXED),
            "brought": brought_beside(pointer),
        }[side]
        (self.vault / path).parent.mkdir(parents=True, exist_ok=True)
        with (self.vault / path).open("ab") as file:
            file.write(b"".join(lines))

    def write(self, path: str, text: str) -> Path:
        """A file of the vault."""
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    async def update(self, *, anew: bool = False) -> PassReport:
        """Bring the index up to date."""
        report = await self.index.ended(self.index.begin(anew=anew))
        assert report.error is None, report
        return report

    async def ask(self, text: str, **more: Any) -> Answer:
        """Search."""
        return await self.finding.find(text, **more)

    async def found(self, text: str, **more: Any) -> list[str]:
        """The ids of what is found."""
        return [hit.found.content_id for hit in (await self.ask(text, **more)).hits]

    def pieces(self) -> list[tuple[Any, ...]]:
        """All pieces that the index holds, staged ones too, without their row numbers."""
        with contextlib.closing(sqlite3.connect(self.db.path)) as cx:
            return cx.execute(
                "SELECT content_id, content_type, field, chunk_index, chunk_text, title, heading,"
                " position FROM chunks ORDER BY content_id, chunk_index"
            ).fetchall()

    def check(self) -> None:
        """The index of words holds what the pieces hold, and the file is sound."""
        with contextlib.closing(sqlite3.connect(self.db.path)) as cx:
            cx.execute("INSERT INTO chunk_words (chunk_words, rank) VALUES ('integrity-check', 1)")
            assert cx.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

    def holds(self, text: str) -> bool:
        """Whether the bytes of a text are anywhere in the database's files."""
        names = (self.db.path, *(Path(f"{self.db.path}{end}") for end in ("-wal", "-shm")))
        return any(text.encode() in each.read_bytes() for each in names if each.exists())

    def digest(self) -> str:
        """A digest of all pieces."""
        return hashlib.sha256(repr(self.pieces()).encode()).hexdigest()


@contextlib.asynccontextmanager
async def search_world(
    folder: Path, *, home: Path | None = None, embeds: Embeds | None = None
) -> AsyncIterator[SearchWorld]:
    """The world over `folder`/vault and `folder`/sessions.db; again over the same goes on."""
    vault = folder / "vault"
    vault.mkdir(exist_ok=True)
    views = VaultViews(folder / "views", owner_home=lambda _: home)
    new_databases(folder)
    async with Database(folder / "sessions.db") as db:
        rows = IndexRows(db)
        similar = None if embeds is None else Similarity(rows, db, embeds)
        world: SearchWorld
        index = Index(
            rows,
            vault,
            look=lambda hidden, stop: views.visible(vault, hidden, (), stop),
            hidden=lambda: world.hidden,
            home=home,
            similar=similar,
        )
        world = SearchWorld(db, vault, rows, index, SessionStore(db), TagStore(db))
        world.finding = Finding(db.path, vault, index, lambda: world.hidden, similar)
        async with index:
            yield world
