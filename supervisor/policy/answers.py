"""What is left to decide once nothing denies a call: allow it, or ask. The lower steps."""

from functools import lru_cache

from supervisor.policy.call import Allow, Ask, Deny, PathFact, Use, Verdict
from supervisor.policy.compiled import Category
from supervisor.policy.coverage import Coverage
from supervisor.policy.judged import Judged
from supervisor.policy.permissions import Permissions
from supervisor.policy.shell_cover import leads_outside, not_covered
from supervisor.policy.shown import shown
from supervisor.policy.tool_rules import Answer, ToolRule
from supervisor.policy.wanted import COMMAND_FIELDS
from supervisor.policy.web import read_address
from supervisor.trust.levels import TrustLevel

_PERMITTED = Allow(rule="permission", reason="the session's permissions cover all that it does")
RUN_LATER = frozenset(
    """makefile gnumakefile justfile rakefile gemfile package.json setup.py conftest.py noxfile.py
    tox.ini .pre-commit-config.yaml .gitmodules .gitattributes gulpfile.js gruntfile.js tasks.json
    launch.json .bashrc .profile .zshrc .bash_profile dockerfile compose.yaml docker-compose.yml
    build.gradle build.rs post-commit pre-commit pre-push""".split()  # noqa: SIM905  (a table)
)
"""Files whose content other programs run: a person who is asked is told."""
_FILES = frozenset({Category.READ, Category.SEARCH, Category.WRITE})


def by_tool_and_level(
    judged: Judged, permissions: Permissions, now: float, coverage: Coverage | None = None
) -> Verdict:
    """The admin's rules, then the level's answer, trust mode, permissions and grants; else ask.

    `coverage`, if given, answers in place of the permissions what is covered.
    """
    call, category = judged.call, judged.category
    rule = _tool_rule(judged)
    answer = judged.policy.levels[call.level][category]
    if rule is not None and rule.answer is Answer.DENY:
        return Deny(rule=rule.id, reason=rule.reason)
    if answer is Answer.DENY and (rule is None or rule.answer is not Answer.ALLOW):
        return _not_at_level(judged)
    if rule is not None and rule.answer is not None:
        answer = rule.answer
    if coverage is None:
        coverage = Coverage(permissions, call.level, now)
    hosts = [read_address(each).host for each in judged.wants.addresses]
    if answer is Answer.ASK and coverage.uses_tool(call.tool, hosts):
        answer = Answer.ALLOW
    if category in _FILES:
        return _file(judged, rule, answer, permissions, coverage)
    if category is Category.SHELL:
        return _shell(judged, rule, answer, permissions, coverage)
    if answer is Answer.ASK:
        return _ask(judged, rule)
    granted = coverage.uses_tool(call.tool, hosts) or (rule is not None and bool(rule.domains))
    return (
        _uncertain(judged)
        or (None if granted else _doubtful_address(judged))
        or _allow(judged, rule)
    )


def _tool_rule(judged: Judged) -> ToolRule | None:
    call = judged.call
    for rule in judged.policy.tool_rules:
        if rule.fits(call.tool, call.input, call.level):
            return rule
    return None


def _file(
    judged: Judged,
    rule: ToolRule | None,
    answer: Answer,
    permissions: Permissions,
    coverage: Coverage,
) -> Verdict:
    level = judged.call.level
    trusted = answer is Answer.ALLOW and (
        permissions.trust_mode or level is TrustLevel.FULL or coverage.uses_tool(judged.call.tool)
    )
    if trusted:
        return _uncertain(judged) or _allow(judged, rule)
    if judged.facts.paths and all(covered(fact, judged, coverage) for fact in judged.paths):
        return _uncertain(judged) or _PERMITTED
    if answer is Answer.ASK:
        return _ask(judged, rule)
    verb = "change" if judged.category is Category.WRITE else "read"
    names = ", ".join(shown(fact.named) for fact in judged.paths[:3]) or "what it names"
    reason = f"no permission of the session covers to {verb} {names}"
    if judged.category is Category.WRITE and any(_is_run(fact) for fact in judged.paths):
        reason += "; other programs run what stands in such a file"
    return Ask(rule="not-covered", reason=reason)


def _is_run(fact: PathFact) -> bool:
    return any(name.rsplit("/", 1)[-1].lower() in RUN_LATER for name in fact.names)


