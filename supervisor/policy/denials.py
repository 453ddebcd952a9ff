"""What is refused whatever anybody permitted: the upper steps of the order of decision."""

import posixpath
import re
from typing import Final

from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.bash.use import IN_DOUBT, PUT
from supervisor.policy.call import Deny, Kind, Use
from supervisor.policy.dangerous import DangerRule
from supervisor.policy.deny_list import DenyRule
from supervisor.policy.globs import (
    has_magic,
    only_means_denied,
    plain_names_fitting,
    readings,
)
from supervisor.policy.judged import Judged, first_match
from supervisor.policy.places import absolute
from supervisor.policy.shown import shown
from supervisor.policy.targets import CHANGES, Target
from supervisor.policy.web import read_address
from supervisor.trust.levels import TrustLevel

FILE_USES = frozenset({Use.READ, Use.SEARCH, Use.WRITE})
_MAY_WRITE = frozenset({Use.WRITE, Use.WORD, Use.ARGUMENT, Use.PATH_ARGUMENT})
_TOUCHES = frozenset({Act.READ, Act.LINK}) | CHANGES
# As in `targets`: looked up once, not for each path.
_READ: Final = Act.READ
_WRITE: Final = Act.WRITE
_LINK: Final = Act.LINK
_UNSEEN: Final = Kind.UNSEEN
_OF_A_KIND: Final = re.compile(r"(?:[^*?\[\\]*/)?\*\.[A-Za-z0-9]{1,8}")
"""A glob for all of an ending in a folder."""
_NOT_SURE: Final = frozenset({IN_DOUBT, PUT})
_NOWHERE: Final = "/\0"
"""A vault that no path leads to."""


def refused(judged: Judged) -> Deny | None:
    """What is refused whatever anybody permitted; what stands higher beats all below it.

    Knowing more of the file system takes no refusal away.
    """
    return self_protection(judged) or deny_list(judged) or dangerous(judged) or confinement(judged)


def self_protection(judged: Judged) -> Deny | None:
    """Nothing that steers agents, or records what they did, is changed by one."""
    policy, tool = judged.policy, judged.call.tool
    for fact in judged.paths:
        rule = first_match(policy.protected, fact.names) if fact.use in _MAY_WRITE else None
        if rule is not None:
            what = "writes" if fact.use is Use.WRITE else f"may write (through {tool})"
            return Deny(rule=rule.id, reason=f"nothing {what} {shown(fact.named)}: {rule.reason}")
    for target in judged.targets:
        if target.effect.act in CHANGES or target.effect.act is _LINK:
            found = None if target.effect.elsewhere else _protected(judged, target)
            if found is not None:
                return Deny(
                    rule=found.id, reason=f"nothing changes {shown(target.shown)}: {found.reason}"
                )
    return None


def _protected(judged: Judged, target: Target) -> DenyRule | None:
    policy, effect = judged.policy, target.effect
    matches = target.fact.matches if target.fact is not None and target.fact.matches else ()
    chosen = _is_of_what_matches(target)
    own = target.names[:1] if chosen else target.names  # the others are those of the folder
    spellings = [own, *(each.names for each in matches)]
    names = policy.protected
    for each in spellings:
        rule = first_match(names, each)
        if rule is not None:
            return rule
    if effect.act is _WRITE and effect.recursive:
        found = (policy.filled.holder(name) for each in spellings for name in each)
        return next((rule for rule in found if rule is not None), None)
    if effect.act is Act.DELETE or (effect.act is Act.CHANGE_MODE and effect.recursive):
        some = any(glob.strip("*") for glob in effect.only)
        for name in (name for each in spellings for name in each if not some):
            rule = policy.kept.holder(name)
            if rule is not None:
                return rule
        facts = matches if chosen or target.fact is None else (target.fact, *matches)
        held = next((each.holds_protected for each in facts if each.holds_protected), None)
        if held is not None:
            return next((rule for rule in names.rules if rule.id == held), None)
    return None


