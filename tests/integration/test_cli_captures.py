"""`trustfloor captures` against a running supervisor."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.ids import SessionId
from tests.worlds.api import ApiWorld, Ran, api_world
from tests.worlds.played_turns import done


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        yield world


async def captures(world: ApiWorld, *arguments: str) -> Ran:
    return await world.command("captures", *arguments)


async def test_a_file_alone_can_be_a_message(world: ApiWorld, tmp_path: Path) -> None:
    file = tmp_path / "note.md"
    file.write_text("# Plans")
    world.turns.script = [done(SessionId("s"))]
    ran = await world.command("chat", "--attach", str(file))
    assert ran.status == 0, ran.err
    (asked,) = world.turns.asked
    assert asked.message == ""
    assert [(each.name, each.content) for each in asked.attachments] == [("note.md", b"# Plans")]


async def test_a_file_is_added_listed_and_read_again_byte_for_byte(
    world: ApiWorld, tmp_path: Path
) -> None:
    file = tmp_path / "scan ü.bin"
    content = bytes(range(256)) * 40_000
    file.write_bytes(content)
    status, out, _ = await captures(world, "add", str(file), "--title", "A scan")
    assert (status, out.decode()) == (0, "stored as captures/scan ü.bin\n")
    status, out, _ = await captures(world)
    assert status == 0
    assert "scan ü.bin  A scan" in out.decode()
    assert await captures(world, "get", "scan ü.bin") == (0, content, "")
    asked = await captures(world, "delete", "scan ü.bin")  # nobody said yes
    assert asked.status == 1
    assert "Delete the capture scan ü.bin “A scan” (10240000 bytes) for good?" in asked.out.decode()
    status, out, _ = await captures(world, "delete", "scan ü.bin", "--yes")
    assert (status, out.decode()) == (0, "deleted captures/scan ü.bin\n")
    assert (await captures(world)).out == b"no captures\n"


async def test_what_is_not_there_is_told(world: ApiWorld, tmp_path: Path) -> None:
    status, _, err = await captures(world, "get", "nothing.md")
    assert status == 1
    assert "no capture has this name" in err
    for yes in ((), ("--yes",)):
        status, out, err = await captures(world, "delete", "nothing.md", *yes)
        assert (status, out) == (1, b""), "nobody is asked about what isn't there"
        assert "no capture has this name" in err
        assert "trustfloor captures" in err
    status, _, err = await captures(world, "add", str(tmp_path / "missing"))
    assert status == 2


@pytest.mark.parametrize("words", [("captures", "add"), ("chat", "hi", "--attach"), ("import",)])
async def test_a_file_without_end_is_refused_and_not_read_for_ever(
    world: ApiWorld, words: tuple[str, ...]
) -> None:
    ran = await world.command(*words, "/dev/zero")
    assert (ran.status, "MiB, and that is what is taken" in ran.err) == (1, True)
    assert world.turns.asked == []
