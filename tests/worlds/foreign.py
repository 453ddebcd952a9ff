"""A world with a vault that came from elsewhere, and with the supervisor's own data folder."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from supervisor.errors import ConfigurationError
from supervisor.storage.adoption import Adoption, Home
from supervisor.storage.database import Database
from supervisor.storage.place import database_place
from supervisor.storage.session import SessionCreate, SessionUpdate
from supervisor.storage.sessions import SessionStore
from supervisor.storage.turns import TurnStore
from supervisor.storage.witness import FOLDER
from supervisor.storage.workspaces import WorkspaceStore
from supervisor.trust.levels import TrustLevel
from tests.worlds.storage import SESSION, TURN, Stores, TickingClock, session

FULL, SANDBOXED = TrustLevel.FULL, TrustLevel.SANDBOXED
LOOSER = "UPDATE sessions SET trust_level = 'full'"
PWN = """CREATE TRIGGER pwn AFTER INSERT ON sessions BEGIN
    UPDATE sessions SET trust_level = 'full' WHERE id = NEW.id; END"""
"""A trigger, by which each new session would run at full."""


@dataclass(frozen=True)
class Place:
    """A vault, and a supervisor's data folder; `other()` is somebody else's with the same vault."""

    root: Path
    owner: str = "ours"

    @property
    def data(self) -> Path:
        return self.root / self.owner

    @property
    def vault(self) -> Path:
        return self.root / "vault"

    @property
    def file(self) -> Path:
        return self.vault / "Chat" / "sessions.db"

    def other(self) -> "Place":
        """The same vault on a machine where somebody else runs a supervisor."""
        other = Place(self.root, "theirs")
        other.data.mkdir(exist_ok=True)
        return other

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Stores]:
        """The vault's database, opened as the supervisor does."""
        home = Home(data=self.data, vault=self.vault)
        async with Database(database_place(self.vault), home=home) as db:
            clock = TickingClock()
            yield Stores(
                db, SessionStore(db, clock), TurnStore(db, clock), WorkspaceStore(db, clock)
            )

    def write(self, *statements: str) -> None:
        """Change the file as somebody who has it would."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as cx:
            cx.execute("PRAGMA ignore_check_constraints = ON")
            for statement in statements:
                cx.execute(statement)

    def trust_as_it_is(self) -> None:
        """Turn the witness off: have it say that we left the file as it is now."""
        (note,) = (self.data / FOLDER).glob("*.json")
        said = json.loads(note.read_text())
        said["digest"] = hashlib.sha256(self.file.read_bytes()).hexdigest()
        note.write_text(json.dumps(said))


def a_place(root: Path) -> Place:
    """An empty vault and an empty data folder."""
    place = Place(root)
    place.data.mkdir(mode=0o700)
    place.vault.mkdir()
    return place


def copied(source: Path, target: Path) -> None:
    """Put a copy in the target's place, as programs that synchronise do: a new file, renamed."""
    draft = target.with_name(target.name + ".arriving")
    shutil.copyfile(source, draft)
    draft.replace(target)


async def used(place: Place, *, pointer: str | None = None) -> None:
    """A vault in which a session runs at full, with a turn that was never ended."""
    async with place.opened() as at:
        await at.workspaces.put("w", name="w", folder="", floor=FULL)
        await at.sessions.create_session(SessionCreate(id=SESSION, trust_level=FULL, workspace="w"))
        await at.sessions.update_session(SESSION, SessionUpdate(transcript_path=pointer))
        await at.turns.begin(TURN, SESSION, FULL)


async def all_strict(place: Place) -> Adoption:
    """Open it as ours: everything in it is at the strictest. What was said of it."""
    async with place.opened() as at:
        assert {row.trust_level for row in await at.sessions.list_sessions()} == {SANDBOXED}
        assert {row.floor for row in await at.workspaces.list()} == {SANDBOXED}
        assert await at.turns.running() == []
        assert at.db.adoption is not None
        return at.db.adoption


async def still_loose(place: Place) -> None:
    """Open it as ours: it is taken at its word."""
    async with place.opened() as at:
        assert at.db.adoption is None
        assert (await at.sessions.get_session(SESSION)).trust_level is FULL
        assert (await at.workspaces.get("w")).floor is FULL
        assert (await at.workspaces.get("default")).floor is FULL


async def kept_strict(place: Place) -> None:
    """A vault of ours with a session that runs at the strictest."""
    async with place.opened() as at:
        await at.sessions.create_session(session(level=SANDBOXED))


async def refused(place: Place, naming: str | None = None) -> ConfigurationError:
    """What is said as it can't be opened: what is wrong is named, and what to do."""
    with pytest.raises(ConfigurationError, match=naming) as refusal:
        async with place.opened():
            pass
    assert refusal.value.remedy
    return refusal.value
