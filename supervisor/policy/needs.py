"""What a call that asks would need grants for, found by asking the decision itself."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from supervisor.policy.answers import by_tool_and_level
from supervisor.policy.call import Allow, Ask, Facts, ToolCall, Verdict
from supervisor.policy.compiled import Category, CompiledPolicy
from supervisor.policy.coverage import Coverage
from supervisor.policy.decide import decide
from supervisor.policy.grant_pattern import WHOLE
from supervisor.policy.judged import Judged
from supervisor.policy.permissions import Grant, GrantKind, GrantScope, Permissions
from supervisor.policy.wanted import COMMAND_FIELDS
from supervisor.policy.wants import Wants

FILE_CATEGORIES: Final = frozenset({Category.READ, Category.SEARCH, Category.WRITE})
MOST_NEEDS: Final = 24
"""Needs of one call; of one that has more, grants for its parts aren't looked for."""


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a grant must cover.

    For READ and WRITE a resolved `path` of the vault: with all that lies `below` it, or a `folder`
    whose names are listed; `program` is the one that writes it in a command. For BASH the `words`
    of one command. For TOOL the `tool` with the `hosts` that it reaches.
    """

    kind: GrantKind
    path: str = ""
    below: bool = False
    folder: bool = False
    program: str | None = None
    words: tuple[str, ...] = ()
    tool: str = ""
    hosts: tuple[str, ...] = ()

    def met_by(self, coverage: Coverage) -> bool:
        """Whether these permissions cover it."""
        if self.kind is GrantKind.READ:
            reads_all = coverage.reads_below(self.path)
            return reads_all if self.below else coverage.reads(self.path, folder=self.folder)
        if self.kind is GrantKind.WRITE:
            writes = coverage.writes_below if self.below else coverage.writes
            return writes(self.path, program=self.program)
        if self.kind is GrantKind.BASH:
            return coverage.runs_by_prefix(self.words)
        return coverage.uses_tool(self.tool, self.hosts)


@dataclass(frozen=True, slots=True)
class Asking:
    """A call that asks, with all that its verdict was made from. `now`: seconds since the epoch."""

    call: ToolCall
    wants: Wants
    facts: Facts
    policy: CompiledPolicy
    permissions: Permissions
    now: float = 0.0

    @property
    def command(self) -> str | None:
        """The call's command, if it has just one."""
        found = [self.call.input[key] for key in COMMAND_FIELDS if key in self.call.input]
        return found[0] if len(found) == 1 and isinstance(found[0], str) else None

    @property
    def judged(self) -> Judged:
        """The call with all that its verdict is made from."""
        category = self.policy.category(self.call.tool)
        return Judged(self.call, category, self.wants, self.facts, self.policy)

    def verdict(self) -> Verdict:
        """The verdict as it stands."""
        return decide(self.call, self.facts, self.policy, self.permissions, self.now, self.wants)

    def allowed_with(self, patterns: Iterable[tuple[GrantKind, str]]) -> bool:
        """Whether the call would run unasked if these were granted."""
        grants = [_grant(kind, pattern, self) for kind, pattern in patterns]
        permissions = replace(self.permissions, grants=(*self.permissions.grants, *grants))
        return isinstance(replace(self, permissions=permissions).verdict(), Allow)

    def held(self) -> Coverage:
        """What is covered already."""
        return Coverage(self.permissions, self.call.level, self.now)


@dataclass(frozen=True, slots=True)
class Needs:
    """What grants would have to cover for a call to run unasked.

    Either all of `parts`, if they aren't empty, or `whole`, the command as it stands. A call with
    neither can't be granted but by a person, each time.
    """

    level: str
    parts: tuple[Need, ...] = ()
    whole: str | None = None

    def met_by(self, coverage: Coverage) -> bool:
        """Whether these permissions alone cover the call."""
        if self.whole is not None and coverage.runs_exactly(self.whole):
            return True
        return bool(self.parts) and all(each.met_by(coverage) for each in self.parts)


