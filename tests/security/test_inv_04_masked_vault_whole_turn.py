"""Invariant 4, over a whole turn: the host edits its secrets meanwhile, and the agent sees none.

The agent searches again and again; between two searches the host changes the vault in every way
that made bind-mounted masks fall off. Steps are synchronised by events: the script's next step
waits for a person's answer, which the test gives once the host's change is done.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.worlds.house import House, a_house, bash, calls, is_a, prompt, step
from tests.worlds.policy_world import SHIPPED, shipped_policy

pytestmark = pytest.mark.engine

CANARY = "CANARY-inv-04"
# Names are put together as it runs, so that only the kernel can keep files from being read. What a
# file holds is printed if it is a secret or a note: the decoys are read, and not passed on.
SEARCH = """python3 - <<'EOF'
import os
for top in ("/vault", "/tmp", "/home", "/run"):
    for folder, _, names in os.walk(top, followlinks=True):
        for name in names:
            path = os.path.join(folder, name)
            try:
                content = open(path, "rb").read() if os.path.isfile(path) else b""
            except OSError:
                continue
            if b"CANARY-" + b"inv-04" in content or "notes" in folder and b"oat" in content:
                print(path, content)
            elif content[:1] == b"\\0" and b"decoy" in content:
                print("only a decoy:", path)
