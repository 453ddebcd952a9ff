"""Small files that a data folder is known by: made once, readable by us alone, then only read."""

import os
import secrets
from pathlib import Path
from typing import Final

from supervisor.errors import ConfigurationError
from supervisor.ids import InstanceId, new_instance_id

TOKEN_FILE: Final = "token"  # noqa: S105  (a file's name)
INSTANCE_FILE: Final = "instance"
_OTHERS: Final = 0o077


def token_of(data_dir: Path) -> str:
    """The bearer token of this data folder; made at the first start.

    Raises ConfigurationError if the file is readable by others: it may have been read.
    """
    return _made_once(data_dir / TOKEN_FILE, "tf_" + secrets.token_urlsafe(32))


def instance_of(data_dir: Path) -> InstanceId:
    """The id that containers, folders and processes of this data folder are marked with."""
    return InstanceId(_made_once(data_dir / INSTANCE_FILE, new_instance_id()))


def private_folder(path: Path) -> Path:
    """Make the folder if it isn't there, and close it to others. Raises ConfigurationError."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.chmod(0o700)
    except OSError as error:
        raise ConfigurationError(
            f"the folder can't be made or closed to others: {error.strerror}",
            where=str(path),
            remedy="choose another with --data-dir or TRUSTFLOOR_RUNTIME_DIR, or mend its owner",
        ) from error
    return path


def _made_once(path: Path, content: str) -> str:
    """The file's content; made whole or not at all, so that a kill in between leaves none."""
    if os.path.lexists(path):
        return _private_content(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(draft, flags, 0o600), "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(content + "\n")
        path.hardlink_to(draft)
    except FileExistsError:
        return _private_content(path)
    finally:
        draft.unlink(missing_ok=True)
    return content


def _private_content(path: Path) -> str:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)) as file:  # noqa: PTH123
        if os.fstat(file.fileno()).st_mode & _OTHERS:
            raise ConfigurationError(
                "this file may be read by others",
                where=str(path),
                remedy=f"if nobody could have read it: chmod 600 {path}; else remove it",
            )
        content = file.read().strip()
    if not content:
        raise ConfigurationError(
            "this file is empty", where=str(path), remedy="remove it and start again"
        )
    return content
