"""Sums over sessions and turns, for people who look at how much there is."""

from dataclasses import dataclass, field

from supervisor.storage.database import Database


@dataclass(frozen=True, slots=True)
class Spent:
    """What the sessions of one model have spent; the cost in US dollars."""

    sessions: int
    tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Figures:
    """Sessions by trust level, turns by how they ended (or `running`), spending by model."""

    sessions_by_trust: dict[str, int] = field(default_factory=dict)
    turns_by_state: dict[str, int] = field(default_factory=dict)
    spent_by_model: dict[str, Spent] = field(default_factory=dict)


_MOST = 50
_BY_TRUST = "SELECT trust_level AS name, count(*) AS n FROM sessions GROUP BY 1 ORDER BY 2 DESC"
_BY_STATE = "SELECT state AS name, count(*) AS n FROM turns GROUP BY 1 ORDER BY 2 DESC"
_BY_MODEL = (
    "SELECT coalesce(model, 'default') AS name, count(*) AS n, total(tokens_used) AS tokens,"
    " total(cost_usd) AS cost FROM sessions GROUP BY 1 ORDER BY tokens DESC LIMIT ?"
)


async def figures(db: Database) -> Figures:
    """The sums as of now; of models the 50 that have spent the most."""
    trust, state = await db.rows(_BY_TRUST), await db.rows(_BY_STATE)
    models = await db.rows(_BY_MODEL, (_MOST,))
    return Figures(
        sessions_by_trust={str(row["name"]): int(row["n"]) for row in trust},
        turns_by_state={str(row["name"]): int(row["n"]) for row in state},
        spent_by_model={
            str(row["name"]): Spent(int(row["n"]), int(row["tokens"]), float(row["cost"]))
            for row in models
        },
    )
