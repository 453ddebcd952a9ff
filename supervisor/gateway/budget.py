"""What model traffic costs and whether a turn may still spend: prices as data, budget as value.

Prices are US dollars per million tokens, as the catalogue in Claude Code CLI 2.1.332 lists them. A
model that the table doesn't know costs as much as the dearest one, so that a budget in dollars
never fails open.
"""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from supervisor.events.schema import Spending
from supervisor.gateway.access import Budget
from supervisor.money import told

MILLION = 1_000_000
WEB_SEARCH_USD = 0.01  # for each search that the API itself runs
FAST_FACTOR = 6.0  # the largest surcharge that the catalogue knows for `speed: fast`
US_ONLY_FACTOR = 1.1  # `inference_geo: us`


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. `cache_write` is for 5 minutes, `cache_write_1h` for an hour.

    Above `long_prompt` tokens of input, where there is such a limit, all is `long_factor` dearer.
    """

    input: float
    output: float
    cache_write: float
    cache_write_1h: float
    cache_read: float
    long_prompt: int | None = None
    long_factor: float = 1.0


DEAREST = Price(15, 75, 18.75, 30, 1.5)

PRICES: tuple[tuple[str, Price], ...] = (
    ("claude-3-5-haiku*", Price(0.8, 4, 1, 1.6, 0.08)),
    ("claude-haiku-4-5*", Price(1, 5, 1.25, 2, 0.1)),
    (
        "claude-haiku-5-5*",
        Price(0.1, 0.5, 0.125, 0.2, 0.01, long_prompt=100_000, long_factor=5.0),
    ),
    ("claude-3-5-sonnet*", Price(3, 15, 3.75, 6, 0.3)),
    ("claude-3-7-sonnet*", Price(3, 15, 3.75, 6, 0.3)),
    ("claude-sonnet-4*", Price(3, 15, 3.75, 6, 0.3)),
    ("claude-sonnet-5-5*", Price(2, 10, 2.5, 4, 0.1)),
    ("claude-sonnet-5*", Price(2, 10, 2.5, 4, 0.2)),
    ("claude-opus-4-[5-8]*", Price(5, 25, 6.25, 10, 0.5)),
    ("claude-opus-4*", DEAREST),
    ("claude-opus-5-5*", Price(4, 20, 5, 8, 0.2)),
    ("claude-opus-5*", Price(5, 25, 6.25, 10, 0.5)),
    ("claude-fable-5-1*", Price(10, 50, 12.5, 20, 0.25)),
    ("claude-fable-5-2*", Price(8, 40, 10, 16, 0.2)),
    ("claude-fable-5*", Price(10, 50, 12.5, 20, 1)),
    ("claude-mythos-5-1*", Price(10, 50, 12.5, 20, 0.25)),
    ("claude-mythos-5-2*", Price(8, 40, 10, 16, 0.2)),
    ("claude-mythos-5*", Price(10, 50, 12.5, 20, 1)),
)
"""First match wins, so a narrower glob stands above a wider one."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one request used, in tokens; `cache_write_tokens` includes `cache_write_1h_tokens`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    web_searches: int = 0
    fast: bool = False
    us_only: bool = False


def price_of(model: str) -> Price:
    """The price of a model, by its id; the dearest one if the table doesn't know it."""
    return next((price for glob, price in PRICES if fnmatchcase(model, glob)), DEAREST)


def cost(usage: Usage, model: str) -> float:
    """What this usage of this model costs, in US dollars at list price."""
    price = price_of(model)
    short_lived = max(0, usage.cache_write_tokens - usage.cache_write_1h_tokens)
    dollars = (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * price.cache_read
        + short_lived * price.cache_write
        + usage.cache_write_1h_tokens * price.cache_write_1h
    ) / MILLION
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    if price.long_prompt is not None and prompt > price.long_prompt:
        dollars *= price.long_factor
    if usage.fast:
        dollars *= FAST_FACTOR
    if usage.us_only:
        dollars *= US_ONLY_FACTOR
    return dollars + usage.web_searches * WEB_SEARCH_USD


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A budget and what is already spent of it.

    Requests that are under way when the budget is crossed are finished and counted: how much a
    request uses is known only from its answer.
    """

    budget: Budget
    spent: Spending = field(default_factory=Spending)

    def may_start(self) -> str | None:
        """None if another request may start, else the reason why not, for people."""
        tokens, dollars = self.budget.tokens, self.budget.cost_usd
        if tokens is not None and self.spent.tokens >= tokens:
            return f"the budget of {tokens} tokens is used up ({self.spent.tokens} used)"
        if dollars is not None and self.spent.cost_usd >= dollars:
            return f"the budget of {told(dollars)} is used up ({told(self.spent.cost_usd)} used)"
        return None

    def after(self, usage: Usage, model: str) -> "BudgetState":
        """The state once one more request has ended with this usage."""
        more = Spending(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cost_usd=cost(usage, model),
            requests=1,
        )
        return BudgetState(self.budget, self.spent.plus(more))
