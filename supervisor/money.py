"""Amounts of money: US dollars as numbers without the dust of sums, and as people read them."""

from typing import Annotated, Final

from pydantic import AfterValidator

PLACES: Final = 9
"""Digits behind the point: a token of the cheapest model costs more than the last of them."""
_CENTS_ARE_ENOUGH: Final = 1.0
_LEAST_TOLD: Final = 0.0001


def _rounded(amount: float) -> float:
    return round(amount, PLACES)


Dollars = Annotated[float, AfterValidator(_rounded)]
"""US dollars in a model that becomes JSON: rounded to `PLACES`."""


def told(amount: float) -> str:
    """`$12.30`; below one dollar as small as model calls are: `$0.0024`."""
    if amount >= _CENTS_ARE_ENOUGH:
        return f"${amount:,.2f}"
    if 0 < amount < _LEAST_TOLD:
        return f"under ${_LEAST_TOLD}"
    text = f"${amount:.4f}"
    return text.removesuffix("00")
