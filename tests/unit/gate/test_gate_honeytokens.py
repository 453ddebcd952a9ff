"""A call that holds a honeytoken is refused before anything is decided or told of it.

That it was is recorded, with nothing of what it held.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from supervisor.errors import ConfigurationError
from supervisor.events.redact import Redactor
from supervisor.gate.audit_entries import decision_entry
from supervisor.policy.call import Allow, Deny
from supervisor.runtimes.honeytokens import Honeytokens, Trip
from tests.worlds.gate import World

LARGE = "x" * 100_000
"""More than is judged in the event loop's own thread."""


@pytest.fixture
def honeytokens() -> Honeytokens:
    return Honeytokens(b"this turn's")


@pytest.mark.parametrize("around", ["", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("where", ["input", "deep in the input", "a key", "id", "agent"])
async def test_a_call_with_a_token_anywhere_in_it_rings_the_alarm_and_leaves_no_trace_of_it(
    where: str, around: str, honeytokens: Honeytokens, tmp_path: Path
) -> None:
    world = World(tmp_path)
    gate = world.make_gate(honeytokens=honeytokens)
    token = honeytokens.decoy(".env").decode()
    given: dict[str, Any] = {"file_path": "notes/a.md", "more": around}
    named = {"id": "toolu_1", "agent": None}
    if where == "input":
        given["content"] = token
    elif where == "deep in the input":
        given["deep"] = [{"er": [token]}]
    elif where == "a key":
        given[token] = 1
    else:
        named[where] = token
    verdict = await gate.check("Read", given, str(named["id"]), named["agent"])
    assert isinstance(verdict, Deny)
    assert verdict.rule == "honeytoken"
    assert honeytokens.tripped == Trip(".env", "the input of the tool Read")
    assert honeytokens.trip(verdict.reason) is None
    assert world.sink.events == []
    assert gate.denials == ()
    (decided,) = world.audited
    entry = decision_entry(decided, Redactor(()))
    assert (entry["verdict"], entry["rule"], entry["said"]) == ("deny", "honeytoken", "deny")
    assert entry["tool"] == "Read"
    assert "canonical" not in entry
    assert decided.call.input == {}
    assert honeytokens.trip(json.dumps(entry)) is None
    assert (entry["toolUseId"], entry["agent"]) == (
        "(withheld)" if where == "id" else "toolu_1",
        "(withheld)" if where == "agent" else None,
    )


async def test_a_token_in_the_tool_s_own_name_is_withheld_where_its_alarm_is_told(
    honeytokens: Honeytokens, tmp_path: Path
) -> None:
    world = World(tmp_path)
    gate = world.make_gate(honeytokens=honeytokens)
    await gate.check(honeytokens.decoy(".env").decode(), {}, "toolu_1", None)
    assert honeytokens.tripped == Trip(".env", "the input of the tool (withheld)")
    (decided,) = world.audited
    assert decided.call.tool == "(withheld)"


async def test_the_call_is_refused_also_where_its_record_fails(
    honeytokens: Honeytokens, tmp_path: Path
) -> None:
    async def failing(_decided: object) -> None:
        raise ConfigurationError("the disk is full")

    gate = World(tmp_path).make_gate(honeytokens=honeytokens, audit=failing)
    given = {"file_path": honeytokens.decoy(".env").decode()}
    verdict = await gate.check("Read", given, "toolu_1", None)
    assert isinstance(verdict, Deny)
    assert verdict.rule == "honeytoken"


async def test_control_without_honeytokens_the_same_call_is_judged(
    honeytokens: Honeytokens, tmp_path: Path
) -> None:
    world = World(tmp_path)
    given = {"file_path": "notes/a.md", "content": honeytokens.decoy(".env").decode()}
    assert isinstance(await world.gate.check("Read", given, "toolu_1", None), Allow)
    assert world.audited


async def test_any_other_call_is_judged_as_ever(honeytokens: Honeytokens, tmp_path: Path) -> None:
    world = World(tmp_path)
    gate = world.make_gate(honeytokens=honeytokens)
    honeytokens.decoy(".env")
    assert isinstance(await gate.check("Read", {"file_path": "notes/a.md"}, "1", None), Allow)
    bad = await gate.check("Read", {"file_path": float("nan")}, "2", None)
    assert isinstance(bad, Deny)
    assert bad.rule != "honeytoken"
    unfit = await gate.check("Read", {"file_path": object()}, "3", None)
    assert isinstance(unfit, Deny)
    assert honeytokens.tripped is None
    assert "honeytoken" not in json.dumps([event.model_dump() for event in world.sink.events])
