"""Invariants 3, 4, 15 and 16 of spare sandboxes: made for whoever's message comes.

Before it is given to a turn one shows and holds nothing; after that it is as any other: it shows
the vault as it is then, serves one message, and is gone. Of no use is one that isn't what it was.
"""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from supervisor.runtimes.container.spec import LABEL_INSTANCE, LABEL_SESSION, LABEL_TURN
from supervisor.trust.levels import TrustLevel
from tests.worlds.decoys import NAMED
from tests.worlds.engine_image import docker
from tests.worlds.house import House, a_house, bash, calls, is_a, noted_requests, prompt, step
from tests.worlds.mcp_servers import plain
from tests.worlds.process_house import a_process_house
from tests.worlds.ready_sandboxes import (
    HELLO,
    WEAKENED,
    a_house_behind_the_filter,
    it_went,
    somebodys_program,
    the_waiting_one,
    waited,
)
from tests.worlds.waiting import until

pytestmark = pytest.mark.engine

SLOW = prompt(step("word " * 20, chunks=20, chunk_delay_s=2.0))


@pytest.fixture(name="house")
async def house_fixture() -> AsyncIterator[House]:
    async with a_house(spare_sandboxes=1) as house:
        yield house


def inspected(container: str) -> dict[str, Any]:
    (found,) = json.loads(docker("inspect", container).stdout)
    return dict(found)


def sources(container: str) -> dict[str, Path]:
    """What of the host's it shows, by where."""
    return {each["Destination"]: Path(each["Source"]) for each in inspected(container)["Mounts"]}


async def test_the_first_message_of_a_session_runs_in_the_one_that_waited(house: House) -> None:
    container = await the_waiting_one(house)
    turn = await house.send(prompt(bash("$UNSET true"), step("Hi.")), until=is_a("tool_result"))
    (used,) = [each for each in await house.parts.containers() if not each.waiting]
    assert (used.id, used.session_id, used.live) == (container, turn.session_id, True)
    await turn.go_on()
    assert waited(turn)
    assert await the_waiting_one(house) != container