print("searched")
EOF"""


def fill(vault: Path) -> None:
    (vault / ".env").write_text(f"A={CANARY}-1\n")
    (vault / "keys").mkdir()
    (vault / "keys" / "id_rsa").write_text(f"{CANARY}-2\n")
    (vault / ".ssh").mkdir()
    (vault / ".ssh" / "config").write_text(f"{CANARY}-3\n")


def replace_atomically(vault: Path) -> None:
    new = vault / "notes" / "tmp-save"
    new.write_text(f"A={CANARY}-4\n")
    new.replace(vault / ".env")


def swap_folders(vault: Path) -> None:
    (vault / ".ssh").rename(vault / "once-ssh")
    (vault / "keys").rename(vault / "moved")
    shutil.copytree(vault / "moved", vault / "keys")
    (vault / "keys" / "id_rsa").write_text(f"{CANARY}-5\n")


def add_folders(vault: Path) -> None:
    for place in ("new", "notes/deep/er"):
        (vault / place).mkdir(parents=True)
        (vault / place / "server.pem").write_text(f"{CANARY}-6\n")
        (vault / place / ".env.local").write_text(f"{CANARY}-7\n")


def link_hard(vault: Path) -> None:
    os.link(vault / ".env", vault / "notes" / "hard.md")
    os.link(vault / "keys" / "id_rsa", vault / "harmless.txt")


def link_softly(vault: Path) -> None:
    (vault / "link").symlink_to(vault / ".env")
    (vault / "notes" / "link").symlink_to("../keys/id_rsa")
    (vault / "notes" / "folder").symlink_to(vault / "once-ssh")


def rename_a_note(vault: Path) -> None:
    note = vault / "notes" / "today.md"
    note.rename(vault / "notes" / ".env")
    with (vault / "notes" / ".env").open("a") as file:
        file.write(f"B={CANARY}-8\n")
    # The same file, open and written to in place, as an editor without atomic saves does.
    with (vault / ".env").open("a") as file:
        file.write(f"C={CANARY}-9\n")


CHANGES: list[Callable[[Path], None]] = [
    replace_atomically, swap_folders, add_folders, link_hard, link_softly, rename_a_note,
]  # fmt: skip


def a_search_and_a_pause() -> list[dict[str, object]]:
    wait = calls(("Write", {"file_path": "/tmp/pause", "content": "waits for the host"}))
    return [bash(SEARCH), wait]


async def test_no_secret_is_seen_whatever_the_host_does_to_it_during_the_turn() -> None:
    async with a_house(fill=fill) as house:
        script = [each for _ in CHANGES for each in a_search_and_a_pause()]
        asking = is_a("permission_request")
        turn = await house.send(prompt(*script, bash(SEARCH), step("ok")), until=asking)
        for change in CHANGES:
            await asyncio.to_thread(change, house.vault)
            await house.parts.approvals.answer(turn.end["id"], "denied")
            await turn.go_on(asking)
        assert turn.end["type"] == "done"
        searches = [said for said in turn.results() if "searched" in said]
        assert len(searches) == len(CHANGES) + 1
        assert all("oat milk" in said for said in searches)  # the search does find what is there
        for name in (".env", "keys/id_rsa", ".ssh/decoy"):
            assert all(f"only a decoy: /vault/{name}\n" in said for said in searches)
        await appears_nowhere(house, CANARY, turn.session_id)


async def test_control_after_all_that_the_next_message_still_sees_none_and_the_host_sees_all() -> (
    None
):
    async with a_house(fill=fill) as house:
        for change in CHANGES:
            change(house.vault)
        turn = await house.send(prompt(bash(SEARCH), step("ok")))
        assert "searched" in turn.results()[0]
        # The third was in a folder that has a harmless name by now: a control of the search.
        assert f"{CANARY}-3" in turn.results()[0]
        await appears_nowhere(house, CANARY, turn.session_id, (1, 2, 4, 5, 6, 7, 8, 9))
        held = b"".join(each.read_bytes() for each in house.vault.rglob("*") if each.is_file())
        for number in (2, 3, 4, 5, 6, 7, 8, 9):  # the first was overwritten
            assert f"{CANARY}-{number}".encode() in held


async def test_control_with_the_deny_list_switched_off_the_same_search_finds_them(
    tmp_path: Path,
) -> None:
    shutil.copy(SHIPPED / "default.yaml", tmp_path)
    off = "".join(
        f"  - {{id: {rule.id}, reason: switched off}}\n" for rule in shipped_policy().rules
    )
    (tmp_path / "site.yaml").write_text(f"version: 1\ndeny:\n{off}")
    async with a_house(fill=fill, policies=tmp_path) as house:
        turn = await house.send(prompt(bash(SEARCH), step("ok")))
        assert turn.end["type"] == "done", turn.end
        for number in (1, 2, 3):
            assert f"{CANARY}-{number}" in turn.results()[0]


async def test_what_the_view_shows_cannot_be_changed_from_inside() -> None:
    write = (
        "for f in /vault/x /vault/notes/today.md /vault/.env; do echo x > $f; done;"
        " rm -rf /vault/notes; mv /vault/notes /vault/n; ln -s /etc /vault/etc;"
        " chmod 777 /vault; ls /vault; echo tried"
    )
    async with a_house(fill=fill) as house:
        before = sorted(str(path) for path in house.vault.rglob("*") if "Chat" not in str(path))
        turn = await house.send(prompt(bash(write), bash("cat /vault/notes/*"), step("ok")))
        assert "oat milk" in turn.results()[-1]
        after = sorted(
            str(path)
            for path in house.vault.rglob("*")
            if "Chat" not in str(path) and ".claude" not in str(path)
        )
        assert after == before


async def test_the_supervisors_own_files_are_not_in_the_view() -> None:
    look = bash(
        "find / -xdev -name '*.db' -o -name token -o -name audit.jsonl 2>/dev/null; ls -A /vault"
    )
    async with a_house() as house:
        for _ in range(2):  # at the second message there is a transcript, too
            turn = await house.send(prompt(look, step("ok")))
            assert "sessions.db" not in turn.results()[0]
            assert "audit.jsonl" not in turn.results()[0]
            assert "jsonl" not in turn.results()[0]
        assert (house.vault / "Chat" / "sessions.db").exists()  # the control


async def appears_nowhere(
    house: House, secret: str, session_id: object, numbers: Iterable[int] = range(1, 10)
) -> None:
    """Neither in what is stored of the sessions, nor in any transcript."""
    data = house.parts.settings.data_dir
    kept = [*data.glob("events.db*"), data / "audit.jsonl"]
    kept += [path for path in (house.vault / ".claude").rglob("*") if path.is_file()]
    for path in kept:
        content = path.read_bytes()
        for number in numbers:
            assert f"{secret}-{number}".encode() not in content, path
    assert str(session_id) in str(kept)