def _is_of_what_matches(target: Target) -> bool:
    """Whether a glob was written out, and only what it matches is acted upon."""
    fact = target.fact
    known = fact is not None and fact.matches is not None
    return known and target.pattern is not None and not target.broad


def deny_list(judged: Judged) -> Deny | None:
    """Names on the deny list aren't read, written, removed, linked or handed on."""
    denied = judged.denied
    for fact in judged.paths:
        rule = first_match(denied, fact.names)
        if rule is not None:
            return _on_list(fact.named, rule)
    for pattern in judged.wants.patterns:
        name = only_means_denied(pattern, denied) if has_magic(pattern) else None
        rule = denied.match(name) if name is not None else None
        if rule is not None:
            return _meant_for(pattern, rule)
    for target in judged.targets:
        if target.effect.act in _TOUCHES:
            found = _denied_target(judged, target)
            if found is not None:
                return found
    return None


def _denied_target(judged: Judged, target: Target) -> Deny | None:
    denied = judged.denied
    if target.pattern is None:
        rule = first_match(denied, target.names) or _denied_within(judged, target)
        if rule is not None:
            return _on_list(target.shown, rule)
    else:
        above = posixpath.dirname(target.names[0].rstrip("/")) if target.broad else ""
        rule = judged.policy.sources.holder(above) if above else None
        if rule is not None and target.effect.act is _READ:
            return _on_list(target.shown, rule)
        found = _denied_pattern(judged, target)
        if found is not None:
            return found
    for glob in target.effect.only:
        name = only_means_denied(glob, denied) if has_magic(glob) else glob
        rule = denied.match(name) if name is not None else None
        if rule is None and name is not None and target.pattern is None:
            rule = next((hit for each in target.names if (hit := denied.below(each, name))), None)
        if rule is not None:
            return _meant_for(glob, rule)
    return None


def _denied_within(judged: Judged, target: Target) -> DenyRule | None:
    """The rule for which a folder that is read with all below it is there."""
    effect = target.effect
    if effect.act is not _READ or not effect.recursive or effect.only:
        return None
    found = (judged.policy.sources.holder(name) for name in target.names)
    return next((rule for rule in found if rule is not None), None)


def _denied_pattern(judged: Judged, target: Target) -> Deny | None:
    """A glob is denied if it is written for denied names, or most of what it matches is denied."""
    denied, pattern = judged.denied, target.pattern or ""
    name = only_means_denied(pattern, denied)
    rule = denied.match(name) if name is not None else None
    matches = target.fact.matches if target.fact is not None and target.fact.matches else ()
    if rule is None and not target.broad and matches:
        hits = [rule for each in matches if (rule := first_match(denied, each.names)) is not None]
        if _OF_A_KIND.fullmatch(pattern) and len(hits) < len(matches):
            # `*.txt` isn't written for what one of many is a link to.
            own = (denied.match(each.names[0]) for each in matches if each.names)
            hits = [rule for rule in own if rule is not None]
        rule = hits[0] if hits and len(hits) * 2 >= len(matches) else None
    above, _, last = pattern.rpartition("/")
    if rule is None and not target.broad and not has_magic(above) and not has_magic(last[:1]):
        # In a folder that is there for what is denied, some letters of a name are enough.
        above = posixpath.dirname(target.names[0].rstrip("/"))
        if judged.policy.sources.holder(above) is not None:
            found = (denied.match(f"{above}/{each}") for each in plain_names_fitting(last, denied))
            rule = next((each for each in found if each is not None), None)
    return _meant_for(target.shown, rule) if rule is not None else None


def _on_list(name: str, rule: DenyRule) -> Deny:
    return Deny(rule=rule.id, reason=f"{shown(name)} is on the deny list: {rule.reason}")


def _meant_for(pattern: str, rule: DenyRule) -> Deny:
    return Deny(
        rule=rule.id,
        reason=f"{shown(pattern)} is meant for names on the deny list: {rule.reason}",
    )


