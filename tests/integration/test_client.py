"""The typed client against a supervisor that really runs, with and without an event loop."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import bash, prompt, step
from tests.worlds.process_house import ProcessHouse, a_process_house
from tests.worlds.waiting import A_WHILE
from trustfloor.client import AsyncClient, Client, Heard, Refused, Unreachable

PAGE = Path(__file__).parents[2] / "docs" / "client.md"


@pytest.fixture
async def house() -> AsyncIterator[ProcessHouse]:
    async with a_process_house() as house:
        await house.start()
        yield house


async def test_a_conversation_from_the_first_message_to_its_deletion(
    house: ProcessHouse, tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    note.write_text("# Plans\n")
    async with AsyncClient(house.url, house.token) as client:
        turn = client.send(prompt(step("one")), trust_level="full", attachments=[note])
        heard = [each async for each in turn]
        assert heard[-1].type == "done"
        session_id = str(turn.session_id)
        done = await client.ask(prompt(step("two")), session_id=session_id)
        assert (done.response, done.session_id) == ("two", session_id)
        found = await client.sessions.get(session_id)
        assert found.trust_level is TrustLevel.FULL
        assert [each.role for each in found.messages][:2] == ["user", "assistant"]
        changed = await client.sessions.change(session_id, title="May", tags=["plans"])
        assert changed.title == "May"
        assert [each.id for each in (await client.sessions.list()).sessions] == [session_id]
        made = await client.sessions.fork(session_id)
        assert made.continued_from == session_id
        page = await client.stored_events(types=["done"], session_id=session_id)
        assert [each.type for each in page.events] == ["done", "done"]
        await client.sessions.delete(session_id, transcript=True)
        with pytest.raises(Refused) as refused:
            await client.sessions.get(session_id)
        assert (refused.value.status, refused.value.code) == (404, "session_not_found")


async def test_a_turn_that_has_ended_tells_its_result_and_no_event_twice(
    house: ProcessHouse,
) -> None:
    async with AsyncClient(house.url, house.token) as client, asyncio.timeout(A_WHILE):
        turn = client.send(prompt(step("one")), trust_level="full")
        assert [each.type async for each in turn][-1] == "done"
        assert (await turn.result()).response == "one"
        assert [each async for each in turn] == []
        assert (await turn.result()).response == (await turn.answer()).response == "one"
        assert await turn.abort() is False
        in_one = client.send(prompt(step("two")), session_id=turn.session_id)
        assert (await in_one.answer()).response == "two"
        assert [each async for each in in_one] == []
        assert (await in_one.result()).response == "two"


async def test_a_turn_that_is_read_in_parts_tells_each_event_once(house: ProcessHouse) -> None:
    async with AsyncClient(house.url, house.token) as client, asyncio.timeout(A_WHILE):
        turn = client.send(prompt(step("one two three")), trust_level="full")
        heard: list[Heard] = []
        while not heard or heard[-1].type != "done":
            async with aclosing(turn.events()) as events:
                heard.append(await anext(events))
        first = heard[0].seq
        assert [each.seq for each in heard] == list(range(first, first + len(heard)))


async def test_a_turn_that_was_aborted_raises_so_each_time_it_is_asked_for_its_result(
    house: ProcessHouse,
) -> None:
    async with AsyncClient(house.url, house.token) as client, asyncio.timeout(A_WHILE):
        turn = client.send(prompt(bash("sleep 60")), trust_level="full")
        async for each in turn:
            if each.type == "tool_use":
                assert await turn.abort("enough")
        for _ in range(2):
            with pytest.raises(Refused, match="enough"):
                await turn.result()


async def test_one_who_follows_all_sessions_hears_of_each(house: ProcessHouse) -> None:
    async with AsyncClient(house.url, house.token) as client:
        heard = []

        async def follow() -> None:
            async for each in client.events(after=0, types=["done"]):
                heard.append(each)
                if len(heard) == 2:
                    return

        async with asyncio.timeout(A_WHILE):
            following = asyncio.create_task(follow())
            for words in ("a", "b"):
                await client.ask(prompt(step(words)), trust_level="full")
            await following
        assert [each.data["response"] for each in heard] == ["a", "b"]


async def test_without_an_event_loop_it_is_the_same(house: ProcessHouse) -> None:
    def talk() -> list[str]:
        with Client(house.url, house.token) as client:
            turn = client.send(prompt(step("one")), trust_level="full")
            types = [each.type for each in turn]
            assert client.ask(prompt(step("two")), session_id=turn.session_id).response == "two"
            added = client.captures.add(("plan.md", b"# Plan"), title="Plan")
            assert client.captures.read(added.filename) == b"# Plan"
            assert client.workspaces.list().workspaces
            assert client.agents.list().agents == []
            assert client.policy.explain("Bash", {"command": "ls"}, trust_level="vault").verdict
            assert client.health().status == "ok"
            return types

    assert (await asyncio.to_thread(talk))[-1] == "done"


async def test_what_is_wrong_is_told_without_the_token() -> None:
    async with AsyncClient("http://127.0.0.1:9", "canary-token") as client:
        with pytest.raises(Unreachable) as failed:
            await client.stats()
        assert "canary-token" not in repr(failed.value) + str(vars(failed.value))
        with pytest.raises(Refused) as refused:
            client.send("hello", trust_level="fulll")
        assert refused.value.status == 422


async def test_what_the_page_shows_runs(
    house: ProcessHouse, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRUSTFLOOR_URL", house.url)
    monkeypatch.setenv("TRUSTFLOOR_TOKEN", house.token)
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for each in examples:
        await asyncio.to_thread(exec, each, {})
    assert "Hello.Hello." in capsys.readouterr().out.replace("\n", "")
    assert len(examples) == 2
