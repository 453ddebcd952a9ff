"""Sums over sessions and turns, for people who look at how much there is."""

from dataclasses import dataclass, field, replace
from typing import Final

from supervisor.clock import Clock, Instant
from supervisor.storage.database import Database
from supervisor.storage.timestamp import day_of, to_text

MOST_DAYS: Final = 366
_DAY: Final = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What the sessions of one model have used, and what was paid for it in US dollars."""

    sessions: int
    tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Day:
    """The turns that ended on a day of UTC, by how, what they had used and what was paid for it."""

    day: str
    turns: dict[str, int] = field(default_factory=dict)
    tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Sessions by trust level, turns by how they ended (or `running`), spending by model.

    `days`: each day up to today, the newest last, those without a turn too.
    """

    sessions_by_trust: dict[str, int] = field(default_factory=dict)
    turns_by_state: dict[str, int] = field(default_factory=dict)
    spent_by_model: dict[str, Spent] = field(default_factory=dict)
    days: tuple[Day, ...] = ()


_MOST = 50
_BY_TRUST = "SELECT trust_level AS name, count(*) AS n FROM sessions GROUP BY 1 ORDER BY 2 DESC"
_BY_STATE = "SELECT state AS name, count(*) AS n FROM turns GROUP BY 1 ORDER BY 2 DESC"
_BY_MODEL = (
    "SELECT coalesce(model, 'default') AS name, count(*) AS n, total(tokens_used) AS tokens,"
    " max(0.0, total(cost_usd) - total(scripted_usd)) AS cost"
    " FROM sessions GROUP BY 1 ORDER BY tokens DESC LIMIT ?"
)


# Sums, though each is of one row: they are numbers whatever a damaged row holds.
_BY_DAY = (
    "SELECT day, state, total(turns) AS turns, total(tokens) AS tokens, total(cost_usd) AS cost"
    " FROM days WHERE day > ? AND day <= ? GROUP BY 1, 2"
)


async def figures(db: Database, clock: Clock, days: int) -> Figures:
    """The sums as of now; of models the 50 that have spent the most, and the last so many days."""
    trust, state = await db.rows(_BY_TRUST), await db.rows(_BY_STATE)
    models = await db.rows(_BY_MODEL, (_MOST,))
    return Figures(
        sessions_by_trust={str(row["name"]): int(row["n"]) for row in trust},
        turns_by_state={str(row["name"]): int(row["n"]) for row in state},
        spent_by_model={
            str(row["name"]): Spent(int(row["n"]), int(row["tokens"]), float(row["cost"]))
            for row in models
        },
        days=await _last_days(db, clock.now(), days),
    )


async def _last_days(db: Database, now: Instant, many: int) -> tuple[Day, ...]:
    names = [day_of(to_text(Instant(now - back * _DAY))) for back in range(many, -1, -1)]
    found = {name: Day(name) for name in names[1:]}
    for row in await db.rows(_BY_DAY, (names[0], names[-1])):
        day = found.get(str(row["day"]))
        if day is not None:  # a row that was damaged may name no day at all
            found[day.day] = replace(
                day,
                turns={**day.turns, str(row["state"]): int(row["turns"])},
                tokens=day.tokens + int(row["tokens"]),
                cost_usd=day.cost_usd + float(row["cost"]),
            )
    return tuple(found.values())
