"""The workspaces table: named parts of the vault and the trust floor of each."""

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from supervisor.clock import Clock
from supervisor.errors import InvalidRequest, NotFound
from supervisor.storage.columns import moment_in
from supervisor.storage.database import Database
from supervisor.storage.session_row import parse_level
from supervisor.storage.timestamp import SystemClock, to_text
from supervisor.trust.levels import TrustLevel

DEFAULT = "default"
"""The slug of the workspace that always exists: the whole vault."""

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRow:
    """One workspace. `folder` is relative to the vault, '' being the vault itself.

    `damaged` names the columns that could not be read and were replaced: a floor by the strictest
    one, everything else by nothing.
    """

    slug: str
    name: str
    folder: str
    floor: TrustLevel
    created_at: datetime
    damaged: tuple[str, ...] = ()


class WorkspaceStore:
    """Workspaces by slug."""

    def __init__(self, db: Database, clock: Clock | None = None) -> None:
        self._db = db
        self._clock = clock or SystemClock()

    async def get(self, slug: str) -> WorkspaceRow:
        """The workspace. Raises NotFound."""
        row = await self._db.row("SELECT * FROM workspaces WHERE slug = ?", (slug,))
        if row is None:
            raise _no_such(slug)
        return _workspace(dict(row))

    async def list(self) -> list[WorkspaceRow]:
        """All workspaces, by slug."""
        rows = await self._db.rows("SELECT * FROM workspaces ORDER BY slug")
        return [_workspace(dict(row)) for row in rows]

    async def put(
        self,
        slug: str,
        *,
        floor: TrustLevel | None = None,
        name: str | None = None,
        folder: str | None = None,
    ) -> WorkspaceRow:
        """Make the workspace, or change what is said of it: what is None stays as it is.

        A new one needs a floor; its name is its slug and its folder the vault, unless given.
        Raises InvalidRequest for a slug or folder that can't be: the folder is relative, without
        `..`, and `default` is always the whole vault. Whether it exists is checked elsewhere.
        """
        if _SLUG.match(slug) is None:
            raise InvalidRequest(
                f"{slug!r} is no slug",
                where="slug",
                remedy="use up to 63 lower-case letters, digits and hyphens",
            )
        inside = None if folder is None else relative_folder(folder)
        if slug == DEFAULT and inside:
            raise InvalidRequest("the default workspace is the whole vault", where="folder")
        level = None if floor is None else floor.value
        async with self._db.write() as cx:
            rows = list(
                await cx.execute_fetchall(
                    "UPDATE workspaces SET name = COALESCE(?, name),"
                    " folder = COALESCE(?, folder), floor = COALESCE(?, floor)"
                    " WHERE slug = ? RETURNING *",
                    (name, inside, level, slug),
                )
            )
            if not rows and level is None:
                raise InvalidRequest(
                    "a new workspace needs a floor",
                    where="floor",
                    remedy=f"use one of: {', '.join(each.value for each in TrustLevel)}",
                )
            if not rows:
                rows = list(
                    await cx.execute_fetchall(
                        "INSERT INTO workspaces (slug, name, folder, floor, created_at)"
                        " VALUES (?, ?, ?, ?, ?) RETURNING *",
                        (slug, name or slug, inside or "", level, to_text(self._clock.now())),
                    )
                )
            return _workspace(dict(rows[0]))

    async def delete(self, slug: str) -> None:
        """Remove the workspace; its folder stays.

        Raises NotFound, and InvalidRequest for `default` and while sessions are in it: with the
        workspace their floor would go.
        """
        if slug == DEFAULT:
            raise InvalidRequest("the default workspace can't be deleted", where="slug")
        async with self._db.write() as cx:
            try:
                cursor = await cx.execute("DELETE FROM workspaces WHERE slug = ?", (slug,))
            except sqlite3.IntegrityError as error:
                raise InvalidRequest(
                    "sessions are in this workspace",
                    where="slug",
                    remedy="change the workspace instead; it keeps their floor",
                ) from error
            if cursor.rowcount == 0:
                raise _no_such(slug)


def relative_folder(folder: str) -> str:
    """The folder in its one spelling. Raises InvalidRequest unless it stays below the vault."""
    path = PurePosixPath(folder)
    unfit = path.is_absolute() or ".." in path.parts or folder.startswith("~")
    if unfit or any(ord(character) < ord(" ") for character in folder):
        raise InvalidRequest(
            f"{folder!r} is not a folder within the vault",
            where="folder",
            remedy="give it relative to the vault, without '..'",
        )
    return "" if path == PurePosixPath() else str(path)


def _no_such(slug: str) -> NotFound:
    return NotFound(
        "no workspace has this slug",
        where=slug,
        remedy="list them with GET /api/workspaces, or make it with PUT /api/workspaces/SLUG",
    )


def _workspace(row: Mapping[str, Any]) -> WorkspaceRow:
    damaged: list[str] = []

    def text(column: str) -> str:
        value = row[column]
        if isinstance(value, str):
            return value
        damaged.append(column)
        return ""

    return WorkspaceRow(
        slug=text("slug"),
        name=text("name"),
        folder=text("folder"),
        floor=parse_level(row["floor"], damaged, "floor"),
        created_at=moment_in(row, "created_at", damaged),
        damaged=tuple(damaged),
    )
