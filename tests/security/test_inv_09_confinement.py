"""Invariant 9: at `vault` the agent's processes see the vault and the system, and no more.

The kernel holds it: every attack here was granted by a person. Beside each stands the control, in
which the same attack succeeds at `full`, where nothing confines it.
"""

import asyncio
import os
import re
import socket
from pathlib import Path

import pytest

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, Turn, a_house
from tests.worlds.vault_cage import CANARY, asked, fill, grant, receipt, run, with_script
from tests.worlds.waiting import until

FULL = TrustLevel.FULL


async def test_no_denied_file_is_read_by_its_name_by_another_or_through_a_link() -> None:
    async with a_house(fill=fill) as house:
        turn = await run(house, "sh look.sh")
        assert turn.end["type"] == "done", turn.end
        assert receipt(turn)["cage"] == "bubblewrap"
        assert "searched" in turn.results()[0]
        assert "oat milk" in turn.results()[0]
        assert CANARY not in repr(turn.events)


async def test_control_at_full_the_same_search_finds_all_of_them() -> None:
    async with a_house(fill=fill) as house:
        turn = await run(house, "sh look.sh", level=FULL)
        for number in (1, 2, 3, 4):
            assert f"{CANARY}-{number}" in turn.results()[0]


LOOK_OUTSIDE = (
    "cat /etc/shadow /proc/1/environ; ls -A {data} {run} ~ /run /mnt /var /sys /opt;"
    " cat {beside}; ls -d /proc/[0-9]* | wc -l;"
    # Counted in place: the whole list of a busy machine is more than a tool's result carries.
    " cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c 'p[y]test' | sed 's/^/test-runners:/';"
    " echo looked\n"
)


def look_outside(house: House) -> str:
    beside = house.root / "beside.txt"
    beside.write_text(f"{CANARY}-beside\n")
    (house.vault / "out.sh").write_text(
        LOOK_OUTSIDE.format(data=house.root / "data", run=house.root / "run", beside=beside)
    )
    return "sh out.sh"


async def test_the_rest_of_the_disk_and_other_processes_are_not_there() -> None:
    async with a_house() as house:
        turn = await run(house, look_outside(house))
        seen = turn.results()[0]
        assert "looked" in seen
        assert CANARY not in seen
        assert "cat: /etc/shadow: No such file or directory" in seen
        for name in ("audit.jsonl", "token", "events.db"):
            assert name not in seen, seen
        assert "test-runners:0\n" in seen
        processes = next(int(line) for line in seen.splitlines() if line.strip().isdigit())
        assert processes < 8


async def test_control_at_full_all_of_that_is_there() -> None:
    async with a_house() as house:
        turn = await run(house, look_outside(house), level=FULL)
        seen = turn.results()[0]
        for name in (f"{CANARY}-beside", "audit.jsonl", "events.db"):
            assert name in seen
        assert re.search(r"^test-runners:[1-9]", seen, re.MULTILINE)


