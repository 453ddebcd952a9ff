"""What a turn may ask of the model: the terms on which the gateway opens a door for it."""

from dataclasses import dataclass

from supervisor.events.schema import Spending


@dataclass(frozen=True, slots=True)
class Budget:
    """What a turn may still spend; None: no limit. Tokens of all kinds added up; US dollars."""

    tokens: int | None
    cost_usd: float | None

    def without(self, spent: Spending) -> "Budget":
        """What is left of it once that is spent."""
        return Budget(
            None if self.tokens is None else max(0, self.tokens - spent.tokens),
            None if self.cost_usd is None else max(0.0, self.cost_usd - spent.cost_usd),
        )


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """What the gateway lets a turn ask of the model's API.

    `models` are globs; `server_tools` are the tools that the API itself would run (web search, code
    execution, remote MCP): off, they can't become a way around a missing network.
    """

    models: tuple[str, ...]
    server_tools: bool
    budget: Budget
