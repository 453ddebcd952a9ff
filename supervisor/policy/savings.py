"""Which few grants would have saved the most of the prompts that there were?"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from supervisor.policy.canonical import Input
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.needs import Asking, Need, Needs, coverage_of, needs_of
from supervisor.policy.permissions import GrantKind
from supervisor.policy.replay import Recorded, facts_for, same_call
from supervisor.policy.suggest import suggested
from supervisor.policy.wanted import wanted

MOST_ASKS: Final = 500
"""Different recorded asks that are looked at; the most frequent, if there are more."""
MOST_PATTERNS: Final = 300
"""Different patterns that are tried; those offered for the most prompts."""
MOST_SAVINGS: Final = 20
MOST_TOGETHER: Final = 6
"""Grants that are proposed together, for calls that need several."""
FEW: Final = 3
"""Narrower grants that a broader one is measured by."""
CLEARLY_MORE: Final = 2
"""Times the prompts that those save, which a broader one must save to be worth what it opens."""

Key = tuple[GrantKind, str, str]
"""A pattern that could be granted: kind, pattern, trust level."""


@dataclass(frozen=True, slots=True)
class Saving:
    """Grants, as (kind, pattern), and the prompts they save that those before them don't."""

    grants: tuple[tuple[GrantKind, str], ...]
    level: str
    prompts: int


@dataclass(frozen=True, slots=True)
class _Ask:
    """A call that asked, `count` times: saved once all its needs are met, or `whole` is granted."""

    needs: frozenset[int]
    count: int
    level: str
    whole: Key | None


@dataclass(slots=True)
class _Table:
    """All asks, and what each pattern meets; a lower rank is a narrower pattern."""

    asks: list[_Ask] = field(default_factory=list)
    numbers: dict[tuple[str, Need], int] = field(default_factory=dict)
    offered: Counter[Key] = field(default_factory=Counter)
    ranks: dict[Key, int] = field(default_factory=dict)
    examples: dict[Key, Asking] = field(default_factory=dict)

    def add(self, asking: Asking, count: int) -> None:
        needs = needs_of(asking)
        offers = [(each.kind, each.pattern, needs.level) for each in suggested(asking, needs)]
        if not offers:
            return
        for rank, key in enumerate(offers):
            self.offered[key] += count
            self.ranks[key] = max(rank, self.ranks.get(key, 0))
            self.examples.setdefault(key, asking)
        self.asks.append(
            _Ask(
                frozenset(self._number(needs.level, each) for each in needs.parts),
                count,
                needs.level,
                _whole_of(needs, offers),
            )
        )

    def _number(self, level: str, need: Need) -> int:
        return self.numbers.setdefault((level, need), len(self.numbers))

    def met(self) -> dict[Key, frozenset[int]]:
        """Which needs each pattern meets by itself."""
        found: dict[Key, frozenset[int]] = {}
        for key, _count in self.offered.most_common(MOST_PATTERNS):
            kind, pattern, level = key
            coverage = coverage_of(kind, pattern, self.examples[key])
            found[key] = frozenset(
                number
                for (at, need), number in self.numbers.items()
                if at == level and need.kind is kind and need.met_by(coverage)
            )
        return found


def smallest_grants(records: Iterable[Recorded], policy: CompiledPolicy) -> tuple[Saving, ...]:
    """The grants that would have saved most prompts for each grant given, the best first.

    Narrow before broad: see `_narrow`. Greedy, as the smallest set of all takes too long to find.
    Calls that the policy doesn't ask about are left out, and so are those that can't be granted.
    """
    table = _Table()
    for ask, count in _asks(records):
        wants = wanted(ask.call, policy)
        facts = facts_for(wants, ask.facts)
        if facts is not None:
            held = ask.under(policy)
            table.add(Asking(ask.call, wants, facts, policy, held, ask.now), count)
    return _chosen(table.asks, table.met(), table.ranks)


def _asks(records: Iterable[Recorded]) -> list[tuple[Input, int]]:
    counts: Counter[str] = Counter()
    inputs: dict[str, Input] = {}
    for record in records:
        if record.said == "ask" and record.input is not None:
            key = same_call(record.input)
            counts[key] += 1
            inputs[key] = record.input
    return [(inputs[key], count) for key, count in counts.most_common(MOST_ASKS)]


def _whole_of(needs: Needs, offers: Sequence[Key]) -> Key | None:
    """The grant of the very command; it is offered first, where it is."""
    if needs.whole is None or not offers:
        return None
    kind, pattern, _level = offers[0]
    return offers[0] if kind is GrantKind.BASH and pattern.startswith("=") else None


