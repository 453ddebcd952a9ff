"""Invariant 9, while the host changes its secrets: what no mask covers any more ends the turn.

Masks lie over files, so a file that takes a name's place is seen as it is until the watch ends the
turn: the controls, with the watch asleep, show exactly that. Steps are synchronised by events: the
agent waits for a person's answer while the host does its part.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor.runtimes.local.vault_watch import VaultWatch
from tests.worlds.house import a_house
from tests.worlds.vault_cage import CANARY, asked, fill, grant, run


def replace_atomically(vault: Path) -> None:
    new = vault / "notes" / "tmp-save"
    new.write_text(f"A={CANARY}-5\n")
    new.replace(vault / ".env")


def remove_and_write_anew(vault: Path) -> None:
    (vault / ".env").unlink()
    (vault / ".env").write_text(f"A={CANARY}-5\n")


def swap_a_denied_folder(vault: Path) -> None:
    (vault / ".ssh").rename(vault / "once-ssh")
    shutil.copytree(vault / "once-ssh", vault / ".ssh")
    (vault / ".ssh" / "config").write_text(f"{CANARY}-5\n")


def swap_the_folder_of_a_denied_file(vault: Path) -> None:
    (vault / "keys").rename(vault / "moved")
    (vault / "keys").mkdir()
    (vault / "keys" / "id_rsa").write_text(f"{CANARY}-5\n")


def add_in_a_new_folder(vault: Path) -> None:
    (vault / "notes" / "deep").mkdir()
    (vault / "notes" / "deep" / "server.pem").write_text(f"{CANARY}-5\n")


def move_a_filled_folder_in(vault: Path) -> None:
    made = vault.parent / "elsewhere"
    made.mkdir()
    (made / ".env.local").write_text(f"{CANARY}-5\n")
    made.rename(vault / "notes" / "deep")


def link_hard(vault: Path) -> None:
    (vault / ".env").write_text(f"{CANARY}-5\n")  # in place: the mask stays
    os.link(vault / ".env", vault / "notes" / "harmless.md")


CHANGES: dict[str, Callable[[Path], None]] = {
    ".env": replace_atomically,
    ".env ": remove_and_write_anew,
    ".ssh": swap_a_denied_folder,
    "keys/id_rsa": swap_the_folder_of_a_denied_file,
    "notes/deep/server.pem": add_in_a_new_folder,
    "notes/deep/.env.local": move_a_filled_folder_in,
    "notes/harmless.md": link_hard,
}


@pytest.mark.parametrize(("place", "change"), CHANGES.items())
async def test_a_secret_that_no_mask_covers_ends_the_turn(
    place: str, change: Callable[[Path], None]
) -> None:
    async with a_house(fill=fill) as house:
        turn = await asked(house, "sh look.sh")
        await asyncio.to_thread(change, house.vault)
        await turn.go_on()
        assert turn.end["type"] == "error", turn.end
        assert turn.end["code"] == "vault_unavailable"
        assert place.strip() in turn.end["error"]
        assert CANARY not in repr(turn.events)
        # The next message finds it masked.
        again = await run(house, "sh look.sh")
        assert again.end["type"] == "done", again.end
        assert f"{CANARY}-5" not in repr(again.events)


@pytest.mark.parametrize("change", CHANGES.values())
async def test_control_with_the_watch_asleep_the_agent_reads_it(
    change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VaultWatch, "_look_at", lambda *_: None)
    async with a_house(fill=fill) as house:
        turn = await asked(house, "sh look.sh")
        await asyncio.to_thread(change, house.vault)
        await grant(turn)
        assert f"{CANARY}-5" in turn.results()[0]


def everyday(vault: Path) -> None:
    """What a person does at any time, and no secret is laid open by."""
    (vault / "notes" / "today.md").write_text("Buy oat milk and bread.\n")
    (vault / "new").mkdir()
    (vault / "new" / "idea.md").write_text("an idea\n")
    os.link(vault / "new" / "idea.md", vault / "new" / "twin.md")
    saved = vault / "notes" / "tmp"
    saved.write_text("Buy oat milk, again.\n")
    saved.replace(vault / "notes" / "today.md")
    (vault / "keys").rename(vault / "moved")  # masks go along with what they lie on
    (vault / "once.txt").write_text("x")
    (vault / "once.txt").unlink()
    shutil.rmtree(vault / "new")
    with (vault / ".env").open("a") as file:  # in place: the mask lies over it still
        file.write(f"B={CANARY}-6\n")
    (vault / ".ssh" / "new_key").write_text(f"{CANARY}-7\n")  # in a folder hidden as a whole
    (vault / "Chat" / "sessions.db-journal").write_text(f"{CANARY}-8\n")


async def test_everyday_changes_end_no_turn_and_lay_nothing_open() -> None:
    async with a_house(fill=fill) as house:
        turn = await asked(house, "sh look.sh", "sh look.sh; cat Chat/*")
        await asyncio.to_thread(everyday, house.vault)
        await grant(turn)
        (house.vault / "Chat" / "sessions.db-journal").unlink()
        await grant(turn)
        assert turn.end["type"] == "done", turn.end
        assert "oat milk, again" in turn.results()[0]
        assert CANARY not in repr(turn.events)


BUILD = """
import os, shutil
for round in range(3):
    for folder in range(30):
        os.makedirs(f'build/{round}/{folder}')
        for n in range(40):
            place = f'build/{round}/{folder}/{n}'
            open(place + '.part', 'w').close()
            os.rename(place + '.part', place + '.o')
    os.rename(f'build/{round}', f'build/done-{round}')
    os.rename('build', 'out')
    os.rename('out', 'build')
shutil.rmtree('build/done-0')
print('built')
"""


async def test_a_busy_build_and_git_on_the_host_end_no_turn() -> None:
    def git(vault: Path, *words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", "-C", vault, *who, *words], check=True, capture_output=True)

    def filled(vault: Path) -> None:
        fill(vault)
        (vault / "build.py").write_text(BUILD)
        git(vault, "init", "-q", "-b", "main", ".")
        git(vault, "add", "notes", "build.py")
        git(vault, "commit", "-qm", "one")

    def at_the_host(vault: Path) -> None:
        (vault / "notes" / "today.md").write_text("Buy oat milk and bread.\n")
        git(vault, "switch", "-qc", "side")
        git(vault, "commit", "-qam", "two")
        git(vault, "switch", "-q", "main")
        git(vault, "merge", "-q", "side")
        git(vault, "stash", "list")
        git(vault, "gc", "-q")

    async with a_house(fill=filled) as house:
        turn = await asked(house, "python3 build.py", "sh look.sh")
        await asyncio.gather(grant(turn), asyncio.to_thread(at_the_host, house.vault))
        await grant(turn)
        assert turn.end["type"] == "done", turn.end
        assert turn.results()[0] == "built"
        assert CANARY not in repr(turn.events)


async def test_a_denied_file_of_the_agents_own_making_ends_its_turn() -> None:
    def filled(vault: Path) -> None:
        fill(vault)
        (vault / "make.sh").write_text("mkdir -p a/b; echo x > a/b/.env; sleep 600\n")

    async with a_house(fill=filled) as house:
        turn = await asked(house, "sh make.sh")
        await grant(turn)
        assert turn.end["type"] == "error"
        assert "a/b/.env" in turn.end["error"]
