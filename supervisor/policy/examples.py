"""Whether the rules of a policy do what their own examples say."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, repeat

from supervisor.policy.call import Facts, ToolCall
from supervisor.policy.compiled import CompiledPolicy, Examples
from supervisor.policy.denials import dangerous
from supervisor.policy.deny_list import DenyList
from supervisor.policy.judged import Judged
from supervisor.policy.wanted import wanted
from supervisor.trust.levels import TrustLevel

_VAULT = "/home/ada/vault"
_HOME = "/home/ada"


@dataclass(frozen=True, slots=True)
class Failing:
    """An example that doesn't hold: of which rule, what is wrong in a sentence, where it stands.

    `missed`: the rule should be about it, and isn't. `where` is None if nobody knows.
    """

    rule: str
    says: str
    missed: bool
    where: str | None = None


def failing_examples(policy: CompiledPolicy) -> tuple[Failing, ...]:
    """What the rules' own examples find wrong; empty if all hold.

    Commands are judged by their names alone: no file is looked up, nothing runs.
    """
    return (*_of_deny_list(policy), *_of_dangerous(policy), *_of_tool_rules(policy))


def _deny(examples: Examples) -> Iterator[tuple[str, str | None]]:
    return zip(examples.deny, chain(examples.deny_at, repeat(None)), strict=False)


def _allow(examples: Examples) -> Iterator[tuple[str, str | None]]:
    return zip(examples.allow, chain(examples.allow_at, repeat(None)), strict=False)


def _missed(rule: str, text: str, where: str | None) -> Failing:
    return Failing(rule, f"{rule} doesn't deny {text!r}", missed=True, where=where)


def _hit(rule: str, text: str, examples: Examples, where: str | None) -> Failing:
    says = f"{rule} denies {text!r}, an example of {examples.rule} to allow"
    return Failing(rule, says, missed=False, where=where)


def _of_deny_list(policy: CompiledPolicy) -> Iterator[Failing]:
    rules = {rule.id: DenyList((rule,)) for rule in policy.rules}
    for examples in policy.examples:
        for path, where in _deny(examples):
            if rules[examples.rule].match(path) is None:
                yield _missed(examples.rule, path, where)
        for path, where in _allow(examples):
            rule = policy.denied.match(path)
            if rule is not None:
                yield _hit(rule.id, path, examples, where)


def _of_dangerous(policy: CompiledPolicy) -> Iterator[Failing]:
    rules = {rule.id: rule for rule in policy.dangerous}
    for examples in policy.dangerous_examples:
        rule = rules.get(examples.rule)
        alone = replace(policy, dangerous=(rule,) if rule is not None else ())
        for text, where in _deny(examples):
            if dangerous(_judged(text, alone)) is None:
                yield _missed(examples.rule, text, where)
        for text, where in _allow(examples):
            found = dangerous(_judged(text, policy))
            if found is not None:
                yield _hit(found.rule, text, examples, where)


def _judged(text: str, policy: CompiledPolicy) -> Judged:
    """A command, or a web address, as an agent would have it done."""
    tool, given = ("WebFetch", {"url": text}) if _is_url(text) else ("Bash", {"command": text})
    call = _call(tool, given)
    wants = replace(wanted(call, policy), paths=())  # files may say that `Bash` is no shell
    return Judged(call, policy.category(tool), wants, Facts(), policy)


def _of_tool_rules(policy: CompiledPolicy) -> Iterator[Failing]:
    rules = {rule.id: rule for rule in policy.tool_rules}
    for examples in policy.tool_examples:
        rule = rules[examples.rule]
        for pairs, expected in ((_deny(examples), True), (_allow(examples), False)):
            for text, where in pairs:
                tool, _, url = text.partition(" ")
                levels = rule.levels or frozenset({TrustLevel.VAULT})
                fits = any(rule.fits(tool, {"url": url} if url else {}, each) for each in levels)
                if fits is not expected and rule.answer is not None:
                    says = f"{rule.id} is {'not ' if expected else ''}about {text!r}"
                    yield Failing(rule.id, says, missed=expected, where=where)


def _call(tool: str, given: dict[str, str]) -> ToolCall:
    return ToolCall(
        tool=tool,
        input=given,
        tool_use_id="example",
        level=TrustLevel.SANDBOXED,
        as_seen_vault=_VAULT,
        as_seen_cwd=_VAULT,
        as_seen_home=_HOME,
    )


def _is_url(text: str) -> bool:
    return "://" in text and " " not in text
