"""Every call that reaches the gate is in the audit log, however it ends."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from supervisor.approvals.pending import Approvals
from supervisor.approvals.questions import Questions
from supervisor.errors import ConfigurationError
from supervisor.events.redact import Redactor
from supervisor.events.schema import PermissionRequestEvent
from supervisor.gate.audit_entries import decision_entry
from supervisor.gate.decided import Decided
from supervisor.gate.gate import Gate
from supervisor.gate.policy_files import PolicySource
from supervisor.policy.call import Allow, Deny
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import SHIPPED, TURN, Recorder, SetClock, make_vault
from tests.worlds.waiting import until


class World:
    def __init__(self, base: Path) -> None:
        self.vault = make_vault(base)
        self.sink = Recorder()
        self.audited: list[Decided] = []
        self.policy = PolicySource(SHIPPED)
        self.failing = False
        self.gate = Gate(
            TURN,
            TrustLevel.VAULT,
            as_seen_vault=str(self.vault),
            as_seen_cwd=str(self.vault),
            vault=str(self.vault),
            policy=self.policy,
            approvals=Approvals(lambda _turn: self.sink, SetClock()),
            questions=Questions(lambda _turn: self.sink, SetClock()),
            sink=self.sink,
            audit=self.audit,
        )

    async def audit(self, decided: Decided) -> None:
        if self.failing:
            raise ConfigurationError("the disk is full")
        self.audited.append(decided)

    async def check(self, tool: str, **input: Any) -> Allow | Deny:
        return await self.gate.check(tool, input, "toolu_1", None)

    def entry(self) -> Any:
        (decided,) = self.audited
        return decision_entry(decided, Redactor())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_an_allowed_and_a_denied_call_are_recorded_with_their_input(world: World) -> None:
    await world.check("Read", file_path="notes/a.md")
    await world.check("Read", file_path=".env")
    first, second = (decision_entry(each, Redactor()) for each in world.audited)
    assert (first["verdict"], second["verdict"], second["rule"]) == ("allow", "deny", "env-files")
    assert second["canonical"]["input"] == {"file_path": ".env"}
    assert first["policy"] == world.policy.current.hash


@pytest.mark.parametrize(
    "input",
    [{"file_path": float("nan")}, {"file_path": "\ud800"}, {"x": object()}],
    ids=["nan", "surrogate", "object"],
)
async def test_an_input_that_is_no_json_is_recorded_without_it(
    world: World, input: dict[str, Any]
) -> None:
    await world.check("Read", **input)
    entry = world.entry()
    assert (entry["verdict"], entry["rule"]) == ("deny", "malformed-input")
    assert "canonical" not in entry


async def test_an_error_of_our_own_is_recorded_with_the_incident_the_agent_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_args: object, **_kwargs: object) -> None:
        raise RuntimeError("no facts today")

    monkeypatch.setattr("supervisor.gate.gate.fetch_facts", broken)
    verdict = await world.check("Read", file_path="notes/a.md")
    assert isinstance(verdict, Deny)
    entry = world.entry()
    assert entry["rule"] == "internal-error"
    assert entry["incident"] in verdict.reason
    assert "no facts today" not in str(entry)


async def test_a_call_whose_turn_ends_while_a_person_is_asked_is_recorded_as_denied(
    world: World,
) -> None:
    turn = asyncio.create_task(world.check("mcp__x__y", path="../outside/plan.md"))
    await until(lambda: world.sink.of(PermissionRequestEvent))
    turn.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await turn
    entry = world.entry()
    assert (entry["said"], entry["verdict"]) == ("ask", "deny")
    assert "turn ended" in entry["reason"]


async def test_a_call_that_can_not_be_recorded_does_not_run(world: World) -> None:
    world.failing = True
    assert isinstance(await world.check("Read", file_path="notes/a.md"), Deny)
