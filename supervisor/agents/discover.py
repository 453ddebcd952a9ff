"""Finds agent files in a vault and reads them: the good ones, and the broken ones with why.

Links aren't followed, so an agent's limits lie where the vault's owner put them. A file that became
broken defines no agent any more: its last good version may allow what the person took away.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.agents.definition import AgentDefinition
from supervisor.agents.frontmatter import LARGEST_FILE
from supervisor.agents.parse import parse_agent
from supervisor.errors import ConfigurationError, InvalidRequest, NotFound
from supervisor.policy.fault import PolicyFault
from supervisor.storage.beneath import read_inside

FOLDERS: Final = ("agents", ".claude/agents")
"""Folders of the vault that agent files lie in, at any depth."""
MOST_FILES: Final = 1_000
"""Agent files of a vault; those beyond are reported, not read."""
DEEPEST: Final = 8
"""Folders below the agents' folder that are looked into."""

_NO_AGENTS: Final = frozenset({"readme.md", "agents.md", "claude.md"})
"""Notes about the folder itself."""


@dataclass(frozen=True, slots=True)
class Agents:
    """What was found: definitions by path, and what is wrong with the other files."""

    good: tuple[AgentDefinition, ...]
    broken: tuple[PolicyFault, ...]

    def find(self, wanted: str) -> AgentDefinition:
        """The agent at this path (relative to the vault), or the one of this name.

        Raises NotFound; InvalidRequest for a broken file, with what is wrong, and for a name that
        several agents have.
        """
        path = str(PurePosixPath(wanted.strip().removeprefix("/")))
        paths = {path, f"{path}.md"}
        name = wanted.strip().casefold()
        named = [each for each in self.good if each.path in paths] or [
            each for each in self.good if each.name.casefold() == name
        ]
        # A broken file has no name but its own; where no agent is called so, it is the one meant.
        fault = next(
            (
                each
                for each in self.broken
                if each.file in paths
                or (not named and PurePosixPath(each.file).stem.casefold() == name)
            ),
            None,
        )
        if fault is not None:
            raise InvalidRequest(
                f"the agent can't be used: {fault.place}: {fault.expected}",
                where="agentPath",
                remedy=fault.remedy or "mend the file",
            )
        if len(named) > 1:
            raise InvalidRequest(
                f"several agents are called {wanted!r}: {', '.join(each.path for each in named)}",
                where="agentPath",
                remedy="give the path of one",
            )
        if not named:
            raise NotFound(
                "no agent has this path or name",
                where="agentPath",
                remedy="see the agents there are: GET /api/agents, or: trustfloor agents",
            )
        return named[0]


class AgentFiles:
    """The agent files of one vault; what hasn't changed since isn't read again."""

    def __init__(self, vault: Path) -> None:
        self._vault = vault
        self._known: dict[str, tuple[tuple[int, ...], AgentDefinition | PolicyFault]] = {}

    def read(self) -> Agents:
        """All agents as they are on the disk now. Blocks; never raises for a file's sake."""
        found: dict[str, tuple[tuple[int, ...], AgentDefinition | PolicyFault]] = {}
        skipped: list[PolicyFault] = []
        for path, problem in self._files():
            if problem is not None:
                skipped.append(PolicyFault(path, problem))
            elif len(found) >= MOST_FILES:
                skipped.append(PolicyFault(path, f"at most {MOST_FILES} agent files are read"))
                break
            else:
                found[path] = self._one(path)
        self._known = found
        each = [result for _, result in found.values()]
        return Agents(
            good=tuple(a for a in each if isinstance(a, AgentDefinition)),
            broken=(*(f for f in each if isinstance(f, PolicyFault)), *skipped),
        )

    def _files(self) -> Iterator[tuple[str, str | None]]:
        for folder in FOLDERS:
            yield from _markdown_below(self._vault, PurePosixPath(folder), DEEPEST)

    def _one(self, path: str) -> tuple[tuple[int, ...], AgentDefinition | PolicyFault]:
        try:
            opened = read_inside(self._vault, PurePosixPath(path))
        except OSError as error:
            return (), PolicyFault(path, f"can't be read: {error.strerror}")
        with opened as file:
            status = os.fstat(file.fileno())
            version = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns,
                       status.st_ctime_ns)  # fmt: skip
            before = self._known.get(path)
            if before is not None and before[0] == version:
                return before
            content = file.read(LARGEST_FILE + 1)
        try:
            return version, parse_agent(path, content)
        except ConfigurationError as error:
            return version, PolicyFault.of(error)


def _markdown_below(
    vault: Path, folder: PurePosixPath, depth: int
) -> Iterator[tuple[str, str | None]]:
    """Paths of Markdown files, sorted, each with why it isn't read, if so."""
    try:
        with os.scandir(vault / folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        yield str(folder), f"can't be listed: {error.strerror}"
        return
    if stat.S_ISLNK(os.lstat(vault / folder).st_mode):
        yield str(folder), "is a link, and links aren't followed to agents"
        return
    for entry in inside:
        path = folder / entry.name
        if entry.is_dir(follow_symlinks=False):
            if depth > 0:
                yield from _markdown_below(vault, path, depth - 1)
        elif entry.name.lower().endswith(".md") and entry.name.lower() not in _NO_AGENTS:
            linked = entry.is_symlink()
            yield str(path), "is a link, and links aren't followed to agents" if linked else None
