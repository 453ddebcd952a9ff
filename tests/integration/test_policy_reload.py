"""Policy files are edited while a turn runs: its next call is judged by what they say then."""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from supervisor.api.main import make_api
from supervisor.observability.audit import verify
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, Turn, a_house, calls, is_a, prompt, step
from tests.worlds.http import listening
from tests.worlds.policy_world import SHIPPED
from tests.worlds.waiting import until

pytestmark = pytest.mark.engine

DENY_NOTES = """version: 1
deny:
  - id: no-notes
    reason: notes are being moved; try again tomorrow
    paths: [notes]
    examples: {deny: [notes/today.md], allow: [src/app.py]}
"""
BROKEN = DENY_NOTES.replace("reason", "reson")

QUESTION: dict[str, Any] = {
    "question": "Shall I?",
    "header": "Shall I?",
    "options": [{"label": "Yes", "description": "yes"}, {"label": "No", "description": "no"}],
    "multiSelect": False,
}
PROMPT = prompt(
    calls(("Read", {"file_path": "notes/today.md"})),
    calls(("AskUserQuestion", {"questions": [QUESTION]})),
    calls(("Read", {"file_path": "notes/today.md"})),
    step("Done."),
)


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    folder = tmp_path / "policies"
    folder.mkdir()
    shutil.copy(SHIPPED / "default.yaml", folder)
    return folder


@pytest.fixture
async def house(policies: Path) -> AsyncIterator[House]:
    async with a_house(policies=policies) as house:
        await until(lambda: house.parts.policy.unwatched is None)
        yield house


async def waiting(house: House) -> Turn:
    """A turn that has read the note, and waits for a person before it does so again."""
    return await house.send(PROMPT, TrustLevel.VAULT, until=is_a("user_question"))


async def go_on(house: House, turn: Turn) -> None:
    await house.parts.questions.answer(turn.end["requestId"], {"Shall I?": "Yes"})
    await turn.go_on()


async def test_a_rule_that_is_saved_during_a_turn_holds_from_its_next_call_on(
    house: House, policies: Path
) -> None:
    before = house.parts.policy.current.hash
    turn = await waiting(house)
    (policies / "site.yaml").write_text(DENY_NOTES)
    await until(lambda: house.parts.policy.current.hash != before)
    await go_on(house, turn)
    first, _answer, second = turn.results()
    assert "oat milk" in first
    assert "oat milk" not in second
    assert "notes are being moved" in second
    (denied,) = turn.of("permission_denied")
    assert denied["rule"] == "no-notes"

    after = house.parts.policy.current.hash
    reads = [body for body in house.audited("decision") if body["tool"] == "Read"]
    assert [(body["verdict"], body["policy"]) for body in reads] == [
        ("allow", before),
        ("deny", after),
    ]
    assert [body["outcome"] for body in house.audited("policy")] == ["loaded", "loaded"]
    assert verify(house.root / "data" / "audit.jsonl") is None


async def test_control_without_a_change_the_second_look_is_as_the_first(house: House) -> None:
    turn = await waiting(house)
    await go_on(house, turn)
    first, _answer, second = turn.results()
    assert "oat milk" in first
    assert "oat milk" in second
    assert not turn.of("permission_denied")


async def test_a_file_with_a_mistake_changes_no_verdict_and_is_told_everywhere(
    house: House, policies: Path
) -> None:
    before = house.parts.policy.current.hash
    turn = await waiting(house)
    (policies / "site.yaml").write_text(BROKEN)
    await until(lambda: house.parts.policy.error is not None)
    await go_on(house, turn)
    assert "oat milk" in turn.results()[-1]

    async with (
        listening(make_api(house.parts)) as at,
        httpx.AsyncClient(base_url=at.url, trust_env=False) as client,
    ):
        health = (await client.get("/api/health")).json()
        token = house.parts.token.get_secret_value()
        ready = await client.get("/api/ready", headers={"Authorization": f"Bearer {token}"})
    assert health["policy"]["hash"] == before
    told = health["policy"]["error"]
    assert (told["file"], told["line"], told["column"]) == ("site.yaml", 4, 5)
    assert told["field"] == "deny[0].reson"
    assert "reason" in told["expected"]
    assert str(policies) not in json.dumps(health)
    (check,) = [each for each in ready.json()["checks"] if each["name"] == "policy"]
    assert check["ok"] is False
    assert f"{policies}/site.yaml:4:5 deny[0].reson" in check["detail"]
    rejected = house.audited("policy")[-1]
    assert rejected["outcome"] == "rejected"
    assert (rejected["line"], rejected["inForce"]) == (4, before)


async def test_what_is_decided_is_recorded_so_that_it_can_be_decided_again(house: House) -> None:
    from supervisor.gate.recorded import RecordedDecisions  # noqa: PLC0415
    from supervisor.policy.replay import replayed  # noqa: PLC0415

    message = prompt(
        calls(
            ("Read", {"file_path": "notes/today.md"}),
            ("Read", {"file_path": ".env"}),
            ("Write", {"file_path": "notes/new.md", "content": "a line that a person dictated"}),
            ("Bash", {"command": "cat notes/today.md", "description": "look"}),
        ),
        step("Done."),
    )
    await house.send(message, TrustLevel.FULL)
    decisions = RecordedDecisions(house.root / "data" / "audit.jsonl")
    records = list(decisions)
    assert decisions.broken is None
    assert len(records) == 4
    found = replayed(records, house.parts.policy.current)
    assert (found.decided, found.flips, dict(found.left_out)) == (4, (), {})
    assert "dictated" not in (house.root / "data" / "audit.jsonl").read_text()