async def test_the_supervisors_environment_is_in_no_process_an_agent_can_see(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_SECRET", f"{CANARY}-environment")
    command = "env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'; echo looked\n"
    async with a_house(fill=with_script("env.sh", command)) as house:
        turn = await run(house, "sh env.sh")
        assert "TRUSTFLOOR_TURN" in turn.results()[0]  # the control: the look does find variables
        assert "looked" in turn.results()[0]
        assert CANARY not in turn.results()[0]


async def test_what_left_its_process_group_ends_with_the_turn() -> None:
    stray = "setsid sh -c 'setsid sleep 86397.25 & sleep 86397.25' & sleep 0; echo started\n"
    async with a_house(fill=with_script("stray.sh", stray)) as house:
        turn = await grant(await asked(house, "sh stray.sh > /dev/null 2>&1", "sh look.sh"))
        assert turn.end["type"] == "permission_request"
        await until(lambda: strays() >= 2)  # the control: they run while the turn does
        await run_on(turn)
        assert strays() == 0


async def run_on(turn: Turn) -> None:
    while turn.end["type"] == "permission_request":
        await grant(turn)


def strays() -> int:
    found = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        found += words[:2] == [b"sleep", b"86397.25"]
    return found


SET_IDS = """
import ctypes, os
def tried(name, act):
    try:
        act()
    except OSError as error:
        print(name, error.strerror)
libc = ctypes.CDLL(None, use_errno=True)
def raw(*words):
    if libc.syscall(*words) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
open('by-chmod', 'w').close()
os.chmod('by-chmod', 0o755)
tried('chmod', lambda: os.chmod('by-chmod', 0o4755))
open('by-fchmod', 'w').close()
tried('fchmod', lambda: os.chmod(os.open('by-fchmod', os.O_RDONLY), 0o2755))
tried('open', lambda: os.open('by-open', os.O_CREAT | os.O_WRONLY, 0o6755))
tried('mknod', lambda: os.mknod('by-mknod', 0o104755))
open('by-fchmodat2', 'w').close()
tried('fchmodat2', lambda: raw(452, -100, b'by-fchmodat2', 0o4755, 0))
print('tried')
"""


@pytest.mark.parametrize("level", [TrustLevel.VAULT, FULL])
async def test_no_file_that_runs_as_its_owner_is_left_in_the_vault(level: TrustLevel) -> None:
    """The control is `full`, where the same script makes them."""
    async with a_house(fill=with_script("ids.py", SET_IDS)) as house:
        turn = await run(house, "python3 ids.py", level=level)
        assert "tried" in turn.results()[0]
        made = [path for path in house.vault.glob("by-*") if path.stat().st_mode & 0o6000]
        assert (made == []) is (level is TrustLevel.VAULT), made
        assert (house.vault / "by-chmod").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    "name", [b"a\rb", b"a\x0bb", b"a\nb", b"a\xffb", b"a\x1cb", "a\u2028b".encode()]
)
async def test_masks_hold_under_names_that_formats_trip_over(name: bytes) -> None:
    def filled(vault: Path) -> None:
        folder = Path(os.fsdecode(os.fsencode(vault) + b"/" + name))
        folder.mkdir()
        (folder / ".env").write_text(f"{CANARY}-1\n")
        (folder / ".mcp.json").write_text("as it was\n")
        look = 'head -c 3 */.[e]nv; for f in */.mcp.json; do echo x > "$f"; done; echo searched\n'
        (vault / "odd.sh").write_text(look)

    async with a_house(fill=filled) as house:
        turn = await run(house, "sh odd.sh 2>&1")
        assert turn.end["type"] == "done", turn.end
        assert "searched" in turn.results()[0]
        assert CANARY not in repr(turn.events)
        (steering,) = house.vault.glob("*/.mcp.json")
        assert steering.read_text() == "as it was\n"


CONNECT = (
    "import socket; s = socket.socket(socket.AF_UNIX); s.connect(chr(0) + '{name}'); print('in')\n"
)


async def connected(level: TrustLevel) -> str:
    """What comes of connecting to a socket of the host's that lies in no folder."""
    name = f"trustfloor-test-{os.getpid()}-{level}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + name)
        listener.listen()
        async with a_house(fill=with_script("c.py", CONNECT.format(name=name))) as house:
            turn = await run(house, "/usr/bin/python3 c.py", level=level)
            return turn.results()[0]


async def test_the_hosts_sockets_without_a_folder_are_out_of_reach() -> None:
    assert "Operation not permitted" in await connected(TrustLevel.VAULT)


async def test_control_at_full_the_hosts_sockets_are_within_reach() -> None:
    assert "in" in (await connected(FULL)).split()


async def test_the_vault_is_written_by_its_owner_and_nothing_else_is_written() -> None:
    write = (
        "echo new > made.txt; mkdir -p folder; echo x > folder/y;"
        " for f in /x /usr/x /etc/x /var/x /proc/sys/kernel/hostname; do echo x > $f; done;"
        " echo x > /tmp/x && echo tmp-is-its-own\n"
    )
    async with a_house(fill=with_script("w.sh", write)) as house:
        turn = await run(house, "sh w.sh 2>&1")
        assert (house.vault / "made.txt").read_text() == "new\n"
        assert (house.vault / "folder" / "y").exists()
        assert (house.vault / "made.txt").stat().st_uid == house.vault.stat().st_uid
        assert turn.results()[0].count("Read-only file system") >= 4
        assert "tmp-is-its-own" in turn.results()[0]
        assert not Path("/tmp/x").exists()


async def test_the_agent_can_neither_move_nor_remove_a_mask() -> None:
    tricks = (
        "mv .env plain; rm -f .env; ln .env plain; mv .ssh s; umount .env;"
        " unshare -Urm umount .env; mount --bind keys k; mv keys moved; cp moved/id_rsa copy;"
        " grep -rs --binary-files=text 'CANARY-[i]nv-09' .; echo tried\n"
    )
    async with a_house(fill=with_script("t.sh", tricks)) as house:
        turn = await run(house, "sh t.sh 2>&1")
        said = turn.results()[0]
        assert "tried" in said
        assert CANARY not in said
        assert said.count("Device or resource busy") >= 3
        assert (house.vault / ".env").read_text() == f"A={CANARY}-1\n"
        assert (house.vault / "moved" / "id_rsa").exists()  # its folder could be renamed


async def test_two_turns_at_once_have_a_cage_each() -> None:
    async with a_house(fill=fill) as house:
        turns = await asyncio.gather(run(house, "sh look.sh"), run(house, "sh look.sh"))
        assert all(turn.end["type"] == "done" for turn in turns)
        assert all("searched" in turn.results()[0] for turn in turns)
