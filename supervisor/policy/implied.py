"""What granted prefixes cover of a command: what their own words do, and what they are for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from supervisor.policy.bash.effect import Act, Analysis, Effect
from supervisor.policy.bash.options import parse
from supervisor.policy.bash.places import join
from supervisor.policy.bash.table import Command
from supervisor.policy.bash.use import IN_DOUBT, RUN, SENT
from supervisor.policy.bash.value import HOLE, known
from supervisor.policy.call import ToolCall
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.coverage import Coverage
from supervisor.policy.grant_pattern import bare_program

RUNS_ANOTHER: Final = "runs another file"
SENDS_FILE: Final = "sends a file"
# As in `targets`: looked up once, not for each effect.
_READ: Final = Act.READ
_SEND: Final = Act.SEND

Part = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Prefix:
    """The leading words of a command that a person granted, and what these do by themselves."""

    words: tuple[str, ...]
    effects: tuple[Effect, ...]
    is_group: bool = False
    """Whether it is only the name of a program of many commands, which says nothing of servers."""

    @property
    def text(self) -> str:
        """The words, as they are told."""
        return " ".join(self.words).replace(HOLE, "…")

    def of(self, act: Act, program: str) -> list[Effect]:
        """What the own words do of one kind, by one program."""
        return [
            each
            for each in self.effects
            if each.act is act and bare_program(each.program) == program
        ]

    def starts(self, effect: Effect) -> bool:
        """Whether the own words start this program, with the words that it begins with."""
        words = (bare_program(effect.program), *effect.words[1:])
        return not effect.elsewhere and any(
            (bare_program(each.program), *each.words[1:]) == words[: len(each.words)]
            for each in self.effects
            if each.act is Act.EXECUTE and each.words and not each.elsewhere
        )

    def sends(self, effect: Effect) -> bool:
        """Whether reaching this host, or this service, is in the own words or what they are for."""
        program = bare_program(effect.program)
        own = self.of(Act.SEND, program)
        target = effect.target
        if target is None:
            return any(
                each.target is None
                and each.reason == effect.reason
                and (not each.words or set(effect.words) <= set(each.words))
                for each in own
            )
        if not target.known or target.from_data:
            return False
        texts = {each.text for each in target.texts}
        if own:
            return any(
                each.target is not None and texts <= {one.text for one in each.target.texts}
                for each in own
            )
        if self.is_group or not self.of(Act.EXECUTE, program):
            return False
        return not effect.aside or len(self.words) == 1

    def opens(self, effect: Effect) -> bool:
        """Whether the own words read this file, for the same end."""
        own = self.of(Act.READ, bare_program(effect.program))
        return any(_places(each) & _places(effect) for each in own if each.reason != IN_DOUBT)

    def scripts(self, effect: Effect) -> bool:
        """Whether running this file is in the own words: any, if these name none."""
        program = bare_program(effect.program)
        own = [each for each in self.of(Act.READ, program) if each.reason == RUN and each.named]
        if own:
            return any(_places(each) & _places(effect) for each in own)
        return not effect.aside or len(self.words) == 1


class Implied:
    """The granted prefixes of one call's commands, and what each of them covers of it."""

    def __init__(
        self, analysis: Analysis, coverage: Coverage, call: ToolCall, policy: CompiledPolicy
    ) -> None:
        self._analysis = analysis
        self._coverage = coverage
        self._call = call
        self._policy = policy

    @cached_property
    def _by_part(self) -> dict[Part, list[Prefix]]:
        found: dict[Part, list[Prefix]] = {}
        for effect in self._analysis.effects:
            if effect.act is Act.EXECUTE and effect.words and self._is_here(effect):
                within = found.setdefault(_part(effect), [])
                asked = not effect.harmless and not any(each.starts(effect) for each in within)
                leading = self._coverage.prefixes(effect.words, asked=asked)
                within.extend(self._prefix(words, effect) for words in leading)
        return found

    def around(self, effect: Effect) -> Sequence[Prefix]:
        """The granted prefixes of the command that an effect comes from."""
        return self._by_part.get(_part(effect), ())

    def runs(self, effect: Effect) -> bool:
        """Whether a program may run: by its own prefix, or by that of what starts it."""
        return self._coverage.any_command or self.names(effect)

    def names(self, effect: Effect) -> bool:
        """The same, where a person has named the command."""
        return self._is_here(effect) and any(
            each.starts(effect) and not self._goes_further(each, effect)
            for each in self.around(effect)
        )

    def _goes_further(self, prefix: Prefix, effect: Effect) -> bool:
        """Whether a build tool is given targets beside those that the prefix names."""
        command = self._policy.commands.find(effect.program)
        if command is None or "targets" not in command.tags:
            return False
        own: set[str] = set()
        for each in prefix.of(Act.EXECUTE, bare_program(effect.program)):
            own |= _targets(command, each.words)
        return bool(own) and not _targets(command, effect.words) <= own

    def sends(self, effect: Effect) -> bool:
        """Whether a host or service may be reached."""
        command = self._policy.commands.find(effect.program)
        # Code can reach anything: of it, only what stands in the granted words is meant.
        is_code = command is not None and command.reader == "interpreter"
        return any(
            each.sends(effect)
            and not (is_code and not each.of(Act.SEND, bare_program(effect.program)))
            for each in self.around(effect)
        )

    def beyond(self) -> Iterator[tuple[Effect, str]]:
        """Reads that no prefix covers although its command is: files sent, other files run."""
        reads = [e for e in self._analysis.effects if e.act is _READ and not e.elsewhere]
        if not reads:
            return
        senders: dict[tuple[Part, str], bool] = {}
        for each in self._analysis.effects:
            if each.act is _SEND and not each.elsewhere:
                key = (_part(each), each.program)
                senders[key] = senders.get(key, False) or each.target is not None
        for each in reads:
            if each.reason == RUN:
                around = self.around(each)
                if around and not any(one.scripts(each) for one in around):
                    yield each, RUNS_ANOTHER
            elif self._is_sent(each, senders) and not any(
                one.opens(each) for one in self.around(each)
            ):
                yield each, SENDS_FILE

    @staticmethod
    def _is_sent(read: Effect, senders: Mapping[tuple[Part, str], bool]) -> bool:
        """Whether a file goes to a host that is named, or is what a service is called about."""
        if read.reason in {SENT, IN_DOUBT}:
            return read.reason == SENT
        if not senders:
            return False
        named = senders.get((_part(read), read.program))
        return named is not None and (named or not read.aside)

    def _is_here(self, effect: Effect) -> bool:
        """A program by a relative path is only the granted one in the folder of the call."""
        if "/" not in effect.program or effect.program.startswith("/"):
            return True
        return effect.cwd is not None and effect.cwd.only == self._call.as_seen_cwd

    def _prefix(self, words: tuple[str, ...], effect: Effect) -> Prefix:
        if any(HOLE in each for each in words):
            within = [e for e in self._analysis.effects if _part(e) == _part(effect)]
            return Prefix(words, tuple(within))
        call = self._call
        effects = self._policy.effects_of(words, call.as_seen_cwd, call.as_seen_home)
        command = self._policy.commands.find(words[0]) if len(words) == 1 else None
        return Prefix(words, effects, command is not None and bool(command.commands))


def _targets(command: Command, words: Sequence[str]) -> set[str]:
    """What a build tool is told to make; settings (`V=1`) aren't."""
    parsed = parse(command, tuple(known(each) for each in words), 1)
    return {text.text for each in parsed.operands for text in each.texts if "=" not in text.text}


def _places(effect: Effect) -> frozenset[str]:
    """The absolute paths that an effect may act upon; none where that can't be told."""
    if effect.target is None or not effect.target.known:
        return frozenset()
    found = join(effect.cwd or known("."), effect.target)
    return frozenset(each.text for each in found.texts if HOLE not in each.text)


def _part(effect: Effect) -> Part:
    return effect.part.start, effect.part.end
