"""What keeps a command at `vault` from running unasked: effects that nothing covers."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from supervisor.policy.bash.effect import Act, Analysis, Effect
from supervisor.policy.bash.use import IN_DOUBT, PUT
from supervisor.policy.bash.value import HOLE
from supervisor.policy.call import PathFact
from supervisor.policy.coverage import Coverage
from supervisor.policy.deny_list import DenyList
from supervisor.policy.implied import RUNS_ANOTHER, Implied
from supervisor.policy.judged import Judged
from supervisor.policy.targets import CHANGES, LOOKS, PATH_ACTS, Target

MOST_REASONS = 8
_LONGEST = 120
# As in `targets`: looked up once, not for each effect.
_EXECUTE: Final = Act.EXECUTE
_DELETE: Final = Act.DELETE
_OWN_JOB = "%"
_RECORDS = re.compile(
    r"(?:^|/)(?:\.(?:git|hg|jj|svn|bzr)\Z"
    r"|(?:\.git/(?:refs|logs|objects|packed-refs|HEAD|modules)|\.hg/store|\.jj/repo)"
    r"(?:/(?!.*\.lock\Z)|\Z))"
)
"""A repository whole, and what it holds of what was recorded."""
_ENDS_TURN = (
    "at `vault` a new one ends the turn, since git runs what its hooks and settings say: "
    "let the person make it between two messages, or work without one"
)


def not_covered(
    judged: Judged, analysis: Analysis, coverage: Coverage, *, trusted: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Reasons to ask: what isn't permitted, and what can't be told. Both empty: the command runs.

    `trusted` says that trust mode covers all programs and all of the vault.
    """
    missing: dict[str, None] = {}
    unsure: dict[str, None] = {}
    if not analysis.complete:
        unsure["the command is too long or too deep to look through"] = None
    implied = Implied(analysis, coverage, judged.call, judged.policy)
    vault = judged.call.as_seen_vault
    for effect in _unsettled(analysis, trusted=trusted):
        where = unsure if effect.act is Act.UNKNOWN else missing
        where.update(dict.fromkeys(_of_effect(effect, implied)))
    missing.update(dict.fromkeys(_out_there(analysis, vault)))
    missing.update(dict.fromkeys(_records_lost(judged.targets)))
    for effect, what in implied.beyond():
        if what != RUNS_ANOTHER or not (trusted or coverage.any_command):
            missing[_beyond(effect, what, implied)] = None
    for target in judged.targets:
        effect = target.effect
        if effect.elsewhere or effect.reason == PUT:
            continue
        if not (trusted and _is_plainly_inside(target)):
            for reason, sure in _of_target(target, coverage, judged.denied, trusted=trusted):
                (missing if sure else unsure)[reason] = None
    return tuple(missing)[:MOST_REASONS], tuple(unsure)[:MOST_REASONS]


def _is_plainly_inside(target: Target) -> bool:
    """Whether it is a path of the vault of which nothing is in doubt: the most, and soon done."""
    fact = target.fact
    return (
        fact is not None
        and fact.inside
        and target.whole
        and target.pattern is None
        and not (fact.problem or fact.doubt or fact.holds_denied or fact.matches)
    )


def leads_outside(targets: Sequence[Target]) -> bool:
    """Whether a command acts on anything outside of the vault, which no grant opens."""
    return any(
        not each.inside
        for target in targets
        if target.fact is not None and not target.effect.elsewhere
        for each in (target.fact.matches or (target.fact,))
    )


def _out_there(analysis: Analysis, vault: str) -> Iterator[str]:
    """Programs that run what lies in their folder, and are started outside of the vault."""
    for effect in analysis.effects:
        if effect.act is not _EXECUTE or effect.harmless or effect.elsewhere or effect.listed:
            continue
        if _starts_outside(effect, vault):
            yield f"`{_short(effect.program)}` would run in a folder outside the vault"


def _records_lost(targets: Sequence[Target]) -> Iterator[str]:
    """Removals of what a repository has recorded, but for its locks."""
    for target in targets:
        fact, effect = target.fact, target.effect
        if effect.act is _DELETE and fact is not None and not effect.elsewhere:
            facts = fact.matches or (fact,)
            if any(_RECORDS.search(name) for each in facts for name in each.names):
                yield f"removing `{_short(target.shown)}` may lose what a repository has recorded"


def _starts_outside(effect: Effect, vault: str) -> bool:
    return effect.cwd is not None and any(
        each.known and each.text != vault and not each.text.startswith(f"{vault}/")
        for each in effect.cwd.texts
    )


