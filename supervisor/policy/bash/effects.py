"""A command of a shell → its effects: read, looked up in the table, and followed where it leads."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from supervisor.policy.bash.aftermath import aftermath
from supervisor.policy.bash.apply import apply
from supervisor.policy.bash.carried import counts, perhaps_carries
from supervisor.policy.bash.containers import elsewhere
from supervisor.policy.bash.descent import descend
from supervisor.policy.bash.effect import Act, Analysis, Effect, ShellContext
from supervisor.policy.bash.feeders import filled, perhaps_read, program_of
from supervisor.policy.bash.invocation import Invocation, Part, Reading, inside
from supervisor.policy.bash.memory import Memory
from supervisor.policy.bash.options import Parsed, parse
from supervisor.policy.bash.places import join, spread
from supervisor.policy.bash.read import Shell, read_script
from supervisor.policy.bash.readers import READ_BY
from supervisor.policy.bash.redirects import redirects, variables
from supervisor.policy.bash.remembering import MOST_COMMANDS, MOST_EFFECTS, Remembering
from supervisor.policy.bash.table import Command, CommandTable, Operands, Role
from supervisor.policy.bash.use import IN_DOUBT, Use, plain_words
from supervisor.policy.bash.value import HOLE, Text, Value, known
from supervisor.policy.bash.variants import (
    MOST_VARIANTS,
    has_option,
    is_from_data,
    is_single,
    names_of,
    variants,
)

DEEPEST: Final = 16
_MOST_WRITTEN: Final = 16
_LONGEST_WRITTEN: Final = 4_096
"""Texts within texts, and commands that start commands."""
_RUN_AND_READ: Final = 2
"""Effects of a command that does no more than read a file."""
_UNKNOWN_PROGRAM: Final = Command(Operands(middle=Role("either")))
_EXECUTE: Final = Act.EXECUTE
_GUESSED: Final = frozenset({"doubt", "either"})


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


class _Look(Remembering):
    """The analysis of one call, while it goes on."""

    def read(self, reading: Reading, around: Invocation | None = None) -> None:
        """All that a script would start."""
        for bomb in reading.bombs:
            self.add(Effect(Act.EXHAUST, "", bomb, "starts itself without end"))
        for each in reading.unresolved:
            self.add(Effect(Act.UNKNOWN, "", each.part, each.reason))
        if reading.written:
            self._written(reading, around)
        for invocation in reading.invocations:
            if around is not None:
                invocation = inside(invocation, around)  # noqa: PLW2901 - the same, placed
            self.run(invocation)

    def _written(self, reading: Reading, around: Invocation | None) -> None:
        """Remembers what a script may put into files, for the case that they are run."""
        cwd = around.cwd if around is not None else known(self.context.cwd)
        for path, text in reading.written[:_MOST_WRITTEN]:
            for each in text.texts:
                if each.text.strip(HOLE) and len(each.text) <= _LONGEST_WRITTEN:
                    self._kept.perhaps(join(cwd, known(path)), each.text)

    def script(self, text: Value, around: Invocation, shell: str = "bash") -> None:
        """Looks at text that a shell runs, in the circumstances of the command around it."""
        self.asked += 1
        if self._depth >= DEEPEST:
            self.limit(around.part, "nested too deeply to be followed")
            return
        self._depth += 1
        self.repeats = True
        try:
            if len(text.texts) > MOST_VARIANTS:
                self.limit(around.part, "runs too many texts to be followed")
            state = self._shell(around)
            for each in text.texts[:MOST_VARIANTS]:
                reading = read_script(each.text, state, self.budget, around.part)
                if HOLE in each.text and not reading.unresolved:
                    why = "runs text that can't be told before it runs"
                    self.add(Effect(Act.UNKNOWN, shell, around.part, why, cwd=around.cwd))
                self.read(reading, around)
        finally:
            self._depth -= 1

    def follow(
        self, use: Use, place: Value, text: Value, words: tuple[Value, ...], shell: str = "bash"
    ) -> None:
        """Looks at a script that the call has put there; one that starts itself, only once."""
        path = place.only or ""
        starts = self.followed.get(path)
        if starts is None:
            self.followed[path] = []
            self.script(text, use.within(words), shell)
            del self.followed[path]
            return
        starts.append(use.invocation.background)
        if len(starts) > 1 and any(starts):
            use.emit(Act.EXHAUST, "starts itself without end")
        else:
            use.unknown("runs itself again")

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
            leaves = invocation.redirects or (first is not None and first.text == "tee")
            if leaves:
                self.asked += 1
                redirects(self, invocation)
                self._kept.note(invocation)
            if first is not None:
                self._each_name(invocation, first)
            if leaves:
                self._renamed.by_output(invocation, self.effects)
        finally:
            self._depth -= 1

    def _is_in_vault(self, invocation: Invocation) -> bool:
        """Whether a program runs where the call began or below, and is given no device there."""
        start = self.start.rstrip("/")
        here = all(f"{each.text}/".startswith(f"{start}/") for each in invocation.cwd.texts)
        return (
            bool(start)
            and here
            and not any(
                each.pattern is not None or "dev" in each.text or each.text.startswith("/")
                for word in invocation.argv[1:]
                for each in word.texts
            )
        )

    def _each_name(self, invocation: Invocation, first: Text) -> None:
        """A command by its program, or by each that its first word may name."""
        argv = invocation.argv
        if invocation.builtin and len(argv) > 1:
            self.matched(invocation)
        if first.pattern is None and len(argv[0].texts) == 1:
            if self.memory is None:
                self.named(invocation, first.text)
            else:
                self.remembered(invocation, first.text, self.memory)
            return
        self.asked += 1
        folders = self.table.folders if self._is_in_vault(invocation) else None
        for name in names_of(argv[0], self.table.commands, self.table.families, folders):
            self.named(replace(invocation, argv=(known(name), *argv[1:])), name)

    def named(self, invocation: Invocation, name: str) -> None:
        if HOLE in name:
            self._untold(invocation, name)
            self._without_unknown(invocation, name)
            if invocation.argv[0].from_data:
                use = Use(
                    self, invocation, _UNKNOWN_PROGRAM, name, invocation.cwd, Parsed.nothing()
                )
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
        if is_single(invocation.argv) or (command.plain and not has_option(invocation.argv)):
            self._one(invocation, command, name)
            return
        self.repeats = True
        for argv in variants(invocation.argv):
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
        if not is_from_data(argv):
            self._known(invocation, command, name, plain_words(argv))
            return
        use = Use(self, invocation, command, name, invocation.cwd, Parsed.nothing())
        perhaps = self._printed(use)
        descend(use, command, use.argv)
        self._does(use, argv, plain_words(argv))
        if perhaps is not None and "help" not in use.parsed.tags:
            self._perhaps(replace(invocation, argv=perhaps))

    def certain(self, invocation: Invocation, name: str, words: tuple[str, ...]) -> None:
        """A command each of whose words is one text that is known."""
        self._known(invocation, self.table.find(name) or _UNKNOWN_PROGRAM, name, words)

    def _known(
        self, invocation: Invocation, command: Command, name: str, words: tuple[str, ...]
    ) -> None:
        """A command in whose words is nothing that another one prints."""
        argv = invocation.argv
        if command.commands:
            use = Use(self, invocation, command, name, invocation.cwd, Parsed.nothing())
            descend(use, command, argv)
        else:
            use = Use(self, invocation, command, name, invocation.cwd, parse(command, argv, 1))
        self._does(use, argv, words)

    def _does(self, use: Use, argv: tuple[Value, ...], words: tuple[str, ...]) -> None:
        """All that a command does whose words are sorted; `argv` and `words` are as it has them."""
        invocation, command, name = use.invocation, use.command, use.program
        unknown = command is _UNKNOWN_PROGRAM
        placed = "/" in name
        size = len(self.effects)
        self.effects.append(
            Effect(
                _EXECUTE, name, invocation.part, "is run", None, invocation.cwd,
                words=(name, *words[1:]),
                harmless=command.harmless and not placed,
                listed=not (unknown or command.runs),
            )
        )  # fmt: skip
        tags = use.parsed.tags
        if "help" in tags:
            return
        if placed:
            programs = self._placed(use, argv)
        else:
            programs = () if self._kept.empty else self._kept.programs_named(name)
        for program in programs:
            if program != name:
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
        fed = invocation.stdin is not None or bool(invocation.substitutions)
        if len(self.effects) > size + _RUN_AND_READ - fed:
            own = self.effects[size:]
            self.asked += self._renamed.by_itself(invocation, own, self.effects)

    def _placed(self, use: Use, argv: tuple[Value, ...]) -> Sequence[str]:
        """A program by its path: what the call has put there, and what else it is called."""
        name = use.program
        if name[0] != "/":
            use.emit(Act.READ, IN_DOUBT, known(name))
        place = join(use.invocation.cwd, known(name))
        text = self.kept.of(place)
        if text is not None:
            self.follow(use, place, text, argv)
        return self._renamed.at(place, self.effects)

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
