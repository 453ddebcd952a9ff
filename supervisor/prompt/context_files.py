"""Reads what goes into a prompt from the vault: instructions on the way to a folder, and context.

No link is followed and nothing on the deny list is read: a prompt reaches the model whole.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.policy.deny_list import DenyList
from supervisor.policy.grant_pattern import covers_path
from supervisor.prompt.sections import INSTRUCTIONS, ContextFile
from supervisor.storage.beneath import read_inside

LARGEST_FILE: Final = 1_048_576
"""Bytes of one file that are read."""
MOST_LOOKED_AT: Final = 20_000
"""Entries of the vault that are looked through for an agent's context."""
MOST_FILES: Final = 500


def instructions(
    vault: Path, folders: Iterable[PurePosixPath], hidden: DenyList
) -> tuple[ContextFile, ...]:
    """The instructions of each folder and of all above it, the vault's own first. Blocks."""
    found: dict[str, ContextFile] = {}
    texts: set[str] = set()
    for folder in folders:
        ways = [PurePosixPath(*folder.parts[:n]) for n in range(len(folder.parts) + 1)]
        for name in (way / each for way in ways for each in INSTRUCTIONS):
            file = None if str(name) in found else _read(vault, name, hidden)
            if file is not None and file.text.strip() not in texts:
                found[file.path] = file
                texts.add(file.text.strip())
    return tuple(found.values())


def chosen(
    vault: Path, include: Sequence[str], exclude: Sequence[str], hidden: DenyList
) -> tuple[ContextFile, ...]:
    """The files that globs relative to the vault choose, by path. Blocks."""
    found = []
    if include:
        for path in _below(vault):
            wanted = any(covers_path(glob, path) for glob in include)
            if wanted and not any(covers_path(glob, path) for glob in exclude):
                file = _read(vault, PurePosixPath(path), hidden)
                if file is not None:
                    found.append(file)
            if len(found) >= MOST_FILES:
                break
    return tuple(found)


def one(vault: Path, path: str, hidden: DenyList) -> tuple[ContextFile, ...]:
    """That one file, if it is there and may be read. Blocks."""
    file = _read(vault, PurePosixPath(path), hidden)
    return () if file is None else (file,)


def _read(vault: Path, path: PurePosixPath, hidden: DenyList) -> ContextFile | None:
    if hidden.match(str(path)) is not None:
        return None
    try:
        opened = read_inside(vault, path)
    except OSError:
        return None
    with opened as file:
        if os.fstat(file.fileno()).st_nlink > 1:
            return None  # it may be a denied file under another name
        content = file.read(LARGEST_FILE)
    text = content.decode("utf-8-sig", errors="replace")
    return ContextFile(str(path), text) if text.strip() else None


def _below(vault: Path) -> Iterator[str]:
    """Paths of regular files of the vault in order, hidden folders left out."""
    looked = 0
    for folder, folders, files in os.walk(vault):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(files):
            looked += 1
            if looked > MOST_LOOKED_AT:
                return
            yield str(PurePosixPath(folder, name).relative_to(vault))
