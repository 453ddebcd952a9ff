"""How a call was understood, which rule decided and why: for a person who asks about a decision."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from supervisor.nearest import nearest
from supervisor.policy.bash.effect import Act, Analysis, Effect
from supervisor.policy.bash.invocation import Part
from supervisor.policy.bash.value import HOLE, Value
from supervisor.policy.call import Ask, Facts, PathFact, ToolCall, Use, Verdict, verdict_word
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.permissions import GrantKind
from supervisor.policy.targets import CHANGES
from supervisor.policy.wanted import COMMAND_FIELDS
from supervisor.policy.wants import Wants
from supervisor.trust.levels import TrustLevel

_OUTSIDE: Final = "outside the vault"
_OUTSIDE_OF_A_CAGE: Final[Mapping[TrustLevel, str]] = {
    TrustLevel.SANDBOXED: f"{_OUTSIDE}, in the sandbox alone: gone after this message",
    TrustLevel.VAULT: f"{_OUTSIDE}, in the cage alone: gone after this message",
}
_SYSTEM: Final = ("/usr/", "/etc/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/opt/")
"""What no agent in a cage changes, so nothing there comes to be with a message, or goes with it."""
_READ_ONLY: Final = "read-only in a sandbox: this fails, whatever is answered"
_NO_CAGE: Final = "not-confined"
"""The rule of a verdict about a command that no cage would hold."""
MOST_SHOWN: Final = 200
"""Effects and paths of one call; more are counted only."""
LONGEST_SHOWN: Final = 400
"""Characters of a text that isn't the call's own input."""


class Covering(Protocol):
    """A suggestion of a grant; `policy/suggest.py` makes them."""

    @property
    def kind(self) -> GrantKind:
        """What the pattern is matched against."""
        ...

    @property
    def pattern(self) -> str:
        """The pattern."""
        ...

    @property
    def covers(self) -> str:
        """What it covers, in words."""
        ...


@dataclass(frozen=True, slots=True)
class ShownPath:
    """A path that the call names, what was found there, and which lists it is on, by rule."""

    named: str
    use: str
    names: tuple[str, ...]
    inside: bool
    kind: str
    denied_by: str | None = None
    protected_by: str | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownEffect:
    """One thing that the command does; `start` and `end` are offsets into the command."""

    act: str
    program: str
    start: int
    end: int
    text: str
    reason: str
    target: str | None = None
    remarks: tuple[str, ...] = ()
    paths: tuple[ShownPath, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownCommand:
    """A program that would run, with its words as the shell would hand them over."""

    words: tuple[str, ...]
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class ShownSuggestion:
    """What could be granted so that this call, and others, wouldn't ask. Narrow ones come first."""

    kind: str
    pattern: str
    covers: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """One call, explained. `where` is the place of the rule that decided, if a file has it."""

    tool: str
    level: str
    cwd: str
    category: str
    verdict: str
    rule: str
    reason: str
    policy: str
    command: str | None = None
    where: str | None = None
    unsure: tuple[str, ...] = ()
    commands: tuple[ShownCommand, ...] = ()
    effects: tuple[ShownEffect, ...] = ()
    paths: tuple[ShownPath, ...] = ()
    patterns: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    suggestions: tuple[ShownSuggestion, ...] = ()

    def document(self) -> dict[str, Any]:
        """As JSON, with the names that the API has."""
        return {_camel(key): _plain(value) for key, value in asdict(self).items()}


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def explain(  # noqa: PLR0913  (all that a decision depended on, and what came of it)
    call: ToolCall,
    wants: Wants,
    facts: Facts,
    verdict: Verdict,
    policy: CompiledPolicy,
    *,
    offers: Sequence[Covering] = (),
    places: Mapping[str, str] | None = None,
) -> Explanation:
    """The explanation of a verdict. `places` are the rules' places in the files, by id."""
    command = _command_of(call)
    level = TrustLevel.FULL if verdict.rule == _NO_CAGE else call.level
    outside = _OUTSIDE_OF_A_CAGE.get(level, _OUTSIDE)
    changed = _changed(wants)
    shown = [
        _path(fact, call, policy, outside, changed=index in changed)
        for index, fact in enumerate(facts.paths[:MOST_SHOWN])
    ]
    by_effect: dict[int, list[ShownPath]] = {}
    of_call: list[ShownPath] = []
    for want, path in zip(wants.paths, shown, strict=False):
        if want.effect is None:
            of_call.append(path)
        else:
            by_effect.setdefault(want.effect, []).append(path)
    analysis = wants.analysis or Analysis()
    text = command or ""
    return Explanation(
        tool=call.tool,
        level=call.level.value,
        cwd=call.as_seen_cwd,
        category=policy.category(call.tool).value,
        verdict=verdict_word(verdict),
        rule=verdict.rule,
        reason=verdict.reason,
        policy=policy.hash,
        command=command,
        where=(places or {}).get(verdict.rule),
        unsure=verdict.unsure if isinstance(verdict, Ask) else (),
        commands=tuple(_commands(analysis, text)),
        effects=tuple(
            _effect(effect, text, by_effect.get(index, ()))
            for index, effect in enumerate(analysis.effects[:MOST_SHOWN])
            if effect.act is not Act.EXECUTE
        ),
        paths=tuple(of_call),
        patterns=wants.patterns[:MOST_SHOWN],
        addresses=wants.addresses[:MOST_SHOWN],
        notes=(*_stranger(call.tool, policy), *_notes(wants, analysis, facts)),
        suggestions=tuple(
            ShownSuggestion(each.kind.value, each.pattern, each.covers) for each in offers
        ),
    )