def dangerous(judged: Judged) -> Deny | None:
    """Acts that are never right, by the rules of the policy files."""
    analysis = judged.wants.analysis
    acts = judged.policy.dangerous_acts
    for effect in analysis.effects if analysis is not None else ():
        if effect.act in acts:
            for rule in acts[effect.act]:
                if rule.fits(effect) and rule.hits_hosts_of(effect):
                    return _danger(rule, effect)
    return _at_a_place(judged) or _by_address(judged)


def _at_a_place(judged: Judged) -> Deny | None:
    rules = judged.policy.dangerous_places
    for target in judged.targets:
        effect = target.effect
        some = rules.get(effect.act)
        if some is None or (effect.act is _READ and effect.reason == IN_DOUBT):
            continue
        fact = target.fact
        if target.pattern is None and (fact is None or not fact.matches):
            kind = _UNSEEN if fact is None else fact.kind
            if not some.may_hit(target.places, kind):
                continue
        whole = target.broad and target.pattern is not None
        for rule in some.rules:
            if rule.fits(effect, whole=whole) and _hits(judged, rule, target):
                return _danger(rule, effect)
    return None


def _by_address(judged: Judged) -> Deny | None:
    for url in judged.wants.addresses:
        host = read_address(url).host
        for rule in judged.policy.dangerous_acts.get(Act.SEND, ()):
            if rule.hosts and (rule.hits_host(host) or rule.hits_host(url)):
                return Deny(rule=rule.id, reason=f"{shown(host)}: {rule.reason}")
    return None


def _danger(rule: DangerRule, effect: Effect) -> Deny:
    what = shown(effect.program) if effect.program else "the command"
    return Deny(rule=rule.id, reason=f"{what} {effect.act}: {rule.reason}")


def _hits(judged: Judged, rule: DangerRule, target: Target) -> bool:
    vault, home = judged.call.as_seen_vault, judged.call.as_seen_home
    if target.effect.elsewhere:
        vault = _NOWHERE  # a container has other folders
    if rule.recursive and any(glob.strip("*") for glob in target.effect.only):
        return False  # only files of some name
    fact = target.fact
    kind = fact.kind if fact is not None else _UNSEEN
    for place in target.places:
        if rule.hits_place(place, vault, home, kind):
            return True
    if rule.paths and target.pattern is not None and not target.broad:
        for each in readings(target.pattern):
            if each[:1] == "/" and rule.hits_place(each, vault, home):
                return True
    if fact is None or not fact.matches:
        return False
    return any(
        rule.hits_place(absolute(each.names[0], vault), vault, home, each.kind)
        for each in fact.matches
        if each.names
    )


def _repository_named(judged: Judged) -> str | None:
    """A file or link that would be put where git looks for a repository (`sub/.git`)."""
    for fact in judged.paths:
        if fact.use is Use.WRITE and any(_is_git(name) for name in fact.names):
            return fact.named
    for target in judged.targets:
        effect = target.effect
        if effect.act is not _WRITE or effect.elsewhere or effect.reason in _NOT_SURE:
            continue
        if any(_is_git(name) for name in target.names):
            return target.shown
    return None


def _is_git(name: str) -> bool:
    return posixpath.basename(name.rstrip("/")).lower() == ".git"


def confinement(judged: Judged) -> Deny | None:
    """At `vault`, file tools reach the vault and nothing else; nothing opens the outside."""
    if judged.call.level is not TrustLevel.VAULT:
        return None
    named = _repository_named(judged)
    if named is not None:
        return Deny(
            rule="vault-repository",
            reason=f"{shown(named)} is where git looks for a repository: at `vault`, a new one "
            "ends the turn; ask the person to make it between two messages",
        )
    for fact in judged.paths:
        if fact.use in FILE_USES and not fact.inside:
            return Deny(
                rule="vault-confinement",
                reason=f"{shown(fact.named)} is outside the vault, and this session's trust "
                "level is `vault`: no permission opens the outside; use files in the vault",
            )
    return None
