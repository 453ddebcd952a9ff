"""Files that a call makes and runs itself: what text or program they are, as far as is known."""

from collections.abc import Sequence
from typing import Final

from supervisor.policy.bash.invocation import Direction, Invocation
from supervisor.policy.bash.places import flat, join
from supervisor.policy.bash.prints.made import makes, orders
from supervisor.policy.bash.shell.outputs import printed
from supervisor.policy.bash.value import HOLE, Value, known

_MOST: Final = 32
_READS: Final = frozenset({Direction.READ, Direction.BOTH})


class KeptScripts:
    """Texts that commands of a call put into files, by the files' absolute paths."""

    def __init__(self) -> None:
        self.empty = True
        """Whether the call has put nothing into files so far, as far as it has been looked at."""
        self.reads = False
        """Whether a redirect of the call reads a file."""
        self._texts: dict[str, str] = {}
        self._likely: dict[str, list[str]] = {}
        """Texts that a file may hold whose content can't be told."""
        self._perhaps: dict[str, list[str]] = {}
        """Texts that a file may hold of which nothing else is known."""
        self._noted: list[Invocation] = []
        self._programs: dict[str, tuple[str, ...]] = {}
        """Programs by the absolute paths that the call has linked, copied or moved them to."""
        self.groups: list[tuple[Invocation, int, int]] = []
        """Redirects of more than one command, with where in the text those stand."""

    def note(self, invocation: Invocation) -> None:
        """Remembers a command whose output, or whose input as `tee`, is left in files."""
        self._noted.append(invocation)
        self.empty = False
        for each in invocation.redirects:
            self.reads = self.reads or each.direction in _READS

    def hold(self, place: Value, text: str) -> None:
        """Remembers what code puts into a file, or may put there."""
        path = place.only
        if path is not None and path.startswith("/") and len(self._likely) < _MOST:
            self._texts.setdefault(flat(path), HOLE)
            self._likely.setdefault(flat(path), []).append(text)
            self.empty = False

    def perhaps(self, place: Value, text: str) -> None:
        """Remembers what the call may put into a file, for where that can't be told otherwise."""
        path = place.only
        if path is not None and path.startswith("/") and len(self._perhaps) < _MOST:
            self._perhaps.setdefault(flat(path), []).append(text)
            self.empty = False

    def called(self, place: Value, programs: Sequence[str]) -> None:
        """Remembers that a program, or one of several, is now at another path too."""
        path = place.only
        if path is not None and path.startswith("/") and len(self._programs) < _MOST:
            self._programs[flat(path)] = tuple(dict.fromkeys(programs))
            self.empty = False

    def grouped(self, group: Invocation, start: int, end: int) -> None:
        """Remembers a redirect of the output of all that stands in a stretch of the call's text."""
        if len(self.groups) < _MOST:
            self.groups.append((group, start, end))

    @property
    def has_programs(self) -> bool:
        """Whether the call has put a program at another path."""
        return bool(self._programs)

    def programs(self, place: Value) -> tuple[str, ...]:
        """The programs that this call has put at a path."""
        path = place.only
        return self._programs.get(flat(path), ()) if path is not None and self._programs else ()

    def programs_named(self, name: str) -> tuple[str, ...]:
        """The programs that this call has put at some path under another name."""
        if not self._programs:
            return ()
        return tuple(
            each
            for path, programs in self._programs.items()
            if path.rpartition("/")[2] == name
            for each in programs
            if each.rpartition("/")[2] != name
        )

    def _look_through(self) -> None:
        """What the commands noted so far leave; most calls never ask."""
        for each in self._noted:
            self._leave(each)
        self._noted.clear()
        self.empty = not (self._texts or self._likely or self._programs or self._perhaps)

    def _leave(self, invocation: Invocation) -> None:
        if len(self._texts) >= _MOST:
            return
        words = [each.only for each in invocation.argv]
        given = invocation.stdin.text.only if invocation.stdin is not None else None
        if words and words[0] == "tee" and invocation.stdin is not None:
            likely = [each.text for each in invocation.stdin.text.texts if each.text.strip(HOLE)]
            for each in invocation.argv[1:]:
                place = join(invocation.cwd, each)
                self._put(place, HOLE if given is None else given, append="-a" in words)
                if given is None and place.only is not None:
                    self._likely.setdefault(flat(place.only), []).extend(likely)
        for redirect in invocation.redirects:
            if redirect.direction is Direction.READ or redirect.descriptor not in {None, 1}:
                continue
            text = ""
            if words:
                text = _output([each for each in words if each is not None], len(words), given)
            place = join(invocation.cwd, redirect.target)
            self._put(place, text, append=redirect.direction is Direction.APPEND)
            if HOLE in text and place.only is not None:
                plain = [each for each in words if each is not None]
                made = orders(plain, given) if plain and makes(plain[0]) else []
                self._likely.setdefault(flat(place.only), []).extend(made)

    def _put(self, place: Value, text: str, *, append: bool) -> None:
        path = place.only
        if path is not None and path.startswith("/"):
            key = flat(path)
            self._texts[key] = self._texts.get(key, "") + text if append else text

    def of(self, place: Value) -> Value | None:
        """The text of a file, if this call wrote it."""
        path = place.only
        if path is None or not path.startswith("/"):
            return None
        if self._noted:
            self._look_through()
        if not self._texts and not self._perhaps:
            return None
        text = self._texts.get(flat(path), HOLE if flat(path) in self._perhaps else None)
        if text is None:
            return None
        if HOLE not in text and (text.strip() or flat(path) not in self._perhaps):
            others = (
                each for each in self._perhaps.get(flat(path), ()) if each.strip() != text.strip()
            )
            return known(text, *others)
        text = text or HOLE
        return known(text, *self._likely.get(flat(path), ()), *self._perhaps.get(flat(path), ()))


def _output(words: list[str], count: int, given: str | None) -> str:
    text = printed(words, given) if len(words) == count else None
    return HOLE if text is None else text