def needs_of(asking: Asking) -> Needs:
    """The needs of a call that asks. Those of a call that doesn't are none."""
    level, command = asking.call.level.value, asking.command
    if not isinstance(asking.verdict(), Ask):
        return Needs(level)
    whole = (
        command if command and asking.allowed_with([(GrantKind.BASH, WHOLE + command)]) else None
    )
    return Needs(level, _parts(asking), whole)


def coverage_of(kind: GrantKind, pattern: str, asking: Asking) -> Coverage:
    """What one pattern covers by itself, at the call's level."""
    only = Permissions(trust_mode=False, grants=(_grant(kind, pattern, asking),))
    return Coverage(only, asking.call.level, asking.now)


def _parts(asking: Asking) -> tuple[Need, ...]:
    wish = _Wish(asking)
    if not wish.is_enough():
        return ()  # there is something that no permission covers
    held = asking.held()
    # A prefix that is held may not cover all that its command does.
    found = [n for n in wish.asked if n.kind is GrantKind.BASH or not n.met_by(held)]
    if len(found) > MOST_NEEDS:
        return ()
    for need in list(found):
        rest = [each for each in found if each != need]
        if _Wish(asking, rest).is_enough():
            found = rest  # asked, but nothing depends on the answer
    return tuple(found)


class _Wish(Coverage):
    """Permissions with some needs granted, or with all, which writes down what it is asked."""

    def __init__(self, asking: Asking, granted: Sequence[Need] | None = None) -> None:
        super().__init__(asking.permissions, asking.call.level, asking.now)
        self._asking = asking
        self._found: dict[Need, None] = {}
        self._given = granted
        self._held = asking.held()
        category = asking.policy.category(asking.call.tool)
        # Paths and commands are granted, not a tool with all that it reaches.
        self._by_tool = category not in FILE_CATEGORIES and (
            category is not Category.SHELL
            or not any(field in asking.call.input for field in COMMAND_FIELDS)
        )

    @property
    def asked(self) -> tuple[Need, ...]:
        return tuple(self._found)

    def is_enough(self) -> bool:
        """Whether the call is allowed with these."""
        asking = self._asking
        verdict = by_tool_and_level(asking.judged, asking.permissions, asking.now, self)
        return isinstance(verdict, Allow)

    def _is_met(self, need: Need) -> bool:
        self._found[need] = None
        return self._given is None or need in self._given or need.met_by(self._held)

    def reads(self, path: str, *, folder: bool = False) -> bool:
        return self._is_met(Need(GrantKind.READ, path=path, folder=folder))

    def reads_below(self, path: str) -> bool:
        return self._is_met(Need(GrantKind.READ, path=path, below=True))

    def writes(self, path: str, *, program: str | None = None) -> bool:
        return self._is_met(Need(GrantKind.WRITE, path=path, program=program))

    def writes_below(self, path: str, *, program: str | None = None) -> bool:
        return self._is_met(Need(GrantKind.WRITE, path=path, below=True, program=program))

    def runs_by_prefix(self, words: Sequence[str]) -> bool:
        return bool(self.prefixes(words))

    def prefixes(self, words: Sequence[str], *, asked: bool = True) -> tuple[tuple[str, ...], ...]:
        if asked:
            need = Need(GrantKind.BASH, words=tuple(words))
            self._found[need] = None
            if self._given is None or need in self._given:
                return (need.words,)  # the most that a prefix could cover
        return self._held.prefixes(words)

    def runs_exactly(self, command: str) -> bool:  # noqa: ARG002  (the base's)
        return False  # that is for the call as a whole

    def uses_tool(self, tool: str, hosts: Iterable[str] = ()) -> bool:
        need = Need(GrantKind.TOOL, tool=tool, hosts=tuple(hosts))
        return self._is_met(need) if self._by_tool else self._held.uses_tool(tool, need.hosts)


def _grant(kind: GrantKind, pattern: str, asking: Asking) -> Grant:
    return Grant("offered", GrantScope.SESSION, kind, pattern, asking.call.level)
