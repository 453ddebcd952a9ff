"""Invariants 3, 4, 15 and 16 of sandboxes that are made ready for a session's next message.

One that waited is as fresh as one that is made at once: it has seen no message, shows the vault as
it is when the message comes, serves that one, and is gone. Of no use is one that isn't what it was.
"""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from supervisor.trust.levels import TrustLevel
from tests.worlds.decoys import NAMED
from tests.worlds.engine_image import docker
from tests.worlds.house import House, a_house, bash, is_a, noted_requests, prompt, step
from tests.worlds.policy_world import SHIPPED
from tests.worlds.process_house import a_process_house
from tests.worlds.ready_sandboxes import (
    HELLO,
    WEAKENED,
    somebodys_program,
    the_waiting_one,
    waited,
)
from tests.worlds.waiting import patient_rooms, until

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    with patient_rooms():
        yield


@pytest.fixture(name="house")
async def house_fixture() -> AsyncIterator[House]:
    async with a_house(waiting_sandboxes=2) as house:
        yield house


async def test_the_next_message_runs_in_the_one_that_waited_and_the_conversation_goes_on(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await house.send(prompt(step("Hello, Ada."), words="My name is Ada."))
    assert not waited(first)
    requests = noted_requests(monkeypatch)
    container = await the_waiting_one(house)
    turn = await house.send(
        prompt(bash("$UNSET true"), step("Again.")),
        session_id=first.session_id,
        until=is_a("tool_result"),
    )
    (used,) = [each for each in await house.parts.containers() if not each.waiting]
    assert used.id == container
    assert used.live
    await turn.go_on()
    assert waited(turn)
    assert turn.events[0]["resumeInfo"]["method"] == "sdk_resume"
    assert "My name is Ada." in str(requests[0]["messages"])


async def test_each_serves_one_message_and_the_next_finds_nothing_of_it(house: House) -> None:
    turn = await house.send(HELLO)
    session, seen = turn.session_id, set()
    for _ in range(3):
        seen.add(await the_waiting_one(house))
        turn = await house.send(
            prompt(
                bash("ls -A /tmp /home/agent; echo x | tee /tmp/left /home/agent/left"), step("")
            ),
            session_id=session,
        )
        assert waited(turn)
        assert "left" not in turn.results()[0]
    assert len(seen) == 3


async def test_it_shows_the_vault_as_it_is_when_the_message_comes(house: House) -> None:
    (house.vault / "old.md").write_text("old words")
    turn = await house.send(HELLO)
    await the_waiting_one(house)
    (house.vault / "old.md").unlink()
    (house.vault / "notes" / "today.md").write_text("Buy barley.")
    (house.vault / "new").mkdir()
    (house.vault / "new" / "note.md").write_text("new words")
    (house.vault / "new" / ".env").write_text("PASSWORD=CANARY-that-came-later\n")
    look = "ls /vault; cat /vault/notes/* /vault/new/*.md; grep -rl CANARY /vault; touch /vault/x"
    turn = await house.send(prompt(bash(look), step("")), session_id=turn.session_id)
    assert waited(turn)
    (found,) = turn.results()
    assert "old.md" not in found
    assert "Buy barley." in found
    assert "new words" in found
    assert "CANARY" not in found
    assert ".env" not in found
    assert "Read-only file system" in found


async def test_it_hides_what_policy_hides_when_the_message_comes(tmp_path: Path) -> None:
    policies = shutil.copytree(SHIPPED, tmp_path / "policies")
    async with a_house(waiting_sandboxes=1, policies=policies) as house:
        (house.vault / "plans.md").write_text("CANARY-of-the-plans")
        turn = await house.send(HELLO)
        await the_waiting_one(house)
        (policies / "later.yaml").write_text(
            "version: 1\ndeny:\n"
            "  - {id: plans, reason: ours alone, paths: [plans.md],"
            " examples: {deny: [plans.md], allow: [notes.md]}}\n"
        )
        await until(lambda: house.parts.policy.current.hidden.match("plans.md") is not None)
        look = prompt(bash("cat /vault/pl*s.md /vault/notes/today.md"), step(""))
        turn = await house.send(look, session_id=turn.session_id)
        assert "CANARY" not in repr(turn.events)


async def test_it_stands_in_the_sessions_folder_which_stays_while_it_is_filled(
    house: House,
) -> None:
    turn = await house.send(HELLO, working_directory="notes")
    await the_waiting_one(house)
    (house.vault / "notes" / "new.md").write_text("new words")
    turn = await house.send(
        prompt(bash("pwd; cat new.md"), step("")),
        session_id=turn.session_id,
        working_directory="notes",
    )
    assert waited(turn)
    assert turn.results()[0].split("\n") == ["/vault/notes", "new words"]


async def test_a_folder_that_was_put_in_its_folders_place_is_what_the_turn_sees(
    house: House,
) -> None:
    turn = await house.send(HELLO, working_directory="notes")
    await the_waiting_one(house)
    (house.vault / "notes").rename(house.vault / "elsewhere")
    (house.vault / "notes").mkdir()
    turn = await house.send(
        prompt(bash("pwd; ls -A . ../elsewhere"), step("")),
        session_id=turn.session_id,
        working_directory="notes",
    )
    assert turn.end["type"] == "done"
    assert turn.results()[0].split() == ["/vault/notes", ".:", "../elsewhere:", "today.md"]


async def test_what_stands_in_a_denied_files_place_ends_its_turn_as_any(house: House) -> None:
    turn = await house.send(HELLO)
    await the_waiting_one(house)
    turn = await house.send(
        prompt(bash(NAMED + 'cat "/vault/$n"'), step("UNREACHED")), session_id=turn.session_id
    )
    assert "waitedSeconds" in turn.of("isolation")[0]["receipt"]
    assert turn.end["code"] == "honeytoken"
    await house.nothing_left()


async def test_a_message_on_other_terms_gets_a_sandbox_of_its_own(house: House) -> None:
    turn = await house.send(HELLO)
    container = await the_waiting_one(house)
    turn = await house.send(HELLO, session_id=turn.session_id, system_prompt="You are terse.")
    assert not waited(turn)
    assert await the_waiting_one(house) != container


async def test_a_conversation_that_was_changed_meanwhile_gets_a_sandbox_of_its_own(
    house: House,
) -> None:
    turn = await house.send(HELLO)
    await the_waiting_one(house)
    transcripts = list((house.vault / ".claude").rglob(f"*{turn.session_id}*.jsonl"))
    assert transcripts
    for each in transcripts:
        each.write_text(each.read_text() + "\n")
    turn = await house.send(HELLO, session_id=turn.session_id)
    assert not waited(turn)


@pytest.mark.parametrize("change", WEAKENED.values(), ids=WEAKENED)
async def test_one_that_is_not_what_it_was_is_not_used(
    house: House, change: tuple[str, ...]
) -> None:
    turn = await house.send(HELLO)
    container = await the_waiting_one(house)
    await asyncio.to_thread(docker, *change, container)
    turn = await house.send(HELLO, session_id=turn.session_id)
    assert not waited(turn)
    assert container not in {each.id for each in await house.parts.containers()}


async def test_one_with_somebody_elses_program_in_it_is_not_used(house: House) -> None:
    turn = await house.send(HELLO)
    container = await the_waiting_one(house)
    async with somebodys_program(container):
        turn = await house.send(HELLO, session_id=turn.session_id)
        assert not waited(turn)


async def test_nothing_waits_unless_it_is_asked_for() -> None:
    async with a_house() as house:
        turn = await house.send(HELLO)
        await house.nothing_left()
        turn = await house.send(HELLO, session_id=turn.session_id)
        assert not waited(turn)


async def test_nothing_waits_after_other_levels_and_other_ends(house: House) -> None:
    loose = await house.send(HELLO, TrustLevel.FULL)
    slow = prompt(step("word " * 20, chunks=20, chunk_delay_s=2.0))
    turn = await house.send(slow, until=is_a("text"))
    await house.parts.conversations.abort(turn.session_id, "enough")
    await turn.go_on()
    await house.nothing_left()
    for session in (loose.session_id, turn.session_id):  # one that was being made would be used
        assert not waited(await house.send(HELLO, session_id=session))


async def test_what_waits_for_a_session_that_is_deleted_goes_with_it(house: House) -> None:
    turn = await house.send(HELLO)
    await the_waiting_one(house)
    await house.parts.conversations.delete(turn.session_id, with_transcript=True)
    await house.nothing_left()


async def test_what_nobody_comes_for_is_removed_in_time() -> None:
    async with a_house(waiting_sandboxes=1, waiting_seconds=1.0) as house:
        await house.send(HELLO)
        await the_waiting_one(house)
        await house.nothing_left()


async def test_a_turn_in_one_that_waited_leaves_nothing_when_it_is_aborted() -> None:
    async with a_house(waiting_sandboxes=1) as house:
        turn = await house.send(HELLO)
        await the_waiting_one(house)
        slow = prompt(step("word " * 20, chunks=20, chunk_delay_s=2.0))
        turn = await house.send(slow, session_id=turn.session_id, until=is_a("text"))
        await house.parts.conversations.abort(turn.session_id, "enough")
        await turn.go_on()
        assert turn.end["type"] == "aborted"
        assert "waitedSeconds" in turn.of("isolation")[0]["receipt"]
        await house.nothing_left()


async def test_a_supervisor_that_stops_lets_go_what_waits() -> None:
    async with a_process_house() as house:
        await house.start(waiting_sandboxes="1")
        await house.turn(HELLO)
        await house.a_container()
        assert await house.end(signal.SIGTERM) == 0
        left = await house.left()
        assert (left.containers, left.folders, left.views) == ((), (), ())


async def test_after_a_kill_of_the_supervisor_the_next_one_removes_what_waited() -> None:
    async with a_process_house() as house:
        await house.start(waiting_sandboxes="1")
        await house.turn(HELLO)
        await house.a_container()
        await house.end(signal.SIGKILL)
        await house.start()
        await house.nothing_left()
