"""A database that came with the vault from elsewhere is taken in at the strictest, and sealed."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.errors import ConfigurationError
from supervisor.policy.session_permissions import SessionPermissions
from supervisor.storage import json_line
from supervisor.storage.beneath import inside
from supervisor.storage.binding import Binding
from supervisor.storage.session import PERMISSIONS, read_permissions
from supervisor.storage.session_row import parse_object
from supervisor.storage.timestamp import SystemClock, to_text
from supervisor.storage.unit import whole
from supervisor.storage.witness import Sighting, Witness
from supervisor.trust.levels import TrustLevel, strictest

TRANSCRIPTS: Final = PurePosixPath(".claude/projects")
REMEDY: Final = (
    "if this vault is yours, loosen what you want loose: PUT /api/workspaces/default with the"
    " floor, then PUT /api/sessions/{id}/trust"
)

_HELD = (
    "SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM turns)"
    " + (SELECT count(*) FROM permission_grants) + (SELECT count(*) FROM pairing_requests)"
)
_PLAIN_WORKSPACES = [("default", "", TrustLevel.FULL.value)]


@dataclass(frozen=True, slots=True)
class Adoption:
    """What was done to a database that was not as we left it: how many rows of each kind."""

    sessions: int
    workspaces: int
    turns: int
    transcripts: int
    grants: int = 0
    permissions: int = 0
    pairings: int = 0

    @property
    def detail(self) -> str:
        """The report in one sentence, without what there was none of."""
        level = strictest(*TrustLevel).value
        done = (
            (self.sessions, "session", f"set to {level}"),
            (self.workspaces, "workspace floor", f"set to {level}"),
            (self.turns, "turn", "ended"),
            (self.transcripts, "transcript pointer", "emptied"),
            (self.grants, "grant", "revoked"),
            (self.permissions, "session's permissions", "taken back"),
            (self.pairings, "approved bot user", "to be approved again"),
        )
        told = ", ".join(
            f"{number} {thing if number == 1 else _several(thing)} {what}"
            for number, thing, what in done
            if number
        )
        why = "the session database was not as this supervisor left it, or came from elsewhere"
        return f"{why}: {told or 'nothing in it had to be tightened'}"


def _several(thing: str) -> str:
    first, own, rest = thing.partition("'s ")
    return f"{first}s' {rest}" if own else f"{thing}s"


@dataclass(frozen=True, slots=True)
class Home:
    """Where a database belongs: the data folder that seals it, and the vault it lies in."""

    data: Path
    vault: Path


@dataclass(frozen=True, slots=True)
class Settled:
    """A database that is ours now. `adoption` is None if it was so before, or held nothing."""

    database_id: str
    adoption: Adoption | None


def settle(cx: sqlite3.Connection, path: Path, home: Home, seen: Sighting) -> Settled:
    """Accept the database as ours, or make it ours with nothing looser than the strictest.

    `seen` is how its files were before `cx` was opened. All or nothing. Raises ConfigurationError
    for a foreign file that isn't sound.
    """
    binding = Binding(home.data)
    with whole(cx):
        known = binding.id_of(cx)
        if known is not None and Witness(home.data).agrees(known, seen):
            return Settled(known, None)
        _require_sound(cx, path)
        adoption = None if _is_blank(cx) else _adopt(cx, home.vault)
        return Settled(binding.bind(cx), adoption)


def _is_blank(cx: sqlite3.Connection) -> bool:
    """Whether it holds what a file made this moment holds; whoever made it then doesn't matter."""
    ((held,),) = cx.execute(_HELD).fetchall()
    workspaces = [tuple(row) for row in cx.execute("SELECT slug, folder, floor FROM workspaces")]
    return held == 0 and workspaces == _PLAIN_WORKSPACES


def _adopt(cx: sqlite3.Connection, vault: Path) -> Adoption:
    level, now = strictest(*TrustLevel).value, to_text(SystemClock().now())
    cx.execute(
        "INSERT OR IGNORE INTO workspaces (slug, name, folder, floor, created_at)"
        " VALUES ('default', 'Default', '', ?, ?)",
        (level, now),
    )
    return Adoption(
        sessions=cx.execute("UPDATE sessions SET trust_level = ?", (level,)).rowcount,
        workspaces=cx.execute("UPDATE workspaces SET floor = ?", (level,)).rowcount,
        turns=cx.execute(
            "UPDATE turns SET state = 'interrupted', ended_at = ?,"
            " error_code = 'turn_interrupted' WHERE state = 'running'",
            (now,),
        ).rowcount,
        transcripts=_empty_unfit_pointers(cx, vault),
        grants=cx.execute(
            "UPDATE permission_grants SET revoked_at = ?, revoked_by = 'adoption'"
            " WHERE revoked_at IS NULL",
            (now,),
        ).rowcount,
        permissions=_take_back_permissions(cx),
        pairings=cx.execute(
            # An open request of the same person gives way to this one.
            "UPDATE OR REPLACE pairing_requests SET status = 'pending',"
            " approved_trust_level = NULL, resolved_at = NULL, resolved_by = NULL"
            " WHERE status = 'approved'"
        ).rowcount,
    )


def _take_back_permissions(cx: sqlite3.Connection) -> int:
    """Leave of what sessions may do unasked what any new one may, and less if they had less."""
    narrowed = []
    rows = cx.execute("SELECT rowid, metadata FROM sessions WHERE metadata IS NOT NULL")
    for rowid, stored in rows.fetchall():
        metadata = parse_object(stored, [])
        permissions = read_permissions(metadata)
        if PERMISSIONS in metadata and permissions is not None:  # damaged ones permit nothing
            kept = SessionPermissions(write=(), trust_mode=permissions.trust_mode)
            metadata[PERMISSIONS] = kept.model_dump(mode="json")
            narrowed.append((json_line.dump(metadata).decode(), rowid))
    cx.executemany("UPDATE sessions SET metadata = ? WHERE rowid = ?", narrowed)
    return len(narrowed)


def _empty_unfit_pointers(cx: sqlite3.Connection, vault: Path) -> int:
    pointers = cx.execute(
        "SELECT rowid, transcript_path FROM sessions WHERE transcript_path IS NOT NULL"
    ).fetchall()
    unfit = [(rowid,) for rowid, pointer in pointers if not _is_fit(pointer, vault)]
    cx.executemany("UPDATE sessions SET transcript_path = NULL WHERE rowid = ?", unfit)
    return len(unfit)


def _is_fit(pointer: object, vault: Path) -> bool:
    if not isinstance(pointer, str) or "\0" in pointer:
        return False
    path = PurePosixPath(pointer)
    return path != TRANSCRIPTS and path.is_relative_to(TRANSCRIPTS) and inside(vault, path)


def _require_sound(cx: sqlite3.Connection, path: Path) -> None:
    """An index that disagrees with its table would show one row for another."""
    problem = cx.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if problem == "ok":
        orphan = cx.execute("PRAGMA foreign_key_check").fetchone()
        if orphan is None:
            return
        problem = f"a row of {orphan[0]} without its parent"
    raise ConfigurationError(
        f"the database came from elsewhere and isn't sound: {problem}",
        where=str(path),
        remedy="move it away to start with an empty one; transcripts stay where they are",
    )
