"""A command of a shell → its effects: read, looked up in the table, and followed where it leads."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Final

from supervisor.policy.bash.aftermath import aftermath
from supervisor.policy.bash.apply import apply
from supervisor.policy.bash.carried import counts, perhaps_carries
from supervisor.policy.bash.containers import elsewhere
from supervisor.policy.bash.effect import Act, Analysis, Effect, ShellContext
from supervisor.policy.bash.feeders import filled, perhaps_read, program_of
from supervisor.policy.bash.invocation import Invocation, Part, Reading
from supervisor.policy.bash.kept_scripts import KeptScripts
from supervisor.policy.bash.memory import Memory, key_of, place_of, placed_at
from supervisor.policy.bash.options import Parsed, parse
from supervisor.policy.bash.places import Found, join, spread
from supervisor.policy.bash.read import Budget, Shell, read_script
from supervisor.policy.bash.readers import READ_BY
from supervisor.policy.bash.redirects import redirects, variables
from supervisor.policy.bash.table import Command, CommandTable, Operands, Role
from supervisor.policy.bash.use import GUESSED, IN_DOUBT, Use, plain_words
from supervisor.policy.bash.value import HOLE, Text, Value, known

DEEPEST: Final = 16
"""Texts within texts, and commands that start commands."""
MOST_COMMANDS: Final = 3_000
MOST_EFFECTS: Final = 20_000
_MOST_VARIANTS: Final = 24
_MOST_FEEDERS: Final = 8
_READS: Final = frozenset({"read", "mapfile", "readarray"})
_UNKNOWN_PROGRAM: Final = Command(Operands(middle=Role("either")))
_GUESSED: Final = frozenset({"doubt", "either"})
_GIVES: Final = frozenset({Act.READ, Act.LINK})
"""What happens to a file that gets another name, or is copied."""


def analyse(
    command: str, context: ShellContext, table: CommandTable, memory: Memory | None = None
) -> Analysis:
    """What the command does, as far as that can be told; never raises, and ends in bounded time.

    `memory` is of calls with this very table.
    """
    look = _Look(context, table, memory)
    part = Part(0, len(command))
    try:
        look.read(read_script(command, Shell.fresh(context), look.budget))
    except RecursionError:
        look.limit(part, "nested too deeply to be followed")
    effects = aftermath(look.effects, look.seen)
    if look.repeats:
        effects = list(dict.fromkeys(effects))
    complete = look.complete and not look.budget.exhausted
    return Analysis(tuple(effects), complete, tuple(look.notes))


class _Look:
    """The analysis of one call, while it goes on."""

    def __init__(
        self, context: ShellContext, table: CommandTable, memory: Memory | None = None
    ) -> None:
        self.table = table
        self.memory = memory
        self.context = context
        self.home = context.home
        self.budget = Budget()
        self.effects: list[Effect] = []
        self.seen: list[Invocation] = []
        self.complete = True
        self.repeats = False
        """Whether the same command may have been looked at more than once."""
        self.notes: list[str] = []
        self.asked = 0
        """How often a reader asked for more than its own command's words, or started something."""
        self._cwd: Value | None = None
        self._place: str | None = None
        """The folder of the last command, and what it is as part of a key."""
        self._kept = KeptScripts()
        self._indexed = 0
        self._by_name: dict[str, list[tuple[int, Invocation]]] = {}
        """What was seen, up to the command `_indexed`, by the first word and with its number."""
        self._reading: Invocation | None = None
        self._depth = 0

    @property
    def kept(self) -> KeptScripts:
        """What the call has put into files so far."""
        self.asked += not self._kept.empty
        return self._kept

    def add(self, effect: Effect) -> None:
        """Adds an effect."""
        self.effects.append(effect)

    def feeders(self, invocation: Invocation) -> list[Invocation]:
        """The commands of this call that feed this one, in the order of their text."""
        self.asked += 1
        stdin = invocation.stdin
        if stdin is None:
            return []
        self._index()
        found = [
            (number, each)
            for name in set(stdin.sources)
            for number, each in self._by_name.get(name, ())[-_MOST_FEEDERS - 1 :]
            if invocation is not each
        ]
        found.sort(key=itemgetter(0))
        return [each for _, each in found[-_MOST_FEEDERS:]]

    def reading(self) -> Invocation | None:
        """The last `read` that gets what a command prints through a pipe."""
        self.asked += 1
        self._index()
        return self._reading

    def within(self, part: Part) -> list[Invocation]:
        """The commands that stand inside of a part of the call, in the order of their text."""
        self.asked += 1
        return [
            each
            for each in self.seen[-_MOST_FEEDERS:]
            if each.argv and part.start < each.part.start and each.part.end < part.end
        ]

    def gathered(self, do: Callable[[], None]) -> list[Effect]:
        """The effects of `do`, which are then nowhere else."""
        before, self.effects = self.effects, []
        try:
            do()
            return self.effects
        finally:
            self.effects = before

    def limit(self, part: Part, reason: str) -> None:
        """Says once that the look was cut short."""
        self.asked += 1
        if self.complete:
            self.complete = False
            self.add(Effect(Act.UNKNOWN, "", part, reason))

    def read(self, reading: Reading, around: Invocation | None = None) -> None:
        """All that a script would start."""
        for bomb in reading.bombs:
            self.add(Effect(Act.EXHAUST, "", bomb, "starts itself without end"))
        for each in reading.unresolved:
            self.add(Effect(Act.UNKNOWN, "", each.part, each.reason))
        for invocation in reading.invocations:
            if around is not None:
                invocation = _inside(invocation, around)  # noqa: PLW2901 - the same, placed
            self.run(invocation)

    def script(self, text: Value, around: Invocation, shell: str = "bash") -> None:
        """Looks at text that a shell runs, in the circumstances of the command around it."""
        self.asked += 1
        if self._depth >= DEEPEST:
            self.limit(around.part, "nested too deeply to be followed")
            return
        self._depth += 1
        self.repeats = True
        try:
            if len(text.texts) > _MOST_VARIANTS:
                self.limit(around.part, "runs too many texts to be followed")
            state = self._shell(around)
            for each in text.texts[:_MOST_VARIANTS]:
                reading = read_script(each.text, state, self.budget, around.part)
                if HOLE in each.text and not reading.unresolved:
                    why = "runs text that can't be told before it runs"
                    self.add(Effect(Act.UNKNOWN, shell, around.part, why, cwd=around.cwd))
                self.read(reading, around)
        finally:
            self._depth -= 1

    def _shell(self, around: Invocation) -> Shell:
        """The state of a shell that a command starts; its words are the shell's arguments."""
        variables = {name: known(text) for name, text in self.context.environment.items()}
        variables.update(around.environment)
        arguments = around.argv
        return Shell(
            around.cwd,
            self.context.home,
            variables,
            positional=tuple([spread(each) for each in arguments[1:]]),
            stdin=around.stdin,
            name=arguments[0] if arguments else known("bash"),
        )

    def run(self, invocation: Invocation) -> None:
        """Looks at one command, with its redirects and variables."""
        self.asked += 1
        if len(self.seen) >= MOST_COMMANDS or len(self.effects) >= MOST_EFFECTS:
            self.limit(invocation.part, "starts too many commands to be followed")
            return
        if self._depth >= DEEPEST:
            self.limit(invocation.part, "nested too deeply to be followed")
            return
        self.seen.append(invocation)
        self._depth += 1
        try:
            argv = invocation.argv
            first = argv[0].texts[0] if argv else None
            if invocation.redirects or (first is not None and first.text == "tee"):
                redirects(self, invocation)
                self._kept.note(invocation)
            if first is None:
                return
            if invocation.builtin and len(argv) > 1:
                self._matched(invocation)
            if first.pattern is None and len(argv[0].texts) == 1:
                if self.memory is None:
                    self._named(invocation, first.text)
                else:
                    self._remembered(invocation, first.text, self.memory)
            else:
                for name in self._names(argv[0]):
                    self._named(replace(invocation, argv=(known(name), *argv[1:])), name)
        finally:
            self._depth -= 1

    def _remembered(self, invocation: Invocation, name: str, memory: Memory) -> None:
        """A command, whose effects may be known from another call if only its words make them."""
        if invocation.cwd is not self._cwd:
            self._cwd, self._place = invocation.cwd, place_of(invocation.cwd)
        place = self._place
        key = (
            None
            if place is None
            else key_of(invocation, place, self.home, wrote=not self._kept.empty)
        )
        if key is None:
            self._named(invocation, name)
            return
        effects, part = self.effects, invocation.part
        held = memory.get(key)
        if held is not None:
            for each in held:
                effects.append(placed_at(part, each))
            return
        size, asked = len(effects), self.asked
        command = self.table.find(name) or _UNKNOWN_PROGRAM
        self._known(invocation, command, name, key.words)
        if self.asked == asked and self._kept.empty is not key.wrote:
            memory.hold(key, effects[size:], part)

    def _matched(self, invocation: Invocation) -> None:
        """What a builtin is given by a glob: the names in the folders that it looks through."""
        for word in invocation.argv[1:]:
            if any(each.pattern is not None and "/" in each.text for each in word.texts):
                name = invocation.argv[0].texts[0].text
                self.add(
                    Effect(Act.LIST, name, invocation.part, "is looked for", word, invocation.cwd)
                )

    def _index(self) -> None:
        """Sorts in what was seen since the last time: most calls never ask."""
        for number in range(self._indexed, len(self.seen)):
            invocation = self.seen[number]
            if invocation.argv:
                name = invocation.argv[0].texts[0].text
                self._by_name.setdefault(name, []).append((number, invocation))
                stdin = invocation.stdin
                if name in _READS and stdin is not None and stdin.sources:
                    self._reading = invocation
        self._indexed = len(self.seen)

    def _names(self, word: Value) -> Iterator[str]:
        """The programs that a first word may name; a glob may name any that fits it."""
        for each in word.texts:
            if each.pattern is None:
                yield each.text
                continue
            folder, slash, _ = each.text.rpartition("/")
            fitting = glob_names(each.pattern.rpartition("/")[2], self.table.commands)
            yield each.text
            for name in fitting[:_MOST_VARIANTS]:
                yield f"{folder}{slash}{name}"

    def _named(self, invocation: Invocation, name: str) -> None:
        if HOLE in name:
            self._untold(invocation, name)
            self._without_unknown(invocation, name)
            if invocation.argv[0].from_data:
                use = Use(self, invocation, _UNKNOWN_PROGRAM, name, invocation.cwd, Parsed())
                told = program_of(use)
                if told is not None and HOLE not in told:
                    self.repeats = True
                    self.run(replace(invocation, argv=(known(told), *invocation.argv[1:])))
                    return
        if invocation.environment:
            variables(self, invocation, name)
        command = self.table.find(name)
        if command is None:
            command = _UNKNOWN_PROGRAM
        if _is_single(invocation.argv) or (command.plain and not _has_option(invocation.argv)):
            self._one(invocation, command, name)
            return
        self.repeats = True
        for argv in _variants(invocation.argv):
            self._one(replace(invocation, argv=argv), command, name)

    def _without_unknown(self, invocation: Invocation, name: str) -> None:
        """`su${x}do id`: what nobody set is nothing, and the program is the letters around it."""
        left = name.rpartition("/")[2].replace(HOLE, "")
        if left and not name.endswith(f"/{left}") and self.table.find(left) is not None:
            self._perhaps(replace(invocation, argv=(known(left), *invocation.argv[1:])))

    def _untold(self, invocation: Invocation, name: str) -> None:
        self.add(
            Effect(
                Act.UNKNOWN, name.replace(HOLE, "…"), invocation.part,
                "which program runs can't be told before it runs", cwd=invocation.cwd,
            )
        )  # fmt: skip

    def _one(self, invocation: Invocation, command: Command, name: str) -> None:
        """A command whose words have one text each, or need no look at each text alone."""
        argv = invocation.argv
        if not _is_from_data(argv):
            self._known(invocation, command, name, plain_words(argv))
            return
        use = Use(self, invocation, command, name, invocation.cwd, Parsed())
        perhaps = self._printed(use)
        descend(use, command, use.argv)
        self._does(use, argv, plain_words(argv))
        if perhaps is not None and "help" not in use.parsed.tags:
            self._perhaps(replace(invocation, argv=perhaps))

    def _known(
        self, invocation: Invocation, command: Command, name: str, words: tuple[str, ...]
    ) -> None:
        """A command in whose words is nothing that another one prints."""
        argv = invocation.argv
        if command.commands:
            use = Use(self, invocation, command, name, invocation.cwd, Parsed())
            descend(use, command, argv)
        else:
            use = Use(self, invocation, command, name, invocation.cwd, parse(command, argv, 1))
        self._does(use, argv, words)

    def _does(self, use: Use, argv: tuple[Value, ...], words: tuple[str, ...]) -> None:
        """All that a command does whose words are sorted; `argv` and `words` are as it has them."""
        invocation, command, name = use.invocation, use.command, use.program
        unknown = command is _UNKNOWN_PROGRAM
        placed = "/" in name
        self.effects.append(
            Effect(
                Act.EXECUTE, name, invocation.part, "is run", None, invocation.cwd,
                words=(name, *words[1:]),
                harmless=command.harmless and not placed,
                listed=not (unknown or command.runs),
            )
        )  # fmt: skip
        tags = use.parsed.tags
        if "help" in tags:
            return
        if placed:
            place = join(invocation.cwd, known(name))
            text, program = self.kept.of(place), self.kept.program(place)
            if text is not None:
                self.script(text, use.within(argv))
            if program is not None and program != name:
                self.run(use.within((known(program), *argv[1:])))
        reader = command.reader
        middle = command.operands.middle
        if (reader is None and middle is not None and middle.kind in _GUESSED) or "behind" in tags:
            perhaps_carries(use)
        if reader is not None:
            READ_BY[reader](use)
        elif command.elsewhere:
            elsewhere(use)
        else:
            apply(use)
        if reader == "link" or command.operands.back:
            self._renamed(use)

    def _renamed(self, use: Use) -> None:
        """`ln -s /usr/bin/env x`: what the program is under its new name."""
        part = use.invocation.part
        mine = [each for each in self.effects if each.part is part and each.target is not None]
        programs = [
            text.text
            for each in mine
            if each.act in _GIVES and each.target is not None
            for text in each.target.texts
            if "/" in text.text and text.pattern is None and self.table.find(text.text) is not None
        ]
        for each in mine if programs else ():
            if each.act is Act.WRITE and each.target is not None:
                for text in each.target.texts:
                    self._kept.called(join(use.cwd, known(text.text)), programs[0])
                    self.asked += 1

    def _printed(self, use: Use) -> tuple[Value, ...] | None:
        """Puts in what other commands print, where it can be told; words that are only likely."""
        perhaps = perhaps_read(use)
        words = filled(use)
        if words is not None:
            use.invocation = replace(use.invocation, argv=words)
            self.repeats = True
        return perhaps

    def _perhaps(self, invocation: Invocation) -> None:
        """A command whose words are only likely: it counts for what is denied."""
        self.repeats = True
        for each in self.gathered(lambda: self.run(invocation)):
            if counts(each):
                self.add(each)
            elif each.act is Act.READ:
                self.add(replace(each, reason=IN_DOUBT))


