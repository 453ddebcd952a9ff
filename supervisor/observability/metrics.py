"""The process's metrics, for Prometheus: numbers alone, under labels of which there are few.

No label holds an id, a path, a name that a person or an agent gave, or a text. Rules are those of
the policy; beyond a bound they count as `other`.
"""

from collections.abc import Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

MOST_RULES: Final = 200
"""Values of the label `rule`; further rules count as `other`."""
MOST_MODELS: Final = 20

_SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
_WAITING: Final = (1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0)
_OUTCOMES: Final = frozenset({"done", "aborted", "error", "interrupted"})
_VERDICTS: Final = frozenset({"allow", "deny", "ask"})


class _Few:
    """The first so many values as they are, and `other` for the rest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: set[str] = set()

    def of(self, value: object) -> str:
        text = str(value) if value else "none"
        if text not in self._seen and len(self._seen) >= self._most:
            return "other"
        self._seen.add(text)
        return text


class Metrics:
    """All metrics of one process."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self._rules, self._models = _Few(MOST_RULES), _Few(MOST_MODELS)
        self.turns = Counter(
            "trustfloor_turns",
            "Turns that ended, by the trust level they ran at and how they ended.",
            ("trust", "outcome"),
            registry=registry,
        )
        self.turn_seconds = Histogram(
            "trustfloor_turn_seconds",
            "From a turn's begin to its end.",
            ("trust",),
            buckets=_SECONDS,
            registry=registry,
        )
        self.first_event_seconds = Histogram(
            "trustfloor_first_event_seconds",
            "From a turn's begin to the first that is heard of its agent.",
            ("trust",),
            buckets=_SECONDS,
            registry=registry,
        )
        self.container_start_seconds = Histogram(
            "trustfloor_container_start_seconds",
            "From a sandboxed turn's begin to a measured container with its agent up.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.decisions = Counter(
            "trustfloor_decisions",
            "Decisions about tool calls, by verdict and by the rule that decided.",
            ("verdict", "rule"),
            registry=registry,
        )
        self.answers = Counter(
            "trustfloor_answers",
            "Requests that were put to people, by how they ended.",
            ("decision",),
            registry=registry,
        )
        self.answer_seconds = Histogram(
            "trustfloor_answer_wait_seconds",
            "How long a request waited for a person.",
            buckets=_WAITING,
            registry=registry,
        )
        self.tokens = Counter(
            "trustfloor_model_tokens",
            "Tokens that turns have spent at the model's API, by what they were.",
            ("kind", "model"),
            registry=registry,
        )
        self.cost = Counter(
            "trustfloor_model_cost_usd",
            "What turns have spent at the model's API, in US dollars as the policy prices it.",
            ("model",),
            registry=registry,
        )
        self.entries = Counter(
            "trustfloor_audit_entries",
            "Entries of the audit log, by kind.",
            ("kind",),
            registry=registry,
        )
        self.reaped = Counter(
            "trustfloor_reaped",
            "What was left over and removed: containers, processes, folders.",
            ("what",),
            registry=registry,
        )
        self.waiting = Gauge(
            "trustfloor_waiting",
            "What waits for a person now: permissions, questions.",
            ("what",),
            registry=registry,
        )
        self.running = Gauge("trustfloor_turns_running", "Turns that run now.", registry=registry)
        self.containers = Gauge(
            "trustfloor_containers_active",
            "Containers that turns use now, or that wait for one.",
            registry=registry,
        )
        self.streams = Gauge(
            "trustfloor_streams_open", "Event streams that clients read now.", registry=registry
        )
        self.queued = Gauge(
            "trustfloor_events_queued",
            "Events that were said and aren't stored yet.",
            registry=registry,
        )
        self.lag = Gauge(
            "trustfloor_event_log_lag_seconds",
            "How long the event that was stored last had waited for it.",
            registry=registry,
        )

    def exposition(self) -> bytes:
        """All of them in Prometheus' text format."""
        return generate_latest(self.registry)

    def recorded(self, kind: str, body: Mapping[str, Any]) -> None:
        """Count an entry of the audit log, and what it says."""
        self.entries.labels(kind).inc()
        if kind == "decision":
            verdict = str(body.get("verdict"))
            known = verdict if verdict in _VERDICTS else "other"
            self.decisions.labels(known, self._rules.of(body.get("rule"))).inc()
        elif kind == "answer":
            self.answers.labels(_word(body.get("decision"))).inc()

    def turn_ended(self, trust: str, outcome: str, seconds: float) -> None:
        """Count a turn."""
        self.turns.labels(trust, outcome if outcome in _OUTCOMES else "other").inc()
        self.turn_seconds.labels(trust).observe(seconds)

    def spent(self, model: str | None, tokens: Mapping[str, int], cost_usd: float) -> None:
        """Count what a turn has spent; `tokens` by what they were."""
        named = self._models.of(model)
        for kind, count in tokens.items():
            self.tokens.labels(kind, named).inc(count)
        self.cost.labels(named).inc(cost_usd)


def _word(value: object) -> str:
    """One of the few words that a decision of people's can be."""
    known = {"granted", "denied", "timed_out", "void"}
    return str(value) if value in known else "other"


METRICS: Final = Metrics()
"""Those of this process; a supervisor is one."""
