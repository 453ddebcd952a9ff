"""Many that wait at once (parallel calls, sub-agents, a hundred): each has its own answer."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from supervisor.trust.levels import TrustLevel
from tests.worlds.api import api_world
from tests.worlds.house import Turn, bash, calls, is_a, prompt, step
from tests.worlds.model import steps
from tests.worlds.people import following, people_at
from tests.worlds.wary import WaryHouse, wary_house

CHANCE = random.Random(5)  # noqa: S311 - an order, not a secret


async def test_a_hundred_of_one_session_are_each_answered_by_their_own_answer(
    tmp_path: Path,
) -> None:
    async with api_world(tmp_path) as world, people_at(world) as people:
        turn = await people.turn()
        tasks = [people.ask(turn, f"echo {number}") for number in range(100)]
        await people.open(100)
        async with world.client() as client, following(client) as follower:
            ids = (await follower.next())[1]["ids"]
            told = [(await follower.next())[1] for _ in range(100)]
            assert [each["id"] for each in told] == ids
            assert [each["input"]["command"] for each in told] == [f"echo {n}" for n in range(100)]
            listed = (await client.get("/api/permissions")).json()["permissions"]
            assert [each["id"] for each in listed] == ids
            shuffled = CHANCE.sample(told, len(told))

            async def answer(request: dict[str, object]) -> None:
                command = request["input"]["command"]  # type: ignore[index]
                number = int(command.split()[1])
                path = f"/api/permissions/{request['id']}"
                if number % 2:
                    body = {"message": f"no to {command}"}
                    assert (await client.post(f"{path}/deny", json=body)).status_code == 200
                else:
                    body = {"contentHash": str(request["contentHash"])}
                    assert (await client.post(f"{path}/grant", json=body)).status_code == 200

            for at in range(0, 100, 10):
                await asyncio.gather(*(answer(each) for each in shuffled[at : at + 10]))
            ended = {(await follower.next())[1]["id"] for _ in range(100)}
            assert ended == set(ids)
        for number, task in enumerate(tasks):
            outcome = await task
            assert outcome.decision == ("denied" if number % 2 else "granted")
            assert outcome.message == (f"no to echo {number}" if number % 2 else None)


@pytest_asyncio.fixture(name="wary", scope="module", loop_scope="module")
async def wary_fixture() -> AsyncIterator[WaryHouse]:
    async with wary_house() as made:
        yield made


async def all_asked(turn: Turn, count: int) -> list[dict[str, object]]:
    """The requests of a turn, once there are so many that wait."""
    while len(turn.of("permission_request")) < count:
        await turn.go_on(is_a("permission_request"))
        assert turn.end["type"] == "permission_request", turn.end
    return turn.of("permission_request")


@pytest.mark.engine
@pytest.mark.asyncio(loop_scope="module")
async def test_parallel_calls_are_answered_in_any_order_and_none_by_another_s_answer(
    wary: WaryHouse,
) -> None:
    files = {f"notes/n{number}.md": f"text of {number}" for number in range(6)}
    for name, text in files.items():
        (wary.house.vault / name).write_text(text)
    reads = [("Read", {"file_path": str(wary.house.vault / name)}) for name in files]
    turn = await wary.house.send(
        prompt(calls(*reads), step("ok")), TrustLevel.VAULT, until=is_a("permission_request")
    )
    requests = await all_asked(turn, len(files))
    for request in CHANCE.sample(requests, len(requests)):
        number = int(str(request["filePath"])[-4])
        if number % 2:
            await wary.deny(request, message=f"not {number}")
        else:
            await wary.grant(request)
    await turn.go_on()
    assert turn.end["type"] == "done"
    uses = {each["tool"]["id"]: each["tool"]["input"] for each in turn.of("tool_use")}
    results = {each["toolUseId"]: each["content"] for each in turn.of("tool_result")}
    assert results.keys() == uses.keys()
    for use, given in uses.items():
        number = int(given["file_path"][-4])
        right = f"not {number}" if number % 2 else f"text of {number}"
        assert right in results[use]
        assert [n for n in range(6) if f"text of {n}" in results[use]] == (
            [] if number % 2 else [number]
        )


@pytest.mark.engine
@pytest.mark.asyncio(loop_scope="module")
async def test_two_sub_agents_and_their_parent_s_other_session_are_told_apart(
    wary: WaryHouse,
) -> None:
    def child(word: str) -> tuple[str, dict[str, str]]:
        told = f"say {word} " + steps(bash(f"echo {word}"), {"text": "{{last_result}}"})
        given = {"description": word, "prompt": told, "subagent_type": "general-purpose"}
        return "Agent", given

    both = await wary.house.send(
        prompt(calls(child("left"), child("right")), step("ok")),
        TrustLevel.VAULT,
        until=is_a("permission_request"),
    )
    other = await wary.house.send(
        prompt(bash("echo other"), step("ok")), TrustLevel.VAULT, until=is_a("permission_request")
    )
    found: dict[str, dict[str, object]] = {}
    while len(found) < 2:
        request = both.end
        assert request["type"] == "permission_request", request
        if request["toolName"] == "Agent":
            await wary.grant(request)
        else:
            found[request["input"]["command"]] = request
        if len(found) < 2:
            await both.go_on(is_a("permission_request"))
    left, right = found["echo left"], found["echo right"]
    assert left["agentName"] != right["agentName"]
    listed = (await wary.client.get("/api/permissions")).json()["permissions"]
    assert {each["sessionId"] for each in listed} == {both.session_id, other.session_id}
    await wary.deny(right, message="not right")
    await wary.grant(other.end)
    await wary.grant(left)
    await both.go_on()
    await other.go_on()
    assert [both.end["type"], other.end["type"]] == ["done", "done"]
    assert "other" in other.results()[0]
    of_bash = [each["tool"]["id"] for each in both.of("tool_use") if each["tool"]["name"] == "Bash"]
    results = {each["toolUseId"]: each["content"] for each in both.of("tool_result")}
    said = " ".join(results[use] for use in of_bash)
    assert "not right" in said
    assert "left" in said


@pytest.mark.engine
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("level", [TrustLevel.SANDBOXED, TrustLevel.FULL])
async def test_what_is_told_of_a_call_comes_after_it_for_sub_agents_too(
    wary: WaryHouse, level: TrustLevel
) -> None:
    """The agent's program asks about theirs before it says them."""
    secret = ("Read", {"file_path": "/vault/.env"})
    look = ("Bash", {"command": "cat .env", "description": "a test"})
    own = steps(
        {"tools": [{"name": name, "input": given} for name, given in (secret, look, secret)]},
        bash("cat .env"),
        {"text": "nothing"},
    )
    given = {"description": "look", "prompt": f"look {own}", "subagent_type": "general-purpose"}
    message = prompt(calls(("Agent", given), ("Agent", given), secret), calls(look), step("ok"))
    for _ in range(3):
        turn = await wary.house.send(message, level)
        assert turn.end["type"] == "done"
        at = {each["tool"]["id"]: each["seq"] for each in turn.of("tool_use")}
        denied = turn.of("permission_denied")
        assert len(denied) == 10
        assert [each for each in denied if each["seq"] < at[each["toolUseId"]]] == []