def _chosen(
    asks: Sequence[_Ask], met: Mapping[Key, frozenset[int]], ranks: Mapping[Key, int]
) -> tuple[Saving, ...]:
    left = list(asks)
    given: set[Key] = set()
    reached: frozenset[int] = frozenset()
    savings: list[Saving] = []
    while left and len(savings) < MOST_SAVINGS:
        fit = _narrow(left, reached, met, ranks)
        bundles = {bundle for ask in left for bundle in _bundles(ask, left, reached, fit, ranks)}
        best: tuple[float, int, int, tuple[Key, ...]] | None = None
        for bundle in bundles:
            saved = _saved(left, reached.union(*(met[key] for key in bundle)), given | {*bundle})
            breadth = sum(ranks[key] for key in bundle)
            score = (-saved / len(bundle), len(bundle), breadth, bundle)
            best = score if best is None or score < best else best
        if best is None or best[0] == 0:
            break
        bundle = best[3]
        given |= {*bundle}
        reached = reached.union(*(met[key] for key in bundle))
        saved = _saved(left, reached, given)
        grants = tuple((kind, pattern) for kind, pattern, _ in bundle)
        savings.append(Saving(grants, bundle[0][2], saved))
        left = [ask for ask in left if not _is_saved(ask, reached, given)]
    return tuple(savings)


def _narrow(
    left: Sequence[_Ask],
    reached: frozenset[int],
    met: Mapping[Key, frozenset[int]],
    ranks: Mapping[Key, int],
) -> dict[Key, frozenset[int]]:
    """The patterns that are as narrow as they can be, with the needs that each meets.

    One is left out where a narrower one meets as much, and where the best `FEW` narrower ones
    together save so many prompts that it doesn't save `CLEARLY_MORE` times as many. Only a folder's
    own files take the place of grants for single files in it as they are.
    """
    prompts: Counter[int] = Counter()
    for ask in left:
        for need in ask.needs - reached:
            prompts[need] += ask.count
    open_met = {key: needs & prompts.keys() for key, needs in met.items()}
    found: dict[Key, frozenset[int]] = {}
    for key, needs in open_met.items():
        within = [
            (other, meets)
            for other, meets in open_met.items()
            if meets
            and meets <= needs
            and (meets < needs or (ranks[other], other) < (ranks[key], key))
        ]
        if any(meets == needs for _, meets in within):
            continue
        if _is_of_one_folder(key) or _saves_clearly_more(needs, [m for _, m in within], prompts):
            found[key] = met[key]
    # Of very many patterns the narrowest for a need may be among those that aren't tried.
    unmet = prompts.keys() - frozenset[int]().union(*found.values())
    return {**found, **{key: met[key] for key, needs in open_met.items() if needs & unmet}}


def _is_of_one_folder(key: Key) -> bool:
    kind, pattern, _level = key
    return kind in (GrantKind.READ, GrantKind.WRITE) and "**" not in pattern


def _saves_clearly_more(
    needs: frozenset[int], within: Sequence[frozenset[int]], prompts: Counter[int]
) -> bool:
    few: frozenset[int] = frozenset()
    for _ in range(FEW):
        few |= max(within, key=lambda each: _sum(each - few, prompts), default=frozenset())
    return _sum(needs, prompts) >= CLEARLY_MORE * _sum(few, prompts)


def _sum(needs: Iterable[int], prompts: Counter[int]) -> int:
    return sum(prompts[need] for need in needs)


def _bundles(
    ask: _Ask,
    left: Sequence[_Ask],
    reached: frozenset[int],
    met: Mapping[Key, frozenset[int]],
    ranks: Mapping[Key, int],
) -> list[tuple[Key, ...]]:
    """Grants that save an ask: of the command as it stands; for its needs, narrow or broad."""
    found: list[tuple[Key, ...]] = []
    if ask.whole is not None and ask.whole in met:
        found.append((ask.whole,))
    open_needs = ask.needs - reached
    useful = [key for key in met if key[2] == ask.level and met[key] & open_needs]
    weight = {key: sum(each.count for each in left if met[key] & each.needs) for key in useful}
    for narrow in (True, False):
        chosen: set[Key] = set()
        waiting = set(open_needs)
        while waiting and len(chosen) < MOST_TOGETHER:
            fitting = [key for key in useful if met[key] & waiting]
            if not fitting:
                break
            best = min(
                fitting,
                key=lambda key: (
                    (ranks[key], -weight[key], key) if narrow else (-weight[key], ranks[key], key)
                ),
            )
            chosen.add(best)
            waiting -= met[best]
        if chosen and not waiting:
            found.append(tuple(sorted(chosen)))
    return found


def _saved(asks: Iterable[_Ask], reached: frozenset[int], given: set[Key]) -> int:
    return sum(ask.count for ask in asks if _is_saved(ask, reached, given))


def _is_saved(ask: _Ask, reached: frozenset[int], given: set[Key]) -> bool:
    return ask.whole in given or (bool(ask.needs) and ask.needs <= reached)
