"""A cage over odd set-ups: our own folders in the vault, a vault at home, no network."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath

import pytest

from supervisor.policy.deny_list import DenyList
from supervisor.runtimes.local.cage import Cage, CageOrder, Confines, open_cage
from supervisor.runtimes.local.system import cage_environment
from supervisor.runtimes.turn_folder import TurnFolder
from tests.worlds.house import a_house
from tests.worlds.policy_world import SHIPPED
from tests.worlds.vault_cage import CANARY, fill, receipt, run


@pytest.fixture(name="root")
def root_fixture() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as root:
        yield Path(root)


async def test_our_own_folders_in_the_vault_are_shown_empty(root: Path) -> None:
    vault = root / "vault"
    (vault / "notes").mkdir(parents=True)
    (vault / "notes" / "today.md").write_text("Buy oat milk.\n")
    fill(vault)
    (vault / "see.sh").write_text("ls -A own/data; ls -A own; echo x > own/data/x; sh look.sh\n")
    (vault / "own").mkdir()
    own = vault / "own"
    async with a_house(root, data_dir=own / "data", runtime_dir=own / "run") as house:
        for _ in range(2):
            turn = await run(house, "sh see.sh 2>&1")
            assert turn.end["type"] == "done", turn.end
            assert "searched" in turn.results()[0]
            assert "audit.jsonl" not in turn.results()[0]
            assert "Read-only file system" in turn.results()[0]
            assert CANARY not in turn.results()[0]
        assert (vault / "own" / "data" / "audit.jsonl").exists()


@pytest.mark.parametrize("name", ["with blank", "quo'te\"s", "back\\slash", "-dash", "ünï", "a\tb"])
async def test_any_name_works_for_a_vault_in_a_cage_and_for_what_is_masked_in_it(
    root: Path, name: str
) -> None:
    vault = root / name / "vault"
    (vault / "notes").mkdir(parents=True)
    (vault / "notes" / "today.md").write_text("Buy oat milk.\n")
    fill(vault)
    (vault / name).mkdir()
    (vault / name / "id_rsa").write_text(f"{CANARY}-9\n")
    async with a_house(root, vault=vault) as house:
        turn = await run(house, "sh look.sh")
        assert turn.end["type"] == "done", turn.end
        assert "searched" in turn.results()[0]
        assert CANARY not in turn.results()[0]


async def test_a_vault_that_is_the_persons_home_is_the_cages_home(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root / "vault"))
    async with a_house(root, fill=None) as house:
        fill(house.vault)
        (house.vault / "home.sh").write_text("cat ~/notes/today.md; sh look.sh\n")
        turn = await run(house, "sh home.sh")
        assert turn.end["type"] == "done", turn.end
        assert turn.results()[0].count("oat milk") == 2
        assert CANARY not in turn.results()[0]


async def test_a_policy_takes_the_network_from_vault_sessions(root: Path, tmp_path: Path) -> None:
    shutil.copy(SHIPPED / "default.yaml", tmp_path)
    (tmp_path / "site.yaml").write_text("version: 1\ncage: {network: false}\n")
    async with a_house(root, policies=tmp_path) as house:
        (house.vault / "net.sh").write_text("cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '\n")
        turn = await run(house, "sh net.sh")
        assert turn.end["type"] == "done", turn.end
        assert receipt(turn)["receipt"]["network"] == "none"
        assert turn.results()[0].split() == ["lo"]


@asynccontextmanager
async def a_cage(root: Path, *command: str, network: bool) -> AsyncIterator[Cage]:
    """A cage around a command of the test's own."""
    vault = root / "vault"
    vault.mkdir()
    folder = TurnFolder(root=root / "turn", nonce="")
    for place in (folder.run, folder.config, folder.scratch):
        place.mkdir(parents=True)
    order = CageOrder(
        vault=vault,
        cwd=PurePosixPath(vault),
        folder=folder,
        cli=Path("/bin/sh"),
        command=command,
        environment=cage_environment({"PATH": os.defpath}, os.getuid()),
        hidden=DenyList(()),
        home=None,
        network=network,
    )
    async with open_cage(order, Confines()) as cage:
        yield cage


@pytest.mark.parametrize("network", [True, False])
async def test_without_a_network_there_is_nothing_but_loopback(root: Path, network: bool) -> None:
    async with a_cage(root, "/bin/cat", "/proc/net/dev", network=network) as cage:
        said = b"".join([chunk async for chunk in cage.channel.chunks()]).decode()
        names = {line.partition(":")[0].strip() for line in said.splitlines()[2:]}
        assert (names == {"lo"}) is not network
        assert cage.receipt.measured["network"] == ("the host's" if network else "none")
