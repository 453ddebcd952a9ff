"""No folder is walked through for a call that is refused without it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from supervisor.policy.call import Allow, Ask, Deny
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import make_vault, shipped_policy, verdict_on

POLICY = shipped_policy()
FULL, VAULT = TrustLevel.FULL, TrustLevel.VAULT


class _Listings:
    """Which folders this process lists, by the interpreter's own audit events."""

    def __init__(self) -> None:
        self.folders: list[str] | None = None
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "os.scandir" and self.folders is not None:
            self.folders.append(str(arguments[0]))

    @contextmanager
    def counted(self) -> Iterator[list[str]]:
        found: list[str] = []
        self.folders = found
        try:
            yield found
        finally:
            self.folders = None


LISTINGS = _Listings()  # a hook can't be taken off again, so there is one


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return make_vault(tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -rf /usr",
        "cd / && rm -rf .",
        "chmod -R 777 /",
        "chown -R nobody /etc",
        "find / -delete",
        "sudo rm -rf notes",
        "rm -rf notes .env",
        "grep -r x notes .env",
        "cat notes/innocent.md .env",
    ],
)
@pytest.mark.parametrize("level", [FULL, VAULT])
async def test_a_refused_command_lists_nothing(
    vault: Path, command: str, level: TrustLevel
) -> None:
    with LISTINGS.counted() as folders:
        verdict = await verdict_on("Bash", level, vault, POLICY, command=command)
    assert isinstance(verdict, Deny)
    assert folders == []


@pytest.mark.parametrize("command", ["rm -rf /*", "chmod -R 777 /*", "cd / && rm -rf *"])
async def test_a_refused_glob_lists_the_one_folder_that_it_is_matched_in(
    vault: Path, command: str
) -> None:
    with LISTINGS.counted() as folders:
        verdict = await verdict_on("Bash", FULL, vault, POLICY, command=command)
    assert isinstance(verdict, Deny)
    assert len(folders) <= 1


async def test_control_what_is_not_refused_without_it_is_walked_through(vault: Path) -> None:
    with LISTINGS.counted() as folders:
        verdict = await verdict_on("Bash", FULL, vault, POLICY, command="rm -rf src")
    assert isinstance(verdict, Allow | Ask)
    assert str(vault / "src") in folders


async def test_what_only_the_walk_finds_is_still_refused(vault: Path) -> None:
    steering = vault / "work" / "app" / ".claude" / "hooks"
    steering.mkdir(parents=True)
    (steering / "run.sh").write_text("true\n")
    deleted = await verdict_on("Bash", FULL, vault, POLICY, command="rm -rf work")
    assert isinstance(deleted, Deny)
    assert deleted.rule == "agent-steering"
    linked = await verdict_on("Read", VAULT, vault, POLICY, file_path="notes/innocent.md")
    assert isinstance(linked, Deny)
    assert linked.rule == "env-files"


async def test_a_search_that_is_refused_for_where_it_is_lists_nothing(vault: Path) -> None:
    with LISTINGS.counted() as folders:
        verdict = await verdict_on("Grep", VAULT, vault, POLICY, pattern="x", path="/etc")
    assert isinstance(verdict, Deny)
    assert folders == []
    with LISTINGS.counted() as folders:
        await verdict_on("Grep", VAULT, vault, POLICY, pattern="x", path="notes")
    assert folders