def descend(use: Use, command: Command, argv: Sequence[Value], at: int = 1) -> None:
    """Parses the words down to the last subcommand."""
    if not command.commands:
        use.parsed = parse(command, argv, at)
        return
    values = []
    tags: set[str] = set()
    doubts: list[Value] = []
    puts: list[Value] = []
    loose = False
    other: Command | None = None
    while True:
        parsed = parse(command, argv, at, style="stop" if command.commands else None)
        values.extend(parsed.values)
        doubts.extend(parsed.doubts)
        puts.extend(parsed.puts)
        tags |= parsed.tags
        if not command.commands or not parsed.operands or "help" in tags:
            break
        text = parsed.operands[0].texts[0].text
        other = command.commands.get("*") or other
        child = command.commands.get(text)
        whole = child is None and other is not None and "whole" in other.tags
        if child is None:
            child = other
            tags.add(GUESSED)
            if "." in text or "/" in text or "@" in text:
                doubts.append(parsed.operands[0])
        if child is None:
            if HOLE in text:
                loose = True
            child = Command(Operands(middle=Role("doubt")), command.options)
        at = len(argv) - len(parsed.operands) + (0 if whole else 1)
        command = child
    use.command, use.at = command, at
    use.parsed = Parsed(
        values, parsed.operands, tags, parsed.before, parsed.loose or loose, doubts, puts
    )
    if loose:
        use.unknown("which of its subcommands runs can't be told before it runs")


