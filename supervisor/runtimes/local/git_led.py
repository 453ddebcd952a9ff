"""Where a vault's git configurations lead within the vault: hooks elsewhere, and more of them.

By what stands in the files now. They can't be written from a cage, and whoever writes them
meanwhile ends the turn, so it stays so.
"""

import errno
import os
from collections import deque
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.runtimes.local.git_config import Named, named_in
from supervisor.runtimes.local.led_links import below
from supervisor.storage.beneath import read_inside

MOST_FILES: Final = 1_000
"""Configurations that are read for one cage, included ones too."""
MOST_NAMED: Final = 10_000
"""Paths in all of them."""
_LARGEST: Final = 1 << 20


def led_to(vault: Path, configs: Collection[str], home: Path | None) -> Iterator[str]:
    """The places in the vault, as they are named, that these configurations (paths in it) name.

    A place need not be there. Links aren't followed: a place may be one, or lie behind one. Raises
    OSError E2BIG where there is more than can be looked at.
    """
    seen = set(configs)
    waiting = deque((config, _root_of(config)) for config in sorted(seen))
    count = 0
    while waiting:
        config, root = waiting.popleft()
        if len(seen) > MOST_FILES:
            raise _too_much(config)
        for named in named_in(_read(vault, config)):
            count += 1
            if count > MOST_NAMED:
                raise _too_much(config)
            start = PurePosixPath(config).parent if named.includes else root
            place = _place(vault, start, named, home)
            if place is None:
                continue
            yield place
            real = below(vault, os.path.realpath(vault / place))
            if named.includes and real is not None and real not in seen:
                seen.add(real)
                waiting.append((real, root))


def _too_much(config: str) -> OSError:
    return OSError(errno.E2BIG, "git's configuration names more than can be followed", config)


def _root_of(config: str) -> PurePosixPath:
    """Where hooks' paths begin: at the working tree; in a bare repository, at itself."""
    parts = PurePosixPath(config).parent.parts
    at = parts.index(".git") if ".git" in parts else len(parts)
    return PurePosixPath(*parts[:at])


def _read(vault: Path, config: str) -> str:
    try:
        with read_inside(vault, PurePosixPath(config)) as file:
            return file.read(_LARGEST).decode("utf-8", "surrogateescape")
    except OSError:
        return ""  # what we can't read, git can't either


def _place(vault: Path, start: PurePosixPath, named: Named, home: Path | None) -> str | None:
    path = named.path
    if path.startswith("~/") and home is not None:
        path = f"{home}/{path[2:]}"
    if "\0" in path or path.startswith(("~", "%(prefix)")):
        return None
    return below(vault, os.path.normpath(vault / start / path))
