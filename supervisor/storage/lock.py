"""One supervisor per data folder and per database: a lock that ends with its holder."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from supervisor.clock import Clock
from supervisor.errors import ConfigurationError, DataFolderInUse, VaultInUse
from supervisor.storage.timestamp import SystemClock, to_text


@contextmanager
def hold_data_folder(data: Path, clock: Clock | None = None) -> Iterator[None]:
    """Be the only supervisor of this data folder while the block lasts.

    Raises DataFolderInUse, naming the holder. A killed holder leaves no lock behind.
    """
    in_use = DataFolderInUse(
        f"another supervisor uses the data folder {data}",
        remedy="stop that one, or give this one a data folder of its own with --data-dir",
    )
    with _hold(data / "lock", in_use, clock):
        yield


@contextmanager
def hold_database(path: Path, clock: Clock | None = None) -> Iterator[None]:
    """Be the only supervisor on this database: two data folders can't share one.

    The lock file lies beside it (`{name}.lock`). Raises VaultInUse, naming the holder.
    """
    in_use = VaultInUse(
        f"another supervisor works on this vault: it holds {path}",
        remedy="stop that one, or give this one another vault with --vault;"
        " a data folder of its own doesn't help, as sessions are kept in the vault",
    )
    with _hold(path.with_name(path.name + ".lock"), in_use, clock):
        yield


@contextmanager
def _hold(path: Path, in_use: DataFolderInUse, clock: Clock | None) -> Iterator[None]:
    descriptor = _open(path)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            in_use.where = _describe_holder(path, descriptor)
            raise in_use from None
        started = to_text((clock or SystemClock()).now())
        holder = json.dumps({"pid": os.getpid(), "started": started}).encode()
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, holder + b"\n", 0)
        # The file is never removed: a second holder could lock the removed one and a third the new.
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not followed, as it may lie in the vault, where agents can make symlinks. Not inherited
        # either (Python's default): a child that outlives us must not hold our lock.
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise ConfigurationError(
            f"the lock file can't be opened: {error.strerror}",
            where=str(path),
            remedy="check that the folder exists, is yours and can be written",
        ) from error


def _describe_holder(path: Path, descriptor: int) -> str:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
        return f"{path}: process {int(holder['pid'])}, since {holder['started']}"
    except (ValueError, KeyError, TypeError):
        return f"{path}: its holder has not said who it is yet"
