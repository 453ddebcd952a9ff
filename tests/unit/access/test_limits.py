"""Token buckets: nobody gets more than the rate, and nobody pays for another."""

from hypothesis import given
from hypothesis import strategies as st

from supervisor.access.limits import MOST_CALLERS, Limiter, Rate


@given(st.lists(st.floats(0, 30), max_size=200))
def test_no_more_go_through_than_the_burst_and_what_came_back_since(pauses: list[float]) -> None:
    limiter, now, through = Limiter(Rate(per_minute=60, burst=5)), 0.0, 0
    for pause in pauses:
        now += pause
        through += not limiter.take("a", now)
        assert through <= 5 + now + 1e-6


@given(st.lists(st.sampled_from("abc"), max_size=60))
def test_what_others_ask_takes_nothing_from_one(callers: list[str]) -> None:
    both, alone = Limiter(Rate(60, 5)), Limiter(Rate(60, 5))
    for at, caller in enumerate(callers):
        taken = both.take(caller, at / 10)
        if caller == "a":
            assert taken == alone.take("a", at / 10)


def test_after_the_time_that_was_told_the_next_one_goes_through() -> None:
    limiter = Limiter(Rate(per_minute=6, burst=1))
    assert limiter.take("a", 0) == 0
    wait = limiter.take("a", 1)
    assert 8.9 < wait < 9.1
    assert limiter.take("a", 1 + wait - 0.1) > 0
    assert limiter.take("a", 1 + wait) == 0


def test_a_clock_that_stands_still_or_goes_back_gives_nothing() -> None:
    limiter = Limiter(Rate(60, 1))
    assert limiter.take("a", 100) == 0
    assert limiter.take("a", 50) > 0
    assert limiter.take("a", 100) > 0


def test_a_rate_of_nothing_limits_nothing() -> None:
    limiter = Limiter(Rate(0, 1))
    assert not any(limiter.take("a", 0) for _ in range(1_000))


def test_strangers_without_number_take_bounded_memory() -> None:
    limiter = Limiter(Rate(60, 1))
    for each in range(MOST_CALLERS + 50):
        limiter.take(str(each), 0)
    assert len(limiter._buckets) == MOST_CALLERS
