"""The order of the levels, and how names become levels."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.errors import InvalidRequest
from supervisor.trust.floor import Floor, FloorSource
from supervisor.trust.levels import TrustLevel, strictest
from supervisor.trust.resolve import resolve_trust

levels = st.sampled_from(TrustLevel)
floors = st.lists(
    st.builds(Floor, st.sampled_from(FloorSource), levels, st.none() | st.text(max_size=8)),
    max_size=40,
)


def test_the_levels_stand_in_rising_strictness() -> None:
    assert [level.value for level in sorted(TrustLevel, key=lambda each: each.strictness)] == [
        "full",
        "vault",
        "sandboxed",
    ]


def test_nothing_said_is_the_strictest() -> None:
    assert TrustLevel.parse(None) is TrustLevel.SANDBOXED


@pytest.mark.parametrize("text", ["full", " FULL ", "Full"])
def test_a_name_is_read_without_case_and_blanks(text: str) -> None:
    assert TrustLevel.parse(text) is TrustLevel.FULL


@pytest.mark.parametrize("text", ["", " ", "fully", "root", "ful", "trusted", "0"])
def test_an_unknown_name_is_refused_and_never_loosens(text: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        TrustLevel.parse(text)
    assert refusal.value.where == "trustLevel"


@given(levels, floors)
def test_however_many_floors_there_are_the_strictest_wins(
    asked: TrustLevel, demanded: list[Floor]
) -> None:
    effective = resolve_trust(asked, demanded).effective
    assert effective is strictest(asked, *(floor.level for floor in demanded))


@given(levels, floors, st.randoms(use_true_random=False))
def test_shuffled_floors_resolve_alike(
    asked: TrustLevel, demanded: list[Floor], random: Random
) -> None:
    shuffled = list(demanded)
    random.shuffle(shuffled)
    assert resolve_trust(asked, shuffled).effective is resolve_trust(asked, demanded).effective
