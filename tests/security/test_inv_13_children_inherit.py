"""Invariant 13: what an agent starts is bound as it is, and nobody grants itself anything.

With the real CLI; a sub-agent's calls pass the same gate, at the same level.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import bash, calls, is_a, prompt, step
from tests.worlds.model import steps
from tests.worlds.wary import WaryHouse, wary_house

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(name="wary", scope="module", loop_scope="module")
async def wary_fixture() -> AsyncIterator[WaryHouse]:
    """A supervisor that asks about everything."""
    async with wary_house() as made:
        yield made


def child(*its_steps: dict[str, object]) -> dict[str, object]:
    """An answer that starts a sub-agent, which plays these steps."""
    told = "report " + steps(*its_steps)
    given = {"description": "d", "prompt": told, "subagent_type": "general-purpose"}
    return calls(("Agent", given))


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_a_sub_agent_asks_as_its_parent_would_and_is_named(
    wary: WaryHouse, level: TrustLevel
) -> None:
    script = prompt(child(bash("echo by-the-child"), step("child done")), step("ok"))
    turn = await wary.house.send(script, level, until=is_a("permission_request"))
    while turn.end["type"] == "permission_request" and turn.end["toolName"] == "Agent":
        assert turn.end["agentName"] is None
        await wary.grant(turn.end)
        await turn.go_on(is_a("permission_request"))
    request = turn.end
    assert request["toolName"] == "Bash"
    assert request["agentName"].startswith("general-purpose (")
    assert request["trustLevel"] == level.value
    (listed,) = (await wary.client.get("/api/permissions?agent=general-purpose")).json()[
        "permissions"
    ]
    assert listed["id"] == request["id"]
    await wary.deny(request, message="not by a child")
    await turn.go_on()
    assert turn.end["type"] == "done"
    denied = [each for each in turn.of("permission_denied") if each["toolName"] == "Bash"]
    assert [each["reason"] for each in denied] == ["permission was refused: not by a child"]


async def test_what_is_denied_to_the_parent_is_denied_to_the_child(wary: WaryHouse) -> None:
    secret = str(wary.house.vault / ".env")
    for acts in (
        [calls(("Read", {"file_path": secret})), step("ok")],
        [child(calls(("Read", {"file_path": secret})), step("child done")), step("ok")],
    ):
        turn = await wary.house.send(
            prompt(*acts), TrustLevel.VAULT, until=is_a("permission_request")
        )
        while turn.end["type"] == "permission_request":
            assert turn.end["toolName"] == "Agent"
            await wary.grant(turn.end)
            await turn.go_on(is_a("permission_request"))
        assert [e["toolName"] for e in turn.of("permission_denied")] == ["Read"]
        assert "CANARY" not in repr(turn.events)


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_an_agent_can_not_answer_its_own_request(wary: WaryHouse, level: TrustLevel) -> None:
    """Even allowed to run commands it has no token: not in its environment, not in any file."""
    data = wary.house.parts.settings.data_dir
    token = wary.house.parts.token.get_secret_value()
    look = "env; cat /proc/self/environ; ls /proc/*/environ"
    post = (
        f"curl -sS -m 5 -X POST -H 'Content-Type: application/json' -d '{{}}' "
        f"{wary.url}/api/permissions/req_1/grant"
    )
    script = prompt(bash(look), bash(f"cat {data}/token"), bash(post), step("ok"))
    turn = await wary.house.send(script, level, until=is_a("permission_request"))
    while turn.end["type"] == "permission_request":
        await wary.grant(turn.end)  # whatever it wants to run, it may
        await turn.go_on(is_a("permission_request"))
    assert turn.end["type"] == "done"
    assert token not in repr(turn.events)
    answered = turn.results()[-1]
    # At `full` the port answers, and asks for a token; elsewhere it may not even be there.
    assert "granted" not in answered
    if level is TrustLevel.FULL:
        assert '"unauthorized"' in answered or "denied" in answered or "refused" in answered


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_a_session_that_goes_on_from_another_is_at_least_as_strict(
    wary: WaryHouse, level: TrustLevel
) -> None:
    turn = await wary.house.send(prompt(step("Hello.")), level)
    made = await wary.client.post(f"/api/chat/session/{turn.session_id}/fork", json={})
    assert made.json()["trustLevel"] == level.value
    granted = (await wary.client.get(f"/api/grants?sessionId={made.json()['id']}")).json()
    assert granted == {"grants": []}
