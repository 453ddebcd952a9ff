"""What a session's own permissions and its grants cover."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from supervisor.policy.grant_pattern import (
    WHOLE,
    covered_words,
    covers_call,
    covers_command,
    covers_path,
    covers_tool,
)
from supervisor.policy.permissions import GrantKind, Permissions
from supervisor.trust.levels import TrustLevel

CHANGERS = frozenset(
    """rm rmdir mkdir touch mv cp ln install chmod chown chgrp tee truncate unlink rsync
    unzip zip tar gzip gunzip gcc g++ cc c++ clang clang++ ld as rustc go gofmt javac terraform tofu
    pandoc asciidoctor prettier eslint stylelint biome standard xo rubocop black ruff isort autopep8
    yapf shfmt clang-format rustfmt ktlint""".split()  # noqa: SIM905  (a table to read)
)
"""Programs whose trade is to change files, or to make them from others."""

_CHILD = "\u2042"  # no file is called so: it stands for any name in a folder


class Coverage:
    """What may be done unasked, for the calls of one session at one level and moment.

    Paths are relative to the vault and resolved. What a pattern means is `grant_pattern`'s matter.
    """

    def __init__(self, permissions: Permissions, level: TrustLevel, now: float) -> None:
        self._permissions = permissions
        self._level = level
        self._now = now
        self.any_command = permissions.bash is True
        self._names_commands = bool(permissions.grants) or isinstance(permissions.bash, tuple)

    def _granted(self, kind: GrantKind) -> Iterator[str]:
        for grant in self._permissions.grants:
            live = grant.expires_at is None or self._now < grant.expires_at
            if grant.kind is kind and grant.level is self._level and live:
                yield grant.pattern

    @cached_property
    def _read(self) -> tuple[str, ...]:
        return (*self._permissions.read, *self._granted(GrantKind.READ))

    @cached_property
    def _write(self) -> tuple[str, ...]:
        return (*self._permissions.write, *self._granted(GrantKind.WRITE))

    @cached_property
    def _bash(self) -> tuple[str, ...]:
        named = self._permissions.bash
        return (*(named if isinstance(named, tuple) else ()), *self._granted(GrantKind.BASH))

    @cached_property
    def _prefixes(self) -> tuple[str, ...]:
        return tuple(each for each in self._bash if not each.startswith(WHOLE))

    def reads(self, path: str, *, folder: bool = False) -> bool:
        """Whether a file may be read, or a folder's names listed."""
        return _matches(self._read, path) or (folder and _matches(self._read, _below(path, _CHILD)))

    def reads_below(self, path: str) -> bool:
        """Whether all that lies below a folder may be read."""
        return _matches_below(self._read, path)

    def writes(self, path: str, *, program: str | None = None) -> bool:
        """Whether a file may be written. `program` is the one that does it in a command.

        Write permission for the whole vault is meant for tools that show what they write. In a
        command it covers programs that change files by their trade, not the redirect or the side
        option of any other: that needs a narrower glob.
        """
        return _matches(self._narrowed(program), path)

    def writes_below(self, path: str, *, program: str | None = None) -> bool:
        """Whether all that lies below a folder may be written."""
        return _matches_below(self._narrowed(program), path)

    def writes_whole(self, path: str, *, program: str | None = None) -> bool:
        """Whether a folder and all that lies below it may be written."""
        whole = path != "." and _matches(self._narrowed(program), path)
        return whole and self.writes_below(path, program=program)

    def _narrowed(self, program: str | None) -> Sequence[str]:
        if program is None or program.rsplit("/", 1)[-1] in CHANGERS:
            return self._write
        return [each for each in self._write if each.strip("*/")]

    def runs_by_prefix(self, words: Sequence[str]) -> bool:
        """Whether a prefix is the leading words of a command: word by word, not by its letters."""
        return any(covers_command(each, words) for each in self._prefixes)

    def prefixes(
        self,
        words: Sequence[str],
        *,
        asked: bool = True,  # noqa: ARG002  (matters to those who write down what they are asked)
    ) -> tuple[tuple[str, ...], ...]:
        """The prefixes that are the leading words of a command, what each covers is `implied`'s.

        `asked` says that the command needs one.
        """
        found = (covered_words(each, words) for each in self._prefixes)
        return tuple(each for each in found if each)

    def runs_exactly(self, command: str) -> bool:
        """Whether this very command, letter by letter, was granted."""
        return self._names_commands and any(covers_call(each, command) for each in self._bash)

    def uses_tool(self, tool: str, hosts: Iterable[str] = ()) -> bool:
        """Whether a tool was granted, or each of the hosts that it reaches was."""
        granted = tuple(self._granted(GrantKind.TOOL))
        reached = [[host] for host in hosts]
        return any(covers_tool(each, tool) for each in granted) or (
            bool(reached)
            and all(any(covers_tool(each, tool, host) for each in granted) for host in reached)
        )


def _below(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"


def _matches_below(patterns: Sequence[str], folder: str) -> bool:
    return _matches(patterns, _below(folder, _CHILD)) and _matches(
        patterns, _below(folder, f"{_CHILD}/{_CHILD}/{_CHILD}")
    )


def _matches(patterns: Sequence[str], path: str) -> bool:
    return any(covers_path(each, path) for each in patterns)
