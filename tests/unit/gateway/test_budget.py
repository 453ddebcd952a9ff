from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.events.schema import Spending
from supervisor.gateway.access import Budget
from supervisor.gateway.budget import DEAREST, PRICES, BudgetState, Usage, cost, price_of

counts = st.integers(0, 10_000_000)
usages = st.builds(
    Usage,
    input_tokens=counts,
    output_tokens=counts,
    cache_read_tokens=counts,
    cache_write_tokens=counts,
    web_searches=st.integers(0, 50),
)


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("claude-opus-5-5", Usage(input_tokens=3, output_tokens=5), 0.000112),  # as the CLI says
        ("claude-sonnet-5-5", Usage(input_tokens=1_000_000), 2.0),
        ("claude-sonnet-5", Usage(cache_read_tokens=1_000_000), 0.2),
        ("claude-sonnet-5-5", Usage(cache_read_tokens=1_000_000), 0.1),
        ("claude-haiku-4-5-20251001", Usage(output_tokens=1_000_000), 5.0),
        ("claude-haiku-5-5", Usage(input_tokens=100_000), 0.01),
        ("claude-haiku-5-5", Usage(input_tokens=200_000), 0.1),
        ("claude-opus-4-1-20250805", Usage(input_tokens=1_000_000), 15.0),
        ("claude-opus-4-8", Usage(input_tokens=1_000_000), 5.0),
        (
            "claude-sonnet-4-6",
            Usage(cache_write_tokens=1_000_000, cache_write_1h_tokens=1_000_000),
            6.0,
        ),
        ("claude-sonnet-5", Usage(web_searches=3), 0.03),
    ],
)
def test_a_request_costs_what_the_price_list_says(model: Any, usage: Any, dollars: Any) -> None:
    assert cost(usage, model) == pytest.approx(dollars)


def test_a_model_that_is_not_on_the_list_costs_as_much_as_the_dearest() -> None:
    assert price_of("claude-new-9") == DEAREST
    for _, price in PRICES:
        assert price.input <= DEAREST.input
        assert price.output <= DEAREST.output
        assert price.cache_read <= DEAREST.cache_read


def test_a_budget_without_limits_never_ends() -> None:
    rich = BudgetState(Budget(None, None), Spending(input_tokens=10**12, cost_usd=10**6))
    assert rich.may_start() is None


def test_a_token_budget_counts_tokens_of_all_kinds() -> None:
    state = BudgetState(Budget(tokens=10, cost_usd=None))
    state = state.after(Usage(input_tokens=3, output_tokens=2, cache_read_tokens=4), "m")
    assert state.may_start() is None
    state = state.after(Usage(cache_write_tokens=1), "m")
    assert "10 tokens is used up" in (state.may_start() or "")


def test_a_dollar_budget_ends_when_it_is_reached() -> None:
    state = BudgetState(Budget(tokens=None, cost_usd=2.0))
    state = state.after(Usage(input_tokens=1_000_000), "claude-sonnet-5-5")
    assert "$2.00 is used up" in (state.may_start() or "")


def test_a_budget_of_nothing_allows_no_request() -> None:
    assert BudgetState(Budget(tokens=0, cost_usd=None)).may_start()


@given(st.lists(usages, max_size=8), st.integers(0, 10_000_000))
def test_spending_only_grows_and_a_used_up_budget_stays_used_up(requests: Any, limit: Any) -> None:
    state = BudgetState(Budget(tokens=limit, cost_usd=None))
    ended = False
    for number, usage in enumerate(requests, 1):
        before = state.spent
        state = state.after(usage, "claude-opus-5-5")
        assert state.spent.cost_usd >= before.cost_usd
        assert state.spent.requests == number
        ended = ended or state.may_start() is not None
        assert (state.may_start() is not None) == ended
