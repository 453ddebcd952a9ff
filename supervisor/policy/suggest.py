"""What could be granted so that a call that asks wouldn't: a few patterns, from narrow to broad."""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.bash.use import RUN
from supervisor.policy.bash.value import HOLE
from supervisor.policy.call import Ask, Facts, ToolCall
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.grant_pattern import WHOLE, exactly, validate
from supervisor.policy.needs import Asking, Need, Needs, coverage_of, needs_of
from supervisor.policy.permissions import GrantKind, GrantScope, Permissions
from supervisor.policy.prefixes import prefixes
from supervisor.policy.shell_cover import leads_outside
from supervisor.policy.shown import shown
from supervisor.policy.wants import Wants
from supervisor.trust.levels import TrustLevel

MOST_SUGGESTED: Final = 12
"""Suggestions for one call."""

_NOTHING: Final = "it can be allowed this once only"
_SCOPES: Final = (GrantScope.SESSION, GrantScope.AGENT)
_VAULT: Final = "."
_WITHIN: Final = (
    ", unless what follows reaches other hosts, sends files or runs other programs or scripts"
)
_DENIED_STAY: Final = "; what is on the deny list stays denied"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A pattern that may be granted. `covers` says in words what it covers.

    `enough`: with it alone the call runs unasked; otherwise `covers` says what more it takes.
    """

    kind: GrantKind
    pattern: str
    covers: str
    enough: bool = True
    scopes: tuple[GrantScope, ...] = _SCOPES


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A pattern for one need; a higher `rank` is broader."""

    rank: int
    kind: GrantKind
    pattern: str
    covers: str


def suggestions(  # noqa: PLR0913  (all that the decision was made from)
    call: ToolCall,
    wants: Wants,
    facts: Facts,
    policy: CompiledPolicy,
    *,
    permissions: Permissions | None = None,
    now: float = 0.0,
) -> tuple[Suggestion, ...]:
    """The suggestions for a call that asks; none for any other, and none that wouldn't help.

    Without `permissions` those count that the policy has for the level.
    """
    held = permissions or policy.defaults[call.level]
    asking = Asking(call, wants, facts, policy, held, now)
    return suggested(asking, needs_of(asking))


def suggested(asking: Asking, needs: Needs) -> tuple[Suggestion, ...]:
    """The suggestions for needs that are known already."""
    found: dict[tuple[GrantKind, str], Suggestion] = {}
    if needs.whole is not None and validate(GrantKind.BASH, WHOLE + needs.whole) is None:
        covers = f"runs this very command again, letter by letter{_also(asking, None)}"
        whole = Suggestion(GrantKind.BASH, WHOLE + needs.whole, covers)
        found[whole.kind, whole.pattern] = whole
    groups = [_candidates(need, asking) for need in needs.parts]
    if not all(groups):
        return tuple(found.values())
    for each in sorted((each for group in groups for each in group), key=lambda each: each.rank):
        key = (each.kind, each.pattern)
        if key not in found and (made := _checked(each, needs, groups, asking)) is not None:
            found[key] = made
    return tuple(found.values())[:MOST_SUGGESTED]


def why_none(asking: Asking, needs: Needs) -> str:
    """Why a call that asks can't be granted but once, in a sentence; empty if it can."""
    verdict = asking.verdict()
    if needs.parts or needs.whole is not None or not isinstance(verdict, Ask):
        return ""
    if verdict.rule == "not-confined":
        return _NOTHING  # why is the verdict's reason already
    targets = asking.judged.targets
    if asking.wants.analysis is not None and leads_outside(targets):
        return f"{_NOTHING}: no grant opens the outside of the vault"
    if verdict.unsure:
        return f"{_NOTHING}: the call couldn't be understood: {verdict.unsure[0]}"
    return f"{_NOTHING}: a person decides about each such call"


def _checked(
    candidate: _Candidate, needs: Needs, groups: Sequence[Sequence[_Candidate]], asking: Asking
) -> Suggestion | None:
    """The suggestion, if the call runs with it, or with it and one for each need that it leaves."""
    if validate(candidate.kind, candidate.pattern) is not None:
        return None
    alone = coverage_of(candidate.kind, candidate.pattern, asking)
    left = [
        (need, group)
        for need, group in zip(needs.parts, groups, strict=True)
        if not need.met_by(alone)
    ]
    if len(left) == len(groups):
        return None
    broadest = [(group[-1].kind, group[-1].pattern) for _need, group in left]
    if not asking.allowed_with([(candidate.kind, candidate.pattern), *broadest]):
        return None
    covers = candidate.covers
    if left:
        covers += f"; not enough by itself: {', '.join(_named(need) for need, _ in left)} too"
    return Suggestion(candidate.kind, candidate.pattern, covers, enough=not left)


def _candidates(need: Need, asking: Asking) -> list[_Candidate]:
    """Patterns that cover the need, from narrow to broad."""
    makers = {GrantKind.BASH: _for_command, GrantKind.TOOL: _for_tool}
    made = makers.get(need.kind, _for_path)(need, asking)
    return [each for each in made if need.met_by(coverage_of(each.kind, each.pattern, asking))]


