"""Small files that a data folder is known by, readable by us alone; most are made only once."""

import os
import secrets
from pathlib import Path
from typing import Final

from supervisor.errors import ConfigurationError
from supervisor.ids import InstanceId, new_instance_id

TOKEN_FILE: Final = "token"  # noqa: S105  (a file's name)
INSTANCE_FILE: Final = "instance"
BINDING_FILE: Final = "binding"
VAULT_FILE: Final = "vault"
_OTHERS: Final = 0o077


def token_of(data_dir: Path) -> str:
    """The bearer token of this data folder; made at the first start.

    Raises ConfigurationError if the file is readable by others: it may have been read.
    """
    return _made_once(data_dir / TOKEN_FILE, "tf_" + secrets.token_urlsafe(32))


def instance_of(data_dir: Path) -> InstanceId:
    """The id that containers, folders and processes of this data folder are marked with."""
    return InstanceId(_made_once(data_dir / INSTANCE_FILE, new_instance_id()))


def binding_secret_of(data_dir: Path) -> str:
    """The secret with which this data folder seals the databases that are its own."""
    return _made_once(data_dir / BINDING_FILE, secrets.token_hex(32))


def remember_vault(data_dir: Path, vault: Path) -> None:
    """Note which vault the supervisor of this data folder works on, for commands beside it."""
    draft = data_dir / f".{VAULT_FILE}.{secrets.token_hex(8)}"
    draft.write_bytes(os.fsencode(vault))
    draft.chmod(0o600)
    draft.replace(data_dir / VAULT_FILE)


def remembered_vault(data_dir: Path) -> Path | None:
    """The vault of the supervisor that runs over this data folder, or ran last."""
    try:
        return Path(os.fsdecode((data_dir / VAULT_FILE).read_bytes()))
    except (OSError, ValueError):
        return None


def private_folder(path: Path) -> Path:
    """Make the folder if it isn't there, and close it to others.

    Raises ConfigurationError, also for a link and for a folder of another user's: in a folder that
    all may write to, such as `/tmp`, somebody else could have put it there first.
    """
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(folder).st_uid != os.geteuid():
                raise _not_private(path, "it belongs to another user")
            os.fchmod(folder, 0o700)
        finally:
            os.close(folder)
    except OSError as error:
        is_link = os.path.islink(path)  # noqa: PTH114 - never raises
        why = "it is a link" if is_link else error.strerror
        raise _not_private(path, str(why)) from error
    return path


def _not_private(path: Path, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"the folder can't be made or closed to others: {why}",
        where=str(path),
        remedy="choose another with --data-dir or TRUSTFLOOR_RUNTIME_DIR, or mend its owner",
    )


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
