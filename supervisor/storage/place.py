"""Where the session database lies in the vault, and that nothing there leads anywhere else."""

import stat
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.errors import ConfigurationError
from supervisor.storage.beneath import stat_inside

DATABASE: Final = PurePosixPath("Chat/sessions.db")
_COMPANIONS: Final = ("", "-wal", "-shm", "-journal", ".lock")


def database_place(vault: Path) -> Path:
    """The session database's path. Raises ConfigurationError if a link or no plain file is there.

    Links within the vault are refused too: what agents must not touch is known by its place.
    """
    path = vault / DATABASE
    require_plain(path, vault)
    return path


def require_plain(path: Path, vault: Path) -> None:
    """Raise ConfigurationError unless each file of the database is a plain one, or not there."""
    relative = PurePosixPath(path.relative_to(vault))
    for end in _COMPANIONS:
        each = relative.with_name(relative.name + end)
        try:
            found = stat_inside(vault, each)
        except OSError as error:
            raise _refused(path.parent, f"can't be reached: {error.strerror}") from error
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise _refused(vault / each, "is a link, or no plain file")


def _refused(path: Path, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"this part of the session database {why}",
        where=str(path),
        remedy="find out who put it there and move it away; the database is kept in the vault's"
        " own folder, not behind a link",
    )