def _unsettled(analysis: Analysis, *, trusted: bool) -> list[Effect]:
    """The effects of which something is to be said here: paths are judged as targets."""
    return [
        effect
        for effect in analysis.effects
        if effect.elsewhere or effect.act not in PATH_ACTS
        if effect.act is not _EXECUTE or not (trusted or effect.harmless)
    ]


def _of_effect(effect: Effect, implied: Implied) -> Iterator[str]:
    if effect.act is Act.EXECUTE:
        if not implied.runs(effect):
            yield f"no permission covers `{_short(' '.join(effect.words) or effect.program)}`"
        return
    if effect.act is Act.SEND and not effect.elsewhere:
        if not implied.sends(effect):
            yield _beyond(effect, f"sends: {effect.reason}", implied)
        return
    if effect.act is Act.REPOSITORY:
        if not effect.elsewhere and not implied.around(effect):
            yield f"`{_short(effect.program)}` {effect.act}, and {_ENDS_TURN}"
        return
    if effect.act is Act.SIGNAL and not effect.severe and _is_own_job(effect):
        return
    subject = f"`{_short(effect.program)}` " if effect.program else "it "
    reason = f": {effect.reason}" if effect.reason else ""
    place = ", on another machine or in a container of its own" if effect.elsewhere else ""
    what = "does what can't be told" if effect.act is Act.UNKNOWN else str(effect.act)
    yield f"{subject}{what}{place}{reason}"


def _beyond(effect: Effect, what: str, implied: Implied) -> str:
    """What a command does that no prefix covers, with the prefixes that don't."""
    subject = f"`{_short(effect.program)}`" if effect.program else "it"
    texts = [] if effect.target is None else [each.text for each in effect.target.texts[:2]]
    words = [text.replace(HOLE, "…") for text in (*texts, *effect.words) if text.strip(HOLE)]
    named = f" (`{_short(' '.join(words))}`)" if words else ""
    granted = " or ".join(dict.fromkeys(f"`{each.text}`" for each in implied.around(effect)))
    beyond = f", which the granted {_short(granted)} doesn't cover" if granted else ""
    return f"{subject} {what}{named}{beyond}"


def _is_own_job(effect: Effect) -> bool:
    return effect.target is not None and all(
        each.text.startswith(_OWN_JOB) for each in effect.target.texts
    )


def _of_target(
    target: Target, coverage: Coverage, hidden: DenyList, *, trusted: bool
) -> Iterator[tuple[str, bool]]:
    """Reasons, each with whether it is certain."""
    effect, shown = target.effect, f"`{_short(target.shown)}`"
    fact = target.fact
    if fact is None or not target.whole:
        yield f"it can't be told which file {shown} is, which it {effect.act}", False
        return
    if fact.problem is not None:
        yield f"{shown}: {fact.problem}", False
        return
    if fact.doubt is not None and effect.act is not Act.LIST:
        yield f"{shown}: {fact.doubt}", False
    if fact.holds_denied:
        yield f"reading {shown} would take in files on the deny list, or may", False
    facts = fact.matches or (fact,)
    touched = effect.act is not Act.LIST and target.pattern is not None
    if touched and _takes_in(facts, hidden):
        yield f"{shown} takes in a file on the deny list", True
    for each in facts:
        if not each.inside:
            yield f"{shown} is outside the vault", True
            return
        if effect.reason == IN_DOUBT:
            continue
        if not trusted and not permitted(target, each, coverage):
            verb = "read" if effect.act in LOOKS else "change"
            yield f"no permission covers to {verb} {shown}", True
            return


def _takes_in(facts: Sequence[PathFact], hidden: DenyList) -> bool:
    return any(hidden.match(name) is not None for each in facts for name in each.names)


def permitted(target: Target, fact: PathFact, coverage: Coverage) -> bool:
    """Whether the coverage has what an effect does with one of the paths that it acts upon."""
    effect = target.effect
    path = fact.resolved or fact.names[0]
    if effect.act in CHANGES:
        changed = {fact.entry or path} if effect.act is Act.DELETE else {path, *fact.names}
        if fact is target.fact and target.pattern is not None:
            changed = set(target.names[:1])  # nothing matches: the shell hands the glob over
        covers = coverage.writes
        if effect.recursive and fact.is_directory:
            covers = coverage.writes_below if effect.only else coverage.writes_whole
        return all(covers(each, program=effect.program) for each in changed)
    if effect.recursive and fact.is_directory:
        return coverage.reads_below(path)
    return coverage.reads(path, folder=fact.is_directory)


def _short(text: str) -> str:
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return text if text.isprintable() else ascii(text)[1:-1]
