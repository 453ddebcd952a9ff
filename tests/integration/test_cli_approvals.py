"""`trustfloor approvals`: what waits in all sessions, seen and answered at one terminal."""

import json
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.worlds.api import ApiWorld, api_world
from tests.worlds.people import People, people_at
from tests.worlds.terminal import terminal
from tests.worlds.waiting import until


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path, approval_seconds=600) as world:  # however busy the machine is
        yield world


@pytest.fixture
async def people(world: ApiWorld) -> AsyncIterator[People]:
    async with people_at(world) as people:
        yield people


async def test_what_waits_in_all_sessions_is_asked_about_one_after_another(
    people: People,
) -> None:
    one, two = await people.turn(), await people.turn("garden", agent="agents/writer.md")
    people.world.turns.running[two.session_id] = two.turn_id
    first = people.ask(one, "echo first")
    await people.open(1)
    second = people.ask(two, "echo second", "helper (a1)")
    await people.open(2)
    question = people.question(two)
    await people.open(3)
    elsewhere = people.ask(one, "echo elsewhere")
    ids = await people.open(4)
    async with terminal(people.world, "approvals") as shown, people.world.client() as client:
        await shown.until(f"session {one.session_id} · workspace default · trust vault")
        await shown.until("echo first")
        await shown.until("allow this?")
        shown.type("y\n")
        assert (await first).decision == "granted"
        await shown.until_all(
            "permission: granted",
            "workspace garden · agents/writer.md",
            "helper (a1): Bash needs your permission",
            "allow this?",
        )
        shown.type("s\n")
        assert (await second).decision == "denied"
        await shown.until("permission: denied")
        # After the denial, so that its reason is told.
        await until(lambda: people.world.turns.aborted)
        ((aborted, _),) = people.world.turns.aborted
        assert aborted == two.session_id
        await shown.until("? Which?")
        await shown.until("a number: ")
        shown.type("2\n")
        assert (await question).answers == {"Which?": "that"}
        await shown.until("echo elsewhere")
        await shown.until("allow this?")
        await client.post(f"/api/permissions/{ids[3]}/deny", json={"message": "by another"})
        assert (await elsewhere).message == "by another"
        later = people.ask(one, "echo later")  # and what comes is asked about as well
        await shown.until("echo later")
        await shown.until("allow this?")
        shown.type("\x04")  # who leaves has refused nothing
        assert await shown.ended() == 130
        assert not later.done()


async def test_no_text_of_an_agent_reaches_the_terminal_as_a_command(people: People) -> None:
    attack = (
        "\x1b]0;title\x07\x1b[2J\x9b2J\x1b]52;c;ZXZpbA==\x07\x1b]8;;https://evil.example\x1b\\x"
        "\x1b]8;;\x1b\\\r\x08\u202eevil\u2066\u2028\x85"
    )
    turn = await people.turn(attack, agent=attack)
    people.ask(turn, attack, attack)
    people.question(
        turn, {"question": attack, "options": [{"label": attack, "description": attack}]}
    )
    await people.open(2)
    listed = (await command(people.world, "list"))[1]
    async with terminal(people.world, "approvals") as shown:
        await shown.until("allow this?")
        shown.type("y\n")
        await shown.until("a number: ")
        shown.type("1\n")
        await people.open(0)
    for text in (shown.whole, listed):
        assert "evil" in text
        obeyed = {each for each in text if unicodedata.category(each) in {"Cc", "Zl", "Zp"}}
        assert obeyed <= {"\n", "\r", "\t"}
        assert "\r" not in text.replace("\r\n", "")  # the terminal's own line ends
        assert not {*text} & {*"\u202e\u2066\u2067\u2028"}


async def command(world: ApiWorld, *words: str) -> tuple[int, str]:
    ran = await world.command("approvals", *words)
    return ran.status, ran.out.decode() + ran.err


async def test_without_a_terminal_they_are_listed_granted_and_denied_by_id(
    people: People,
) -> None:
    turn = await people.turn("garden")
    people.world.turns.running[turn.session_id] = turn.turn_id
    granted, denied = people.ask(turn, "echo one"), people.ask(turn, "echo two")
    people.question(turn)
    one, two, _ = await people.open(3)
    status, said = await command(people.world, "list", "--json", "--workspace", "garden")
    assert status == 0, said
    listed = json.loads(said)
    assert [each["id"] for each in listed["permissions"]] == [one, two]
    assert len(listed["questions"]) == 1
    shown = listed["permissions"][0]["contentHash"]
    assert (await command(people.world, "list", "--workspace", "other"))[1] == "nothing waits\n"

    few = await command(people.world, "deny", "req_")
    assert few[0] == 1
    assert "by 4 characters at least" in few[1]
    status, said = await command(people.world, "grant", one)  # nobody is there to be asked
    assert status == 1
    assert f"--hash {shown}" in said
    status, said = await command(people.world, "grant", one, "--hash", "0" * 64)
    assert status == 1
    assert "isn't the hash" in said
    assert (await command(people.world, "grant", one, "--hash", shown)) == (0, "granted\n")
    assert (await granted).decision == "granted"
    short = two.removeprefix("req_")[:9]
    said = (await command(people.world, "deny", short, "--message", "no", "--stop"))[1]
    assert said == "denied, and the turn stopped\n"
    assert (await denied).message == "no"
    status, said = await command(people.world, "deny", "req_none")
    assert status == 1
    assert "trustfloor approvals list" in said
    assert "/api/" not in said
