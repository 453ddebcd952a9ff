"""A world with a vault that came from elsewhere, and with the supervisor's own data folder."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

from supervisor.storage.adoption import Home
from supervisor.storage.database import Database
from supervisor.storage.place import database_place
from supervisor.storage.sessions import SessionStore
from supervisor.storage.turns import TurnStore
from supervisor.storage.witness import FOLDER
from supervisor.storage.workspaces import WorkspaceStore
from tests.worlds.storage import Stores, TickingClock


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
