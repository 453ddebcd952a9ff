"""Who the agent is in a cage: the vault's owner, whether the supervisor is root or a plain user."""

import asyncio
import json
import os
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.worlds.house import a_house
from tests.worlds.vault_cage import CANARY, fill, receipt, run
from tests.worlds.waiting import A_WHILE

OWNER = 23_456
ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes root to be somebody else")


def owned_by_another(vault: Path) -> None:
    fill(vault)
    (vault / "who.sh").write_text(
        "id -u; id -G; cat notes/private.md; echo x > made.txt; ls -a ~\n"
    )
    private = vault / "notes" / "private.md"
    private.write_text("only its owner may read this\n")
    private.chmod(0o600)
    for place in (vault, *vault.rglob("*")):
        os.chown(place, OWNER, OWNER, follow_symlinks=False)
    vault.chmod(0o700)


async def test_a_root_supervisors_agent_is_the_vaults_owner_without_any_right() -> None:
    async with a_house(fill=owned_by_another) as house:
        turn = await run(house, "sh who.sh 2>&1", "sh look.sh")
        assert turn.end["type"] == "done", turn.end
        said = turn.results()[0]
        assert said.split()[:2] == [str(OWNER), str(OWNER)]
        assert "only its owner may read this" in said
        assert (house.vault / "made.txt").stat().st_uid == OWNER
        assert receipt(turn)["receipt"]["uids"] == [OWNER] * 3
        assert "searched" in turn.results()[1]
        assert CANARY not in repr(turn.events)
        second = await run(house, "sh who.sh 2>&1")
        assert second.end["type"] == "done", second.end


def plain_python() -> str:
    """An interpreter of our version that a plain user may run."""
    own = os.path.realpath(sys.executable)
    system = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    reachable = all(folder.stat().st_mode & 0o001 for folder in Path(own).parents)
    return own if reachable else system


async def test_a_plain_users_supervisor_makes_the_same_cage() -> None:
    paths = os.pathsep.join((str(ROOT), sysconfig.get_paths()["purelib"]))
    process = await asyncio.create_subprocess_exec(
        plain_python(),
        "-m",
        "tests.worlds.plain_user",
        cwd="/",
        env={
            "PATH": os.defpath,
            "PYTHONPATH": paths,
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": "/nonexistent",
        },
        user=65_534,
        group=65_534,
        extra_groups=(),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await asyncio.wait_for(process.communicate(), A_WHILE)
    found = json.loads(said)
    assert found["end"] == "done"
    assert found["cage"] == "bubblewrap"
    assert found["receipt"]["uids"] == [65_534] * 3
    assert "searched" in found["results"][0]
    assert found["left"] == []
    assert CANARY not in said.decode()