def _for_path(need: Need, asking: Asking) -> Iterator[_Candidate]:
    if need.kind is GrantKind.WRITE and asking.call.level is TrustLevel.SANDBOXED:
        return  # it would be allowed, and fail: the vault is read-only there
    verb = "reads" if need.kind is GrantKind.READ else "writes, changes or deletes"
    path = need.path
    whole_folder = need.below or need.folder
    folder = path if whole_folder else posixpath.dirname(path) or _VAULT
    root = path.split("/", 1)[0] if "/" in path or whole_folder else _VAULT

    def made(rank: int, pattern: str, covers: str) -> _Candidate:
        return _Candidate(rank, need.kind, pattern, f"{verb} {covers}")

    if not whole_folder:
        yield made(1, exactly(path), f"the file {shown(path)} and no other")
    if not need.below:
        where = "the vault itself" if folder == _VAULT else shown(folder)
        yield made(
            2,
            _in(folder, "*"),
            f"any file directly in {where}, none in folders below{_DENIED_STAY}",
        )
    if folder != _VAULT:
        yield made(
            3, _in(folder, "**/*"), f"any file in {shown(folder)} and below it{_DENIED_STAY}"
        )
    if root not in (_VAULT, folder):
        yield made(4, _in(root, "**/*"), f"any file in {shown(root)} and below it{_DENIED_STAY}")
    yield made(5, "**/*", f"any file in the vault{_DENIED_STAY}")


def _in(folder: str, glob: str) -> str:
    return glob if folder == _VAULT else f"{exactly(folder)}/{glob}"


def _for_command(need: Need, asking: Asking) -> Iterator[_Candidate]:
    effects = () if asking.wants.analysis is None else asking.wants.analysis.effects
    at = next((i for i, e in enumerate(effects) if _runs(e) and e.words == need.words), None)
    runs = None if at is None else effects[at]
    # What a command starts comes after it, in its own part.
    later = () if at is None else effects[at + 1 :]
    starts_others = runs is not None and any(_runs(e) and _is_within(e, runs) for e in later)
    found = prefixes(need.words, asking.policy, starts_others=starts_others)
    for number, leading in enumerate(found):
        text = " ".join(leading)
        covers = f"runs any command that begins with `{text}`{_WITHIN}"
        yield _Candidate(
            1 + number, GrantKind.BASH, text, covers + _also(asking, runs) + _not_its_files(asking)
        )


def _runs(effect: Effect) -> bool:
    return effect.act is Act.EXECUTE


def _is_within(effect: Effect, outer: Effect) -> bool:
    return outer.part.start <= effect.part.start and effect.part.end <= outer.part.end


def _not_its_files(asking: Asking) -> str:
    if asking.permissions.trust_mode:
        return ""
    return "; the files it reads and changes need grants of their own"


def _also(asking: Asking, runs: Effect | None) -> str:
    """What the command does besides that a person should know; None: the call as a whole."""
    analysis = asking.wants.analysis
    effects = [
        each
        for each in (analysis.effects if analysis is not None else ())
        if runs is None or each.part == runs.part
    ]
    told = {each.act for each in effects}
    acts = [
        _NO_NETWORK if act is Act.SEND and _is_cut_off(asking) else words
        for act, words in _TOLD
        if act in told
    ]
    if any(each.reason == RUN for each in effects):
        acts.append("runs a file, whatever that holds by then")
    return f"; it {' and '.join(acts)}" if acts else ""


def _is_cut_off(asking: Asking) -> bool:
    """Whether the kernel keeps the call's programs from the network."""
    if asking.call.level is not TrustLevel.VAULT:
        return asking.call.level is TrustLevel.SANDBOXED
    return asking.permissions.confined and not asking.policy.cage_network


_NO_NETWORK: Final = "tries to reach the network, which its cage doesn't have"
_TOLD: Final = (
    (Act.SEND, "reaches the network"),
    (Act.DELETE, "deletes files"),
    (Act.CHANGE_MODE, "changes permissions"),
    (Act.LOSE, "may lose work"),
    (Act.REVEAL, "may show secrets"),
    (Act.SIGNAL, "ends processes"),
    (Act.REPOSITORY, "makes a repository, which ends the turn"),
    (Act.SYSTEM, "changes the system"),
    (Act.UNKNOWN, "does what can't be told beforehand"),
)


def _for_tool(need: Need, _asking: Asking) -> Iterator[_Candidate]:
    if len(need.hosts) == 1:
        host = need.hosts[0]
        yield _Candidate(
            1,
            GrantKind.TOOL,
            f"{need.tool}:{host}",
            f"lets {shown(need.tool)} reach any address at {shown(host)}",
        )
    reach = ", whatever address it is given" if need.hosts else ", whatever its input"
    yield _Candidate(2, GrantKind.TOOL, need.tool, f"calls the tool {shown(need.tool)}{reach}")
    server = server_of(need.tool)
    if server is not None:
        yield _Candidate(
            3,
            GrantKind.TOOL,
            f"mcp__{server}__*",
            f"calls any tool of the MCP server {shown(server)}, those it gets later too",
        )


def server_of(tool: str) -> str | None:
    """The MCP server that a tool is of."""
    parts = tool.split("__", 2)
    return parts[1] if len(parts) == 3 and parts[0] == "mcp" and parts[1] else None  # noqa: PLR2004


def _named(need: Need) -> str:
    if need.kind is GrantKind.BASH:
        return shown(" ".join(need.words).replace(HOLE, "…"))
    if need.kind is GrantKind.TOOL:
        return shown(need.tool)
    return f"{'reading' if need.kind is GrantKind.READ else 'changing'} {shown(need.path)}"
