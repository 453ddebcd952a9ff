"""The metrics: each is documented, few labels whatever happens, and nobody's words in them."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.observability.metrics import MOST_MODELS, MOST_RULES, Metrics
from supervisor.observability.recording import Recording
from tests.worlds.api import ApiWorld, api_world

PAGE = (Path(__file__).parents[2] / "docs" / "observability.md").read_text(encoding="utf-8")
CANARY = "canary-word-5c1d"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        yield world


def told(exposition: str) -> dict[str, tuple[str, str]]:
    """Name → kind and help, counters without `_total`, as the page names them."""
    helps = dict(re.findall(r"^# HELP (\S+) (.*)$", exposition, re.MULTILINE))
    kinds = re.findall(r"^# TYPE (\S+) (\S+)$", exposition, re.MULTILINE)
    return {
        name.removesuffix("_total"): (kind, helps[name])
        for name, kind in kinds
        if not name.endswith("_created")
    }


async def test_each_metric_is_documented_and_no_other(world: ApiWorld) -> None:
    async with world.client() as client:
        answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    there = told(answer.text)
    rows = re.findall(r"^\| `(trustfloor_\w+)` \| (\w+) \|", PAGE, re.MULTILINE)
    assert {name: kind for name, (kind, _) in there.items()} == dict(rows)


def test_the_dashboard_shows_every_metric_and_no_other() -> None:
    dashboard = (Path(__file__).parents[2] / "docs" / "grafana.json").read_text(encoding="utf-8")
    assert json.loads(dashboard)["panels"]
    shown = re.findall(r"trustfloor_[a-z_]+", dashboard)
    names = {re.sub(r"_(total|bucket)$", "", each) for each in shown}
    assert names == set(told(Metrics().exposition().decode()))


def test_whatever_comes_the_labels_stay_few() -> None:
    metrics = Metrics()
    for number in range(10_000):
        metrics.recorded("decision", {"verdict": f"v{number}", "rule": f"rule-{number}"})
        metrics.recorded("answer", {"decision": f"d{number}"})
    for number in range(500):
        metrics.turn_ended("vault", f"outcome-{number}", 1.0)
        metrics.spent(f"model-{number}", {"input": 1}, 0.1)
    lines = metrics.exposition().decode().splitlines()
    series = [line for line in lines if not line.startswith("#")]
    assert len(series) < 3 * (MOST_RULES + MOST_MODELS) + 200
    assert sum('rule="other"' in line for line in series) >= 1


async def test_secrets_are_taken_out_before_they_are_entered_and_no_word_becomes_a_label() -> None:
    entered: list[object] = []

    async def append(*entry: object) -> None:
        entered.append(entry)

    def clean(value: object) -> object:
        return {name: str(each).replace(CANARY, "[redacted]") for name, each in value.items()}  # type: ignore[attr-defined]

    record = Recording(append, lambda: clean).record
    await record("workspace", None, None, {"name": CANARY})
    assert CANARY not in str(entered)
    unclean = Recording(append, lambda: lambda value: value).record
    await unclean("workspace", None, None, {"name": CANARY})
    assert CANARY in str(entered)  # the control


async def test_queues_and_streams_are_told_as_they_are(world: ApiWorld) -> None:
    async with world.client() as client:
        session = await world.session()
        async with client.stream("GET", f"/api/chat/session/{session}/stream") as stream:
            pieces = stream.aiter_bytes()  # held: the stream is closed with it
            assert await anext(pieces)
            text = (await client.get("/metrics")).text
        assert "trustfloor_streams_open 1.0" in text
        assert "trustfloor_turns_running 0.0" in text
        assert 'trustfloor_waiting{what="permissions"} 0.0' in text
        assert str(session) not in text