def _changed(wants: Wants) -> frozenset[int]:
    """Which of the paths are written, removed or changed."""
    effects = wants.analysis.effects if wants.analysis is not None else ()
    return frozenset(
        index
        for index, want in enumerate(wants.paths)
        if (want.use is Use.WRITE if want.effect is None else effects[want.effect].act in CHANGES)
    )


def nearest_tool(tool: str, policy: CompiledPolicy) -> str | None:
    """The known tool whose name is most like that of one that no policy file names, if one is."""
    known = {name.lower(): name for name in policy.tools}
    near = nearest(tool, known)
    return known[near] if near and not policy.names_tool(tool) else None


def _stranger(tool: str, policy: CompiledPolicy) -> Iterator[str]:
    if not policy.names_tool(tool):
        near = nearest_tool(tool, policy)
        guess = f"; did you mean `{near}`?" if near else ""
        yield f"no policy file names the tool `{_cut(tool)}`, so it is of the category other{guess}"


def _command_of(call: ToolCall) -> str | None:
    texts = (call.input.get(field) for field in COMMAND_FIELDS)
    return next((text for text in texts if isinstance(text, str)), None)


def _commands(analysis: Analysis, text: str) -> list[ShownCommand]:
    return [
        ShownCommand(
            effect.words or (effect.program,), effect.part.start, effect.part.end,
            _part(effect.part, text),
        )
        for effect in analysis.effects[:MOST_SHOWN]
        if effect.act is Act.EXECUTE
    ]  # fmt: skip


def _effect(effect: Effect, text: str, paths: Sequence[ShownPath]) -> ShownEffect:
    remarks = (
        (effect.recursive, "with all below it"),
        (effect.severe, "never right"),
        (effect.elsewhere, "on another machine, or in a container of its own"),
        (not effect.named, "not named in the command, but follows from it"),
        (bool(effect.only), f"only {', '.join(effect.only)}"),
    )
    return ShownEffect(
        act=effect.act.value,
        program=effect.program,
        start=effect.part.start,
        end=effect.part.end,
        text=_part(effect.part, text),
        reason=effect.reason,
        target=None if effect.target is None else value_text(effect.target),
        remarks=tuple(words for holds, words in remarks if holds),
        paths=tuple(paths),
    )


def _path(
    fact: PathFact, call: ToolCall, policy: CompiledPolicy, outside: str, *, changed: bool
) -> ShownPath:
    denied = policy.may_not_be_named(call.level)
    fails = changed and fact.inside and call.level is TrustLevel.SANDBOXED
    if any(name.startswith(_SYSTEM) for name in fact.names):
        outside = _OUTSIDE
    remarks = (
        (fact.problem is not None, f"can't be a path: {fact.problem}"),
        (fact.doubt is not None, f"not sure: {fact.doubt}"),
        (not fact.inside and fact.problem is None, outside),
        (fails, _READ_ONLY),
        (fact.holds_denied, "a search below it would read denied files, or it can't be told"),
        (fact.holds_protected is not None, f"holds what {fact.holds_protected} protects"),
        (fact.links > 1, f"has {fact.links} hard links"),
        (fact.mount is not None, f"lies on the mount {fact.mount}"),
        (fact.matches is not None, f"matches {len(fact.matches or ())} files that exist"),
    )
    return ShownPath(
        named=_cut(fact.named),
        use=fact.use.value,
        names=tuple(_cut(name) for name in fact.names),
        inside=fact.inside,
        kind=fact.kind.value,
        denied_by=_rule(fact, denied.match),
        protected_by=_rule(fact, policy.protected.match),
        remarks=tuple(words for holds, words in remarks if holds),
    )


def _rule(fact: PathFact, match: Any) -> str | None:
    found = (match(name) for name in fact.names)
    return next((str(rule.id) for rule in found if rule is not None), None)


def _notes(wants: Wants, analysis: Analysis, facts: Facts) -> list[str]:
    notes = [*analysis.notes]
    if wants.problem is not None:
        notes.append(f"the input can't be what the tool takes: {wants.problem}")
    if wants.doubt is not None:
        notes.append(wants.doubt)
    if not analysis.complete:
        notes.append("the look was cut short by a limit")
    for what, number in (("effects", len(analysis.effects)), ("paths", len(facts.paths))):
        if number > MOST_SHOWN:
            notes.append(f"{number - MOST_SHOWN} more {what} aren't shown")
    return notes


def _part(part: Part, text: str) -> str:
    return _cut(text[part.start : part.end])


def value_text(value: Value) -> str:
    """A value for a reader: what can't be known stands as `…`, alternatives are parted by ` | `."""
    return _cut(" | ".join(each.text.replace(HOLE, "…") for each in value.texts))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
