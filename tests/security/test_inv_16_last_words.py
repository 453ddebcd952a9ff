"""Invariant 16 of what an agent's process complains of last: with a token in it, nobody is told.

The agent writes a decoy to its own process's standard error and kills that process, in each kind
of sandbox: what the engine then says of the death ends with these words.
"""

import asyncio
from typing import Any

import pytest

from supervisor.ids import SessionId
from supervisor.trust.levels import TrustLevel
from tests.worlds.decoys import appears_nowhere, noted_decoys
from tests.worlds.house import House, a_house, bash, is_a, prompt, step
from tests.worlds.ready_sandboxes import HELLO, the_waiting_one
from tests.worlds.waiting import A_WHILE, patient_rooms, until

pytestmark = pytest.mark.engine

COMPLAIN = (
    "n=$(ls -A | awk '/nv/'); tr -d '\\000' < \"$n\" | tr '\\n' ' ' | tail -c 250"
    " > /proc/$PPID/fd/2; sleep 0.3; kill -9 $PPID; sleep 60"
)
KINDS: dict[str, dict[str, Any]] = {
    "made for the message": {},
    "a spare one": {"spare_sandboxes": 1},
    "one that waited for its session": {"waiting_sandboxes": 1},
}


async def complained(house: House, session: SessionId | None = None) -> SessionId:
    """Have the agent die with a decoy's words; gives the session."""
    turn = await house.send(prompt(bash(COMPLAIN), step("UNREACHED")), session_id=session)
    assert (turn.end["type"], turn.end["code"]) == ("error", "honeytoken"), turn.end
    assert "last words" in turn.end["error"]
    assert [each["path"] for each in house.audited("incident")] == [".env"]
    return turn.session_id


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_in_a_sandbox_of_whatever_kind(
    kind: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    decoys = noted_decoys(monkeypatch)
    with patient_rooms():
        async with a_house(**kind) as house:
            session = (await house.send(HELLO)).session_id if "waiting_sandboxes" in kind else None
            if kind:
                await the_waiting_one(house)
            session = await complained(house, session)
            told = house.audited("waiting", session)
            if kind:
                await until(lambda: "is gone: " in caplog.text)
                assert "taken" in [each["what"] for each in told]
            await appears_nowhere(house, decoys, caplog.text)


async def test_in_the_cage_of_a_vault_session(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    decoys = noted_decoys(monkeypatch)
    async with a_house() as house:
        message = prompt(bash(COMPLAIN), step("UNREACHED"))
        turn = await house.send(message, TrustLevel.VAULT, until=is_a("permission_request"))
        if turn.of("isolation")[0]["cage"] != "bubblewrap":
            pytest.skip("this machine has no cage for vault sessions")
        await house.parts.approvals.answer(turn.end["id"], "granted")
        async with asyncio.timeout(A_WHILE):
            await turn.go_on()
        assert turn.end["code"] == "honeytoken", turn.end
        await appears_nowhere(house, decoys, caplog.text)