def covered(fact: PathFact, judged: Judged, coverage: Coverage) -> bool:
    """Whether the coverage has what a file tool does with one of its paths."""
    if not fact.inside or not fact.names:
        return False
    if judged.category is Category.WRITE:
        return all(coverage.writes(name) for name in fact.names)
    if fact.use is Use.SEARCH and fact.is_directory:
        return all(coverage.reads_below(name) for name in fact.names)
    return all(coverage.reads(name, folder=fact.is_directory) for name in fact.names)


def _shell(
    judged: Judged,
    rule: ToolRule | None,
    answer: Answer,
    permissions: Permissions,
    coverage: Coverage,
) -> Verdict:
    analysis = judged.wants.analysis
    if analysis is None or judged.call.level is not TrustLevel.VAULT:
        if answer is Answer.ASK:
            return _ask(judged, rule)
        return _uncertain(judged) or _allow(judged, rule)
    trusted = answer is Answer.ALLOW and permissions.trust_mode
    missing, unsure = not_covered(judged, analysis, coverage, trusted=trusted)
    if judged.doubt is not None:
        unsure = (judged.doubt, *unsure)
    if permissions.confined:
        if coverage.runs_exactly(_command(judged)) and not leads_outside(judged.targets):
            return Allow(rule="grant", reason="a person granted this very command")
    else:
        reason = "this machine can't hold a command in the vault, so a person decides"
        return Ask(rule="not-confined", reason=reason, unsure=unsure)
    if unsure or missing:
        rule_id = "not-understood" if unsure else "not-covered"
        return Ask(rule=rule_id, reason="; ".join((*unsure, *missing)), unsure=unsure)
    return _allow(judged, rule) if trusted else _PERMITTED


def _command(judged: Judged) -> str:
    found = [judged.call.input[key] for key in COMMAND_FIELDS if key in judged.call.input]
    return found[0] if len(found) == 1 and isinstance(found[0], str) else ""


def _uncertain(judged: Judged) -> Ask | None:
    """What an answer of `allow` doesn't cover, as it couldn't be seen whole."""
    call = judged.call
    if judged.doubt is not None:
        return Ask(rule="not-seen-whole", reason=judged.doubt, unsure=(judged.doubt,))
    for fact in judged.paths:
        if fact.holds_denied:
            reason = (
                f"a search through {shown(fact.named)} would read files on the deny list "
                "(or the folder is too large to tell); narrow it by `path` or `glob`"
            )
            return Ask(rule="search-over-denied", reason=reason)
        if fact.doubt is not None:
            reason = f"{shown(fact.named)}: {fact.doubt}"
            return Ask(rule="not-seen-whole", reason=reason, unsure=(reason,))
        outside = call.level is TrustLevel.VAULT and not fact.inside
        if outside and fact.use is Use.PATH_ARGUMENT:
            return Ask(
                rule="argument-outside-vault",
                reason=f"{call.tool} is given a path outside the vault: {shown(fact.named)}",
            )
    return None


def _doubtful_address(judged: Judged) -> Ask | None:
    """Addresses that a person should see first; at `full` they are the agent's own matter."""
    if judged.call.level is TrustLevel.FULL:
        return None
    for url in judged.wants.addresses:
        found = read_address(url)
        if found.private:
            return Ask(
                rule="private-address",
                reason=f"{shown(found.host)} is this machine, or in its network",
            )
        if found.doubts and judged.category is Category.WEB:
            return Ask(rule="doubtful-address", reason=f"{shown(url)}: {'; '.join(found.doubts)}")
    return None


def _not_at_level(judged: Judged) -> Deny:
    call, category = judged.call, judged.category
    return Deny(
        rule=f"{call.level.value}-{category.value}",
        reason=f"{call.tool} is a tool for {category.value}, which trust level "
        f"`{call.level.value}` doesn't have; go on without it, or ask the person",
    )


def _ask(judged: Judged, rule: ToolRule | None) -> Ask:
    if rule is not None:
        return Ask(rule=rule.id, reason=rule.reason)
    call, category = judged.call, judged.category
    return Ask(
        rule=f"{call.level.value}-{category.value}",
        reason=f"at trust level `{call.level.value}` a person decides about {category.value}",
    )


def _allow(judged: Judged, rule: ToolRule | None) -> Allow:
    if rule is not None and rule.answer is Answer.ALLOW:
        return Allow(rule=rule.id, reason=rule.reason)
    return _allowed(judged.call.level, judged.category)


@lru_cache(maxsize=64)
def _allowed(level: TrustLevel, category: Category) -> Allow:
    return Allow(
        rule=f"{level.value}-{category.value}",
        reason=f"trust level `{level.value}` allows {category.value}",
    )
