"""Whether the rules of a policy do what their own examples say."""

from collections.abc import Iterator
from dataclasses import replace

from supervisor.policy.call import Facts, ToolCall
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.denials import dangerous
from supervisor.policy.deny_list import DenyList
from supervisor.policy.judged import Judged
from supervisor.policy.wanted import wanted
from supervisor.trust.levels import TrustLevel

_VAULT = "/home/ada/vault"
_HOME = "/home/ada"


def failing_examples(policy: CompiledPolicy) -> tuple[str, ...]:
    """What the rules' own examples find wrong, one sentence each; empty if all hold.

    Commands are judged by their names alone: no file is looked up, nothing runs.
    """
    return (*_of_deny_list(policy), *_of_dangerous(policy), *_of_tool_rules(policy))


def _of_deny_list(policy: CompiledPolicy) -> Iterator[str]:
    rules = {rule.id: DenyList((rule,)) for rule in policy.rules}
    for examples in policy.examples:
        for path in examples.deny:
            if rules[examples.rule].match(path) is None:
                yield f"{examples.rule} doesn't deny {path!r}"
        for path in examples.allow:
            rule = policy.denied.match(path)
            if rule is not None:
                yield f"{rule.id} denies {path!r}, an example of {examples.rule} to allow"


def _of_dangerous(policy: CompiledPolicy) -> Iterator[str]:
    rules = {rule.id: rule for rule in policy.dangerous}
    for examples in policy.dangerous_examples:
        rule = rules.get(examples.rule)
        alone = replace(policy, dangerous=(rule,) if rule is not None else ())
        for text in examples.deny:
            if dangerous(_judged(text, alone)) is None:
                yield f"{examples.rule} doesn't deny {text!r}"
        for text in examples.allow:
            found = dangerous(_judged(text, policy))
            if found is not None:
                yield f"{found.rule} denies {text!r}, an example of {examples.rule} to allow"


def _judged(text: str, policy: CompiledPolicy) -> Judged:
    """A command, or a web address, as an agent would have it done."""
    tool, given = ("WebFetch", {"url": text}) if _is_url(text) else ("Bash", {"command": text})
    call = _call(tool, given)
    return Judged(call, policy.category(tool), wanted(call, policy), Facts(), policy)


def _of_tool_rules(policy: CompiledPolicy) -> Iterator[str]:
    rules = {rule.id: rule for rule in policy.tool_rules}
    for examples in policy.tool_examples:
        rule = rules[examples.rule]
        for texts, expected in ((examples.deny, True), (examples.allow, False)):
            for text in texts:
                tool, _, url = text.partition(" ")
                levels = rule.levels or frozenset({TrustLevel.VAULT})
                fits = any(rule.fits(tool, {"url": url} if url else {}, each) for each in levels)
                if fits is not expected and rule.answer is not None:
                    yield f"{rule.id} is {'not ' if expected else ''}about {text!r}"


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
