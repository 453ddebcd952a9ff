"""The lattice is finite, so that no step goes down is shown for every case there is."""

from collections.abc import Iterator
from itertools import combinations, permutations, product

import pytest

from supervisor.errors import LooserThanFloor
from supervisor.trust.floor import Floor, FloorSource
from supervisor.trust.levels import TrustLevel, strictest
from supervisor.trust.resolve import require_not_looser, resolve_trust

LEVELS = tuple(TrustLevel)
ASKED = (None, *LEVELS)


def every_set_of_floors() -> Iterator[tuple[Floor, ...]]:
    """Each subset of the sources with each level at each of them."""
    for count in range(len(FloorSource) + 1):
        for sources in combinations(FloorSource, count):
            for levels in product(LEVELS, repeat=count):
                yield tuple(Floor(s, level) for s, level in zip(sources, levels, strict=True))


SETS = tuple(every_set_of_floors())
CASES = tuple(product(ASKED, SETS))


def test_every_case_is_enumerated() -> None:
    assert len(SETS) == (len(LEVELS) + 1) ** len(FloorSource)
    assert len(set(SETS)) == len(SETS)


def test_the_effective_level_is_never_looser_than_the_request_or_any_floor() -> None:
    for asked, floors in CASES:
        trust = resolve_trust(asked, floors)
        assert not trust.effective.is_looser_than(asked or TrustLevel.SANDBOXED)
        assert not any(trust.effective.is_looser_than(floor.level) for floor in floors)


def test_the_effective_level_is_one_that_somebody_demanded() -> None:
    for asked, floors in CASES:
        demanded = {asked or TrustLevel.SANDBOXED, *(floor.level for floor in floors)}
        assert resolve_trust(asked, floors).effective in demanded


def test_the_order_of_the_floors_makes_no_difference() -> None:
    for asked, floors in CASES:
        expected = resolve_trust(asked, floors).effective
        assert all(
            resolve_trust(asked, order).effective is expected for order in permutations(floors)
        )


def test_one_more_floor_never_loosens() -> None:
    for asked, floors in CASES:
        before = resolve_trust(asked, floors).effective
        for source, level in product(FloorSource, LEVELS):
            after = resolve_trust(asked, (*floors, Floor(source, level))).effective
            assert not after.is_looser_than(before)


def test_a_stricter_request_never_loosens() -> None:
    for floors in SETS:
        results = [resolve_trust(asked, floors).effective.strictness for asked in LEVELS]
        assert results == sorted(results)


def test_resolving_the_outcome_again_changes_nothing() -> None:
    for asked, floors in CASES:
        once = resolve_trust(asked, floors).effective
        assert resolve_trust(once, floors).effective is once


def test_asking_for_nothing_is_asking_for_the_strictest() -> None:
    for floors in SETS:
        assert resolve_trust(None, floors).effective is TrustLevel.SANDBOXED


def test_the_trace_names_each_floor_and_only_the_ones_that_raised_are_blamed() -> None:
    for asked, floors in CASES:
        trust = resolve_trust(asked, floors)
        text = trust.trace()
        assert text[0] == f"asked for {trust.requested.value}"
        assert text[1:-1] == tuple(str(floor) for floor in floors)
        assert text[-1].startswith(f"runs at {trust.effective.value}")
        assert all(floor.level is trust.effective for floor in trust.raised_by)
        assert bool(trust.raised_by) == (trust.effective is not trust.requested)


def test_a_wish_is_refused_exactly_when_a_floor_is_stricter_and_the_refusal_names_it() -> None:
    for wanted, floors in product(LEVELS, SETS):
        stricter = [floor for floor in floors if wanted.is_looser_than(floor.level)]
        if not stricter:
            require_not_looser(wanted, floors)
            continue
        with pytest.raises(LooserThanFloor) as refusal:
            require_not_looser(wanted, floors)
        top = strictest(*(floor.level for floor in floors))
        named = [floor for floor in floors if floor.source.value == refusal.value.where]
        assert [floor.level for floor in named] == [top]
