"""Invariant 9, where a denied file's content comes under a plain name, or the watch is busy.

A mask over a plain name (what a denied link leads to, another name of a denied file) falls off at
the first save as any other does, and no name tells. The controls, with the watch asleep,
show that the agent reads it then.
"""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.runtimes.local import cage
from supervisor.runtimes.local.vault_changes import VaultChanges
from supervisor.runtimes.local.vault_watch import VaultWatch
from tests.worlds.house import House, Turn, a_house, is_a
from tests.worlds.vault_cage import asked, grant, run
from tests.worlds.waiting import A_WHILE

CANARY = "CANARY-inv-09-plain"
LOOK = "grep -ahs CANARY .[e]nv notes/plain.md work/deep/.[e]nv; echo searched\n"
CHURN = """
import os
for n in range(3000):
    open(f'work/{n}', 'w').close()
for name in ('once', 'twice'):
    os.rename('work', name)
    for n in range(1500):
        os.unlink(f'{name}/{2999 - n if name == "once" else 1499 - n}')
    os.rename(name, 'work')
print('churned')
"""


def fill(vault: Path) -> None:
    for version in ("1", "2"):
        place = vault / "config" / version
        place.mkdir(parents=True)
        (place / "live.txt").write_text(f"{CANARY}-{version}\n")
    (vault / "config" / "now").symlink_to("1")
    (vault / ".env").unlink()
    (vault / ".env").symlink_to("config/now/live.txt")
    (vault / "keys").mkdir()
    (vault / "keys" / "id_rsa").write_text(f"{CANARY}-2\n")
    (vault.parent / "snapshot").hardlink_to(vault / "keys" / "id_rsa")
    (vault / "work" / "deep").mkdir(parents=True)
    (vault / "look.sh").write_text(LOOK)
    (vault / "churn.py").write_text(CHURN)


def save_what_the_link_leads_to(vault: Path) -> None:
    (vault / "new").write_text(f"{CANARY}-2\n")
    (vault / "new").replace(vault / "config" / "1" / "live.txt")


def put_another_folder_there(vault: Path) -> None:
    (vault / "config" / "1").rename(vault / "config" / "0")
    (vault / "config" / "1").mkdir()
    (vault / "config" / "1" / "live.txt").write_text(f"{CANARY}-2\n")


def turn_a_link_on_the_way(vault: Path) -> None:
    (vault / "config" / "next").symlink_to("2")
    (vault / "config" / "next").replace(vault / "config" / "now")


def bring_another_name_in(vault: Path) -> None:
    (vault.parent / "snapshot").rename(vault / "notes" / "plain.md")


def add_a_secret(vault: Path) -> None:
    (vault / "work" / "deep" / ".env").write_text(f"{CANARY}-2\n")


CHANGES = (
    save_what_the_link_leads_to,
    put_another_folder_there,
    turn_a_link_on_the_way,
    bring_another_name_in,
    add_a_secret,
)


async def changed(house: House, change: Callable[[Path], None]) -> Turn:
    """A turn that keeps the watch busy, up to where it asks to look, and the host's change."""
    turn = await asked(house, "python3 churn.py", "sh look.sh")
    await grant(turn)
    assert turn.results() == ["churned"]
    assert turn.end["type"] == "permission_request", turn.end
    await asyncio.to_thread(change, house.vault)
    return turn


@pytest.mark.parametrize("change", CHANGES)
async def test_it_ends_the_turn(change: Callable[[Path], None]) -> None:
    async with a_house(fill=fill) as house:
        turn = await changed(house, change)
        await turn.go_on()
        assert turn.end["type"] == "error", turn.end
        assert turn.end["code"] == "vault_unavailable"
        assert CANARY not in repr(turn.events)


@pytest.mark.parametrize("change", CHANGES)
async def test_control_with_the_watch_asleep_the_agent_reads_it(
    change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VaultWatch, "_look_at", lambda *_: None)
    async with a_house(fill=fill) as house:
        turn = await changed(house, change)
        await grant(turn)
        assert f"{CANARY}-2" in turn.results()[1]


async def test_a_watch_that_fails_ends_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise ValueError("a fault of ours")

    monkeypatch.setattr(VaultChanges, "_arrived", failing)
    monkeypatch.setattr("threading.excepthook", lambda _: None)  # it would be a warning
    async with a_house(fill=fill) as house:
        turn = await asked(house, "sh look.sh")
        (house.vault / "notes" / "new.md").write_text("anything")
        await turn.go_on()
        assert turn.end["code"] == "vault_unavailable", turn.end


def keep_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cages in which any folder can be renamed, and that can be made where one is gone."""
    real = cage._spec
    monkeypatch.setattr(cage, "_spec", lambda *order: replace(real(*order), kept_names=()))


@pytest.mark.parametrize("asleep", [False, True])
async def test_what_moves_before_its_mask_is_put_there_is_not_shown(
    asleep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another session's agent could do that. The control: only the watch tells."""
    real, watch_links = cage._demands, VaultChanges.watch_links
    follows = threading.Event()

    def following(changes: VaultChanges) -> None:
        watch_links(changes)
        follows.set()

    def moving(order: cage.CageOrder, *rest: object) -> object:
        demands = real(order, *rest)  # type: ignore[arg-type]
        assert follows.wait(A_WHILE)  # or the watch would miss a folder, and wake for that
        (order.vault / "config").rename(order.vault / "conf")
        return demands

    monkeypatch.setattr(VaultChanges, "watch_links", following)
    monkeypatch.setattr(cage, "_demands", moving)
    if asleep:
        keep_no_names(monkeypatch)
        monkeypatch.setattr(VaultWatch, "_look_at", lambda *_: None)
    async with a_house(fill=fill) as house:
        (house.vault / "look.sh").write_text("cat conf/1/live.txt\n")
        turn = await run(house, "sh look.sh")
        assert (f"{CANARY}-1" in repr(turn.events)) is asleep
        assert turn.end["type"] == ("done" if asleep else "error")
        assert is_a("done")(turn.end) or turn.end["code"] == "vault_unavailable"


UNLINK = (
    "rm .[e]nv",
    "mv .[e]nv x",
    "rm config/now",
    "ln -s 2 config/next; mv -T config/next config/now",
)
MOVE = "mv config conf; mv config/1 config/0; echo tried"


@pytest.mark.parametrize("command", UNLINK)
async def test_removing_a_link_by_which_a_file_is_denied_ends_the_turn(command: str) -> None:
    """For the next turn it is a plain file: the person is told."""
    async with a_house(fill=fill) as house:
        (house.vault / "unlink.sh").write_text(f"{command}; sleep 600\n")
        turn = await run(house, "sh unlink.sh")
        assert turn.end["type"] == "error", turn.end
        assert turn.end["code"] == "vault_unavailable"


@pytest.mark.parametrize("held", [True, False])
async def test_the_folders_on_the_way_of_such_a_link_cannot_be_moved(
    held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: a cage that keeps no names."""
    if not held:
        keep_no_names(monkeypatch)
    async with a_house(fill=fill) as house:
        (house.vault / "move.sh").write_text(MOVE)
        (house.vault / "read.sh").write_text(
            "cat conf/0/live.txt conf/1/live.txt config/*/live.txt"
        )
        await run(house, "sh move.sh 2>&1")
        turn = await run(house, "sh read.sh")
        assert (f"{CANARY}-1" not in repr(turn.events)) is held
