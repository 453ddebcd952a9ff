"""What single commands did in calls before, where that follows from their own words alone."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from supervisor.policy.bash.effect import Effect
from supervisor.policy.bash.invocation import Fixed, Invocation, Part, Stdin
from supervisor.policy.bash.value import HOLE, Value

MOST: Final = 1_024
"""Commands that are remembered; as many of the ones before may still be there."""
LONGEST: Final = 1_024
"""Characters of all that tells one command from another."""
MOST_EFFECTS: Final = 32
"""Effects of one command."""
MOST_STARTED: Final = 8
"""Commands that one command starts."""


class Key(NamedTuple):
    """All that the effects of a command follow from, each in a field of its own."""

    words: tuple[str, ...]
    folder: str
    home: str
    builtin: bool
    given: tuple[object, ...] | None
    """The input and what feeds it; None where that is the terminal."""
    feeds: tuple[str, ...]
    wrote: bool
    """Whether the call has put anything into files before: a command may run one of these."""


Held: TypeAlias = tuple[tuple[Effect, ...], tuple[Invocation, ...], Stdin | None]
"""What a command did, as it stood in the call where it was met: its effects, the commands that it
started (`timeout 9 pytest`) with all that these did, and its input."""


class Memory:
    """Effects of commands by their words, folders and input: the same key, the same effects.

    It belongs to one table of commands. Each step on it is one operation of a dict, so threads
    may share it: at worst, something is worked out twice.
    """

    __slots__ = ("_before", "_now")

    def __init__(self) -> None:
        self._now: dict[Key, Held] = {}
        self._before: dict[Key, Held] = {}

    def get(self, key: Key) -> Held | None:
        """What is remembered."""
        held = self._now.get(key)
        if held is None:
            held = self._before.get(key)
            if held is not None:
                self._put(key, held)
        return held

    def hold(
        self,
        key: Key,
        effects: Sequence[Effect],
        invocation: Invocation,
        started: Sequence[Invocation] = (),
    ) -> None:
        """Remembers the effects of a command, if they are few and stand where it does."""
        if len(effects) > MOST_EFFECTS or len(started) > MOST_STARTED:
            return
        part = invocation.part
        for each in effects:
            if each.part is not part:
                return
        self._put(key, (tuple(effects), tuple(started), invocation.stdin))

    def clear(self) -> None:
        """Forgets everything."""
        self._now, self._before = {}, {}

    def _put(self, key: Key, held: Held) -> None:
        if len(self._now) >= MOST:
            self._before, self._now = self._now, {}
        self._now[key] = held


def place_of(folder: Value) -> str | None:
    """A folder as part of a key, if it is known for sure."""
    texts = folder.texts
    only = texts[0]
    plain = type(folder) is Value and not (folder.from_data or only.many)
    return only.text if plain and len(texts) == 1 and only.pattern is None else None


def key_of(invocation: Invocation, folder: str, home: str, *, wrote: bool) -> Key | None:
    """All that the effects of a command may follow from, if that is little and known for sure.

    None where they may follow from more: variables, words with several texts, globs. Redirects are
    looked at apart from the command.
    """
    if invocation.environment or invocation.substitutions or invocation.streams:
        return None
    argv = invocation.argv
    if type(argv) is not Fixed and not _are_certain(argv):
        return None
    words = tuple([word.texts[0].text for word in argv])
    said = "".join(words)
    if len(said) > LONGEST or HOLE in said:
        return None
    stdin = invocation.stdin
    given = None
    if stdin is not None:
        given = _given(stdin)
        if given is None:
            return None
    return Key(words, folder, home, invocation.builtin, given, invocation.feeds, wrote)


def _are_certain(argv: Sequence[Value]) -> bool:
    """Whether each word is one text, no pattern and of no data, whatever is in it."""
    for word in argv:
        if word.from_data or len(word.texts) != 1 or type(word) is not Value:
            return False
        text = word.texts[0]
        if text.pattern is not None or text.many:
            return False
    return True


def _given(stdin: Stdin) -> tuple[object, ...] | None:
    """An input as part of a key, if it is one text, and short."""
    value = stdin.text
    if stdin.path is not None or type(value) is not Value or len(value.texts) != 1:
        return None
    only = value.texts[0]
    if len(only.text) > LONGEST:
        return None
    return (only.text, only.pattern, only.many, value.from_data, stdin.sources)


def started_by(invocation: Invocation, held: Held) -> list[Invocation]:
    """What a command starts that is remembered, in the circumstances of the call at hand."""
    _, started, stdin = held
    return [
        replace(
            each,
            part=invocation.part,
            stdin=invocation.stdin if each.stdin is stdin else each.stdin,
            background=invocation.background,
            in_endless_loop=invocation.in_endless_loop,
        )
        for each in started
    ]


def placed_at(part: Part, effect: Effect) -> Effect:
    """An effect that is remembered, at its place in the call at hand."""
    e = effect
    return Effect(
        e.act, e.program, part, e.reason, e.target, e.cwd, e.recursive, e.severe, e.elsewhere,
        e.named, e.words, e.harmless, e.only, e.aside, e.listed,
    )  # fmt: skip
