"""Money is told so that a person can read it, and written without the dust of sums."""

import pytest

from supervisor.events.schema import Spending
from supervisor.money import told


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0.0, "$0.00"),
        (0.0024000000000000002, "$0.0024"),
        (0.01, "$0.01"),
        (0.5, "$0.50"),
        (0.00001, "under $0.0001"),
        (0.99999, "$1.00"),
        (12.3, "$12.30"),
        (1234.5, "$1,234.50"),
    ],
)
def test_an_amount_is_told_in_as_many_places_as_it_takes(amount: float, text: str) -> None:
    assert told(amount) == text


def test_a_sum_is_written_without_what_adding_left() -> None:
    spent = Spending(cost_usd=0.0008 + 0.0008 + 0.0008)
    assert b'"costUsd":0.0024,' in spent.model_dump_json(by_alias=True).encode()
    # The control: that is not what the sum is.
    assert 0.0008 + 0.0008 + 0.0008 != 0.0024


def test_the_cheapest_tokens_still_count() -> None:
    assert Spending(cost_usd=3e-8).cost_usd == 3e-8