def _inside(invocation: Invocation, around: Invocation) -> Invocation:
    """A command of a nested text, with what it inherits from the command around it."""
    if not (around.feeds or around.background or around.in_endless_loop):
        return invocation
    return replace(
        invocation,
        feeds=invocation.feeds or around.feeds,
        background=invocation.background or around.background,
        in_endless_loop=invocation.in_endless_loop or around.in_endless_loop,
    )


def _is_single(argv: Sequence[Value]) -> bool:
    for each in argv:  # noqa: SIM110 - twice as fast as `all` with a generator
        if len(each.texts) != 1:
            return False
    return True


def _has_option(argv: Sequence[Value]) -> bool:
    """Whether a word with several texts may be an option."""
    return any(
        len(each.texts) > 1 and any(text.text.startswith("-") for text in each.texts)
        for each in argv
    )


def _is_from_data(argv: Sequence[Value]) -> bool:
    for each in argv:  # noqa: SIM110 - as above
        if each.from_data:
            return True
    return False


def _variants(argv: tuple[Value, ...]) -> Iterator[tuple[Value, ...]]:
    """The words with one text each: all combinations if they are few, else each text once."""
    product = 1
    for each in argv:
        product *= len(each.texts)
    if product <= _MOST_VARIANTS:
        yield from _combinations(argv)
        return
    for number in range(max(len(each.texts) for each in argv)):
        yield tuple(_single(each, each.texts[number % len(each.texts)]) for each in argv)


def _combinations(argv: tuple[Value, ...]) -> Iterator[tuple[Value, ...]]:
    found: list[tuple[Value, ...]] = [()]
    for each in argv:
        found = [(*start, _single(each, text)) for start in found for text in each.texts]
    yield from found


def _single(value: Value, text: Text) -> Value:
    if len(value.texts) == 1:
        return value
    if isinstance(value, Found) and text.text == HOLE:
        return replace(value, texts=(text,))
    return Value((text,), value.from_data)


def glob_names(pattern: str, names: Sequence[str] | object) -> list[str]:
    """The names of programs that a glob fits."""
    from wcmatch import fnmatch  # noqa: PLC0415 - only calls with a glob for a program need it

    known_names = list(names) if isinstance(names, (list, tuple, dict)) else []
    fits, _ = fnmatch.translate(pattern, flags=fnmatch.B)
    wanted = [re.compile(each) for each in fits]
    return [each for each in known_names if any(one.match(each) for one in wanted)]