async def test_a_conversation_goes_on_in_spare_ones(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await the_waiting_one(house)
    first = await house.send(
        prompt(step("Hello, Ada."), words="My name is Ada."), system_prompt="You are terse."
    )
    assert waited(first)
    requests = noted_requests(monkeypatch)
    await the_waiting_one(house)
    turn = await house.send(HELLO, session_id=first.session_id, system_prompt="You are terse.")
    assert waited(turn)
    assert turn.events[0]["resumeInfo"]["method"] == "sdk_resume"
    assert "My name is Ada." in str(requests[0]["messages"])
    assert "You are terse." in str(requests[0]["system"])


async def test_before_its_message_it_shows_nothing_and_belongs_to_nobody(house: House) -> None:
    (house.vault / "notes" / "diary.md").write_text("CANARY-of-the-diary")
    container = await the_waiting_one(house)
    shown = sources(container)
    assert list(shown["/vault"].iterdir()) == []
    assert [each.name for each in shown["/run/trustfloor"].iterdir()] == ["marker"]
    labels = inspected(container)["Config"]["Labels"]
    assert labels.keys() >= {LABEL_INSTANCE, LABEL_TURN}
    assert LABEL_SESSION not in labels
    programs = docker("top", container, "-eo", "pid,args").stdout.decode().split("\n")[1:]
    assert [each for each in programs if each and "entry.py" not in each] == []


async def test_it_shows_the_vault_as_it_is_when_the_message_comes(house: House) -> None:
    await the_waiting_one(house)
    (house.vault / "new").mkdir()
    (house.vault / "new" / "note.md").write_text("new words")
    (house.vault / "new" / ".env").write_text("PASSWORD=CANARY-that-came-later\n")
    look = "pwd; cat /vault/new/*.md; grep -rl CANARY /vault; touch /vault/x"
    turn = await house.send(prompt(bash(look), step("")), working_directory="new")
    assert waited(turn)
    (found,) = turn.results()
    assert "/vault/new\nnew words" in found
    assert "CANARY" not in found
    assert ".env" not in found
    assert "Read-only file system" in found


async def test_what_stands_in_a_denied_files_place_ends_its_turn_as_any(house: House) -> None:
    await the_waiting_one(house)
    turn = await house.send(prompt(bash(NAMED + 'cat "/vault/$n"'), step("UNREACHED")))
    assert "waitedSeconds" in turn.of("isolation")[0]["receipt"]
    assert turn.end["code"] == "honeytoken"


async def test_each_serves_one_message_and_the_next_finds_nothing_of_it(house: House) -> None:
    seen = set()
    for _ in range(3):
        seen.add(await the_waiting_one(house))
        leave = "ls -A /tmp /home/agent; echo x | tee /tmp/left /home/agent/left"
        turn = await house.send(prompt(bash(leave), step("")))
        assert waited(turn)
        assert "left" not in turn.results()[0]
    assert len(seen) == 3


async def test_a_turn_with_mcp_servers_gets_it_and_what_describes_them_is_gone_when_they_run(
    house: House,
) -> None:
    house.parts.mcp.save("a", plain())
    house.parts.mcp.allow("a", sandboxed=True)
    folder = sources(await the_waiting_one(house))["/run/trustfloor"]
    turn = await house.send(
        prompt(calls(("mcp__a__echo", {"text": "hi"})), step("")), until=is_a("permission_request")
    )
    assert not (folder / "servers.json").exists()
    await house.parts.approvals.answer(turn.of("permission_request")[0]["id"], "granted")
    await turn.go_on()
    assert waited(turn)
    assert turn.results() == ["echo: hi"]


async def test_of_two_messages_at_once_one_gets_it_and_the_other_one_of_its_own(
    house: House,
) -> None:
    await the_waiting_one(house)
    both = await asyncio.gather(house.send(HELLO), house.send(HELLO))
    assert sorted(map(waited, both)) == [False, True]


async def test_a_turn_elsewhere_leaves_it_alone(house: House) -> None:
    container = await the_waiting_one(house)
    turn = await house.send(HELLO, TrustLevel.FULL)
    assert turn.end["type"] == "done"
    assert await the_waiting_one(house) == container


@pytest.mark.parametrize("change", WEAKENED.values(), ids=WEAKENED)
async def test_one_that_is_not_what_it_was_is_not_used(
    house: House, change: tuple[str, ...]
) -> None:
    container = await the_waiting_one(house)
    await asyncio.to_thread(docker, *change, container)
    turn = await house.send(HELLO)
    assert not waited(turn)
    assert container not in {each.id for each in await house.parts.containers()}


async def test_one_with_somebody_elses_program_in_it_is_not_used(house: House) -> None:
    container = await the_waiting_one(house)
    async with somebodys_program(container):
        assert not waited(await house.send(HELLO))


@pytest.mark.parametrize(
    ("act", "why"), [(("kill",), "killed from outside"), (("rm", "--force"), "from outside")]
)
async def test_one_that_is_ended_from_outside_goes_at_once_and_the_log_says_why(
    house: House, act: tuple[str, ...], why: str
) -> None:
    docker(*act, await the_waiting_one(house))
    await it_went(house, why)


async def test_the_audit_log_says_which_turn_took_it_and_that_it_went(house: House) -> None:
    await the_waiting_one(house)
    turn = await house.send(HELLO)
    whole = house.audited("waiting", turn.session_id)
    assert [each["what"] for each in whole] == ["taken", "gone"]
    assert whole[0]["turn"] == turn.started.turn_id


async def test_it_makes_room_for_a_turn_that_is_refused_one_of_its_own() -> None:
    async with a_house_behind_the_filter(1, spare_sandboxes=1) as house:
        await the_waiting_one(house)
        running = await house.send(SLOW, until=is_a("text"))
        assert "waitedSeconds" in running.of("isolation")[0]["receipt"]
        another = await house.send(HELLO)
        assert another.end["type"] == "error"
        await house.parts.conversations.abort(running.session_id, "enough")
        await running.go_on()
        container = await the_waiting_one(house)
        docker("update", "--pids-limit", "2000", container)  # of no use, and yet there
        assert not waited(await house.send(HELLO))


async def test_a_turn_in_one_leaves_nothing_but_the_next_when_it_is_aborted(house: House) -> None:
    container = await the_waiting_one(house)
    turn = await house.send(SLOW, until=is_a("text"))
    await house.parts.conversations.abort(turn.session_id, "enough")
    await turn.go_on()
    assert turn.end["type"] == "aborted"
    assert await the_waiting_one(house) != container
    left = await house.left()
    assert len(left.containers) == len(left.folders) == len(left.views) == 1


async def test_it_stays_until_somebody_comes_when_what_waits_for_a_session_has_long_gone() -> None:
    async with a_house(spare_sandboxes=1, waiting_sandboxes=1, waiting_seconds=1.0) as house:
        first = await house.send(HELLO)
        told = partial(house.audited, "waiting", first.session_id)
        await until(lambda: any("in time" in each.get("why", "") for each in told()))
        spare = await the_waiting_one(house)
        assert waited(await house.send(HELLO))
        assert await the_waiting_one(house) != spare


async def test_a_supervisor_that_stops_lets_it_go_and_one_after_a_kill_removes_it() -> None:
    async with a_process_house() as house:
        await house.start(spare_sandboxes="1")
        await house.a_container()
        assert await house.end(signal.SIGTERM) == 0
        left = await house.left()
        assert (left.containers, left.folders, left.views) == ((), (), ())
        await house.start(spare_sandboxes="1")
        await house.a_container()
        await house.end(signal.SIGKILL)
        await house.start()
        await house.nothing_left()
