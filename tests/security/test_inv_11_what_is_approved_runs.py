"""Invariant 11: what a person approves is what runs, byte for byte, and nothing in it stays unseen.

With the real CLI at every level; the digest of what ran is taken by the command itself.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from supervisor.approvals.display import display_input
from supervisor.policy.call import Allow
from supervisor.trust.levels import TrustLevel
from tests.worlds.grants import grants_world
from tests.worlds.house import bash, is_a, prompt, step
from tests.worlds.waiting import until
from tests.worlds.wary import WaryHouse, wary_house

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

PAYLOAD = (
    "a\u202eb\u200bc\u043f\u0430\u0443 \t two  blanks\u00a0\ufb01 Cafe\u0301 "
    "\U000e0041\u2028 \\x1b[2J end"
)
HIDDEN = ("\u202e", "\u200b", "\u00a0", "\ufb01", "\u0301", "\U000e0041", "\u2028")
COMMAND = f"printf %s '{PAYLOAD}' | sha256sum"


@pytest_asyncio.fixture(name="wary", scope="module", loop_scope="module")
async def wary_fixture() -> AsyncIterator[WaryHouse]:
    """A supervisor that asks about everything."""
    async with wary_house() as made:
        yield made


def own_hash(tool: str, given: dict[str, Any]) -> str:
    """The content hash as the documentation has it, worked out apart from the supervisor."""
    text = json.dumps({"input": given, "tool": tool}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_what_runs_is_byte_for_byte_what_was_shown(
    wary: WaryHouse, level: TrustLevel
) -> None:
    script = prompt(bash(COMMAND), step("ok"))
    turn = await wary.house.send(script, level, until=is_a("permission_request"))
    request = turn.end
    assert request["input"]["command"] == COMMAND
    assert request["contentHash"] == own_hash("Bash", request["input"])
    assert request["hasHiddenCharacters"]
    assert not any(each in request["display"] for each in HIDDEN)
    for each in HIDDEN:
        assert f"⟨U+{ord(each):04X}⟩" in request["display"]
    assert (await wary.grant(request)).status_code == 200
    await turn.go_on()
    assert [each["tool"]["input"] for each in turn.of("tool_use")] == [request["input"]]
    (result,) = turn.results()
    assert result.split()[0] == hashlib.sha256(PAYLOAD.encode()).hexdigest()
    # The control: a payload that differs in what nobody sees has another digest, and hash.
    other = PAYLOAD.replace("\u200b", "")
    assert hashlib.sha256(other.encode()).hexdigest() not in result
    given = {**request["input"], "command": COMMAND.replace(PAYLOAD, other)}
    assert own_hash("Bash", given) != request["contentHash"]


async def test_a_yes_to_another_call_or_to_none_runs_nothing(wary: WaryHouse) -> None:
    script = prompt(bash("echo one"), bash("echo two"), step("ok"))
    turn = await wary.house.send(script, TrustLevel.VAULT, until=is_a("permission_request"))
    first = turn.end
    path = f"/api/permissions/{first['id']}/grant"
    second = {**first["input"], "command": "echo two"}
    for body in ({}, {"contentHash": own_hash("Bash", second)}, {"contentHash": ""}):
        refused = await wary.client.post(path, json=body)
        assert (refused.status_code, refused.json()["where"]) == (422, "contentHash")
    assert turn.of("tool_result") == []
    assert (await wary.grant(first)).status_code == 200  # the control
    await turn.go_on(is_a("permission_request"))
    assert turn.results() == ["one"]
    again = await wary.client.post(path, json={"contentHash": first["contentHash"]})
    assert again.status_code == 409
    await wary.deny(turn.end)
    await turn.go_on()
    assert "two" not in turn.results()[1]


async def test_a_denial_that_stops_ends_the_turn_aborted_and_runs_nothing(
    wary: WaryHouse,
) -> None:
    script = prompt(bash("echo one >notes/made.md"), bash("echo two"), step("never said"))
    turn = await wary.house.send(script, TrustLevel.VAULT, until=is_a("permission_request"))
    said = await wary.deny(turn.end, message="not at all", stop=True)
    assert said.json()["stopped"] is True
    await turn.go_on()
    assert turn.end["type"] == "aborted"
    assert "not at all" in turn.end["message"]
    assert len(turn.of("permission_request")) == 1
    assert not (wary.house.vault / "notes" / "made.md").exists()
    after = await wary.house.send(prompt(step("Still here.")), session_id=turn.session_id)
    assert after.end["type"] == "done"


async def test_an_input_that_its_owner_changes_while_a_person_looks_is_run_as_it_was_shown(
    tmp_path: Path,
) -> None:
    async with grants_world(tmp_path) as world:
        given = {"command": "echo shown"}
        task = asyncio.create_task(world.gate().check("Bash", given, "toolu_1", None))
        world.running.append(task)
        await until(world.approvals.pending)
        (request,) = world.approvals.pending()
        given["command"] = "rm -rf notes"
        await world.approvals.answer(
            request.id, "granted", content_hash=own_hash("Bash", {"command": "echo shown"})
        )
        verdict = await task
        assert isinstance(verdict, Allow)
        assert verdict.input == {"command": "echo shown"}
        # The control: what the owner holds now is another call, and would have looked like it.
        assert display_input(given).text != request.display
