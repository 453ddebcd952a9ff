"""Programs that a command links, copies or prints to another path, where they are the same."""

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.bash.invocation import Direction, Invocation
from supervisor.policy.bash.kept_scripts import KeptScripts
from supervisor.policy.bash.places import flat, join
from supervisor.policy.bash.table import CommandTable
from supervisor.policy.bash.value import Value, known
from supervisor.policy.bash.variants import names_of

_GIVES: Final = frozenset({Act.READ, Act.LINK})
"""What happens to a file that gets another name, or is copied."""
_OUTPUT: Final = frozenset({None, 1})
_MOST_BEFORE: Final = 64
"""Effects in which the reads of those that feed a command are looked for."""
_MOST_PROGRAMS: Final = 8

Before = Callable[[Invocation], Sequence[Invocation]]
"""The commands that feed one, or stand in its `<(…)`."""


class Renamed:
    """Which programs a call puts where, told by the effects that its commands have."""

    def __init__(self, kept: KeptScripts, table: CommandTable, before: Before) -> None:
        self._kept = kept
        self._table = table
        self._before = before

    def by_itself(
        self, invocation: Invocation, own: Sequence[Effect], seen: Sequence[Effect]
    ) -> bool:
        """Keeps what a command puts where (`ln -s /usr/bin/env x`); whether it is any program.

        `own` are its effects, `seen` those of the call so far.
        """
        if (
            invocation.stdin is None
            and not invocation.substitutions
            and not self._may_name_programs(own)
        ):
            return False
        part = invocation.part
        places = [
            join(each.cwd or invocation.cwd, known(text.text))
            for each in own
            if each.act is Act.WRITE and each.part is part and each.target is not None
            for text in each.target.texts
        ]
        if not places:
            return False
        for _, stream in invocation.substitutions:
            for place in places:
                for text in stream.text.texts:
                    self._kept.hold(place, text.text)
        programs = list(self._given(own, {id(part)}, invocation.cwd))
        if not programs and invocation.stdin is not None:
            programs = list(self._fed(invocation, seen))
        return self._called(places, programs)

    def by_output(self, invocation: Invocation, seen: Sequence[Effect]) -> None:
        """The same of what it prints, or gets as `tee` (`cat /usr/bin/env > x`).

        A redirect without a program belongs to a group, one of `exec` to all that follows.
        """
        argv, part = invocation.argv, invocation.part
        if not argv or (len(argv) == 1 and argv[0].only == "exec"):
            start, end = (part.end, sys.maxsize) if argv else (part.start, part.end)
            self._kept.grouped(invocation, start, end)
            return
        if not self._may_give(invocation, seen):
            return
        places = written_by(invocation)
        if argv[0].only == "tee":
            places += [join(invocation.cwd, each) for each in argv[1:]]
        if places:
            self._called(places, list(self._fed(invocation, seen)))

    def at(self, place: Value, seen: Sequence[Effect]) -> tuple[str, ...]:
        """The programs that the call has put at a path; `seen` are its effects so far."""
        found = self._kept.programs(place)
        return found or (self._grouped(place, seen) if self._kept.groups else ())

    def _grouped(self, place: Value, seen: Sequence[Effect]) -> tuple[str, ...]:
        """The programs that a group of commands has printed to a path (`{ cat X; } > y`)."""
        found: dict[str, None] = {}
        path = flat(place.only or "")
        for group, start, end in self._kept.groups:
            if all(flat(each.only or "") != path for each in written_by(group, None)):
                continue
            for each in seen:
                if start <= each.part.start and each.part.end <= end and each.act in _GIVES:
                    found.update(dict.fromkeys(self._named(each, each.cwd or group.cwd)))
        return tuple(found)[:_MOST_PROGRAMS]

    def _fed(self, invocation: Invocation, seen: Sequence[Effect]) -> Iterator[str]:
        """The programs among what a command and those that feed it read."""
        chain = [invocation]
        stdin = invocation.stdin
        if (stdin is not None and stdin.sources) or invocation.substitutions:
            chain += self._before(invocation)
        for each in chain:
            for redirect in each.redirects:
                if redirect.direction in {Direction.READ, Direction.BOTH}:
                    yield from self._programs(redirect.target, each.cwd)
        if stdin is not None and stdin.path is not None:
            yield from self._programs(stdin.path, invocation.cwd)
        yield from self._given(
            seen[-_MOST_BEFORE:], {id(each.part) for each in chain}, invocation.cwd
        )

    def _may_name_programs(self, effects: Sequence[Effect]) -> bool:
        """Whether one of these reads or links what may be a program, by a path."""
        return self._kept.has_programs or any(
            each.only or any("/" in text.text for text in each.target.texts)
            for each in effects
            if each.act in _GIVES and each.target is not None
        )

    def _may_give(self, invocation: Invocation, seen: Sequence[Effect]) -> bool:
        """Whether anything is read so far that may be a program: mostly nothing is."""
        stdin = invocation.stdin
        if self._kept.reads or (stdin is not None and stdin.path is not None):
            return True
        return any(each.act in _GIVES for each in seen[-_MOST_BEFORE:])

    def _given(self, effects: Sequence[Effect], parts: set[int], cwd: Value) -> Iterator[str]:
        for each in effects:
            if each.act in _GIVES and id(each.part) in parts:
                yield from self._named(each, each.cwd or cwd)

    def _named(self, effect: Effect, cwd: Value) -> Iterator[str]:
        if effect.target is None:
            return
        yield from self._programs(effect.target, cwd)
        for name in effect.only:  # what a search finds there
            yield from self._programs(join(effect.target, known(name)), cwd)

    def _programs(self, target: Value, cwd: Value) -> Iterator[str]:
        """The programs that a path is, by its name or by what the call has put there."""
        kept, table = self._kept, self._table
        for text in target.texts:
            if "/" in text.text:
                names = islice(
                    names_of(Value((text,)), table.commands, table.families), _MOST_PROGRAMS
                )
                yield from (each for each in names if table.find(each) is not None)
            if kept.has_programs:
                yield from kept.programs(join(cwd, known(text.text)))

    def _called(self, places: Sequence[Value], programs: Sequence[str]) -> bool:
        for place in places if programs else ():
            self._kept.called(place, programs[:_MOST_PROGRAMS])
        return bool(places and programs)


def written_by(
    invocation: Invocation, descriptors: frozenset[int | None] | None = _OUTPUT
) -> list[Value]:
    """The files that redirects put a command's output into; None: those of all descriptors."""
    return [
        join(invocation.cwd, each.target)
        for each in invocation.redirects
        if each.direction is not Direction.READ
        and (descriptors is None or each.descriptor in descriptors)
    ]
