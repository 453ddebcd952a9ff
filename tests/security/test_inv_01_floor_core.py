"""Invariant 1, the core of it: no words a request may use get below the strictest floor."""

from itertools import product

import pytest

from supervisor.errors import InvalidRequest, LooserThanFloor
from supervisor.trust.floor import Floor, FloorSource
from supervisor.trust.levels import TrustLevel
from supervisor.trust.resolve import require_not_looser, resolve_trust


@pytest.mark.parametrize("source", FloorSource)
@pytest.mark.parametrize("asked", TrustLevel)
def test_one_floor_of_any_source_holds_against_all_other_sources_saying_full(
    source: FloorSource, asked: TrustLevel
) -> None:
    loose = [Floor(each, TrustLevel.FULL) for each in FloorSource if each is not source]
    for level in TrustLevel:
        for at in range(len(loose) + 1):
            floors = [*loose[:at], Floor(source, level), *loose[at:]]
            assert not resolve_trust(asked, floors).effective.is_looser_than(level)


def test_without_the_floor_the_same_request_does_run_loosely() -> None:
    # The positive control: it is the floor that holds in the test above, and nothing else.
    loose = [Floor(each, TrustLevel.FULL) for each in FloorSource]
    assert resolve_trust(TrustLevel.FULL, loose).effective is TrustLevel.FULL


def test_repeating_a_loose_floor_outvotes_nobody() -> None:
    floors = [Floor(FloorSource.AGENT, TrustLevel.FULL)] * 1000
    floors.insert(500, Floor(FloorSource.PARENT, TrustLevel.SANDBOXED, "root"))
    trust = resolve_trust(TrustLevel.FULL, floors)
    assert trust.effective is TrustLevel.SANDBOXED
    assert trust.raised_by == (Floor(FloorSource.PARENT, TrustLevel.SANDBOXED, "root"),)


@pytest.mark.parametrize(
    "word", ["full\0", "full;vault", "fu\u200bll", "\uff46\uff55\uff4c\uff4c", "None", "[]"]
)
def test_a_word_that_only_looks_like_a_level_is_refused(word: str) -> None:
    with pytest.raises(InvalidRequest):
        TrustLevel.parse(word)


def test_a_chain_of_children_only_ever_gets_stricter() -> None:
    for wishes in product(TrustLevel, repeat=5):
        inherited = TrustLevel.FULL
        for wish in wishes:
            effective = resolve_trust(wish, [Floor(FloorSource.PARENT, inherited)]).effective
            assert not effective.is_looser_than(inherited)
            inherited = effective


def test_changing_a_session_below_a_floor_is_refused_and_says_whose_floor_it_is() -> None:
    floors = [
        Floor(FloorSource.SERVER, TrustLevel.VAULT),
        Floor(FloorSource.WORKSPACE, TrustLevel.SANDBOXED, "clients"),
    ]
    with pytest.raises(LooserThanFloor) as refusal:
        require_not_looser(TrustLevel.VAULT, floors)
    assert refusal.value.status == 409
    assert refusal.value.where == "workspace:clients"
    require_not_looser(TrustLevel.SANDBOXED, floors)
