"""Invariant 10, by detours: what steers agents, or git, from under another name.

A repository of the agent's own making, whose configuration names a program, runs it for whoever
looks at the folder with git; a link in the place of `.git` or `.claude` brings in files that were
plain when they were written. Making such a thing ends the turn; moving aside what is there fails.
The control is `full`, where the same scripts do it.
"""

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import a_house
from tests.worlds.vault_cage import asked, run

CANARY = "CANARY-inv-10"
CONFIG = (
    "[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = ../\\n"
    'fsmonitor = "echo STEERED >&2; false"\\n'
)
PARTS = f"mkdir -p x/objects; echo 'ref: refs/heads/m' > x/HEAD; printf '{CONFIG}' > x/config; "
LAST = "mkdir x/refs"
NEW = {
    "a link named .git": PARTS + "mkdir sub; ln -s ../x sub/.git; " + LAST,
    "a file named .git": PARTS + "mkdir sub; echo 'gitdir: ../x' > sub/.git; " + LAST,
    "a bare repository": PARTS + LAST + "; mv x sub",
    "another repository's parts": PARTS + LAST + "; echo ../x > .git/commondir; mkdir sub",
}


def git(*words: object) -> str:
    """What git complains of."""
    done = subprocess.run(["git", *map(str, words)], capture_output=True, text=True, check=False)
    return done.stderr


def repository(vault: Path) -> None:
    git("init", "-q", vault)


def having(fill: Callable[[Path], object], script: str) -> Callable[[Path], None]:
    def filled(vault: Path) -> None:
        fill(vault)
        (vault / "make.sh").write_text(f"{script}; sleep ${{1:-600}}\n")

    return filled


@pytest.mark.parametrize("script", NEW.values(), ids=NEW)
async def test_making_what_steers_git_ends_the_turn(script: str) -> None:
    async with a_house(fill=having(repository, script)) as house:
        turn = await run(house, "sh make.sh")
        assert turn.end["type"] == "error", turn.end
        assert "steers agents, and was made while one was at work" in turn.end["error"]


@pytest.mark.parametrize("script", NEW.values(), ids=NEW)
async def test_control_at_full_git_is_steered(script: str) -> None:
    async with a_house(fill=having(repository, script)) as house:
        await run(house, "sh make.sh 0", level=TrustLevel.FULL)
        assert "STEERED" in git("-C", house.vault / "sub", "status")


async def test_a_link_in_the_place_of_a_steering_folder_ends_the_turn() -> None:
    script = "mkdir c sub; echo '{}' > c/settings.json; ln -s ../c sub/.claude"
    async with a_house(fill=having(repository, script)) as house:
        turn = await run(house, "sh make.sh")
        assert turn.end["type"] == "error", turn.end
        assert "sub/.claude" in turn.end["error"]


def of_all_kinds(vault: Path) -> None:
    """A repository with a worktree of its own, a bare one, and a login of docker's."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    git("init", "-q", vault)
    git("-C", vault, *who, "commit", "-q", "--allow-empty", "-m", "one")
    git("-C", vault, "worktree", "add", "-q", vault / "side")
    git("init", "-q", "--bare", vault / "store")
    (vault / ".docker").mkdir()
    (vault / ".docker" / "config.json").write_text(f"{CANARY}\n")


HELD = (
    "side/.git",
    "store/config",
    "store/hooks/pre-commit.sample",
    ".git/worktrees/side/commondir",
)
OVERWRITE = f"for f in {' '.join(HELD)}; do echo spoilt > $f; done; echo tried"
ASIDE = (".git", ".docker", ".claude")
MOVE = f"for f in {' '.join(ASIDE)}; do mv $f aside$f; done; echo tried"


@pytest.mark.parametrize("level", [TrustLevel.VAULT, TrustLevel.FULL])
async def test_what_steers_git_elsewhere_is_read_only_and_no_folder_that_counts_can_be_moved(
    level: TrustLevel,
) -> None:
    """The control is `full`."""
    held = level is TrustLevel.VAULT

    def fill(vault: Path) -> None:
        of_all_kinds(vault)
        (vault / ".claude" / "projects").mkdir(parents=True)
        (vault / "over.sh").write_text(OVERWRITE)
        (vault / "move.sh").write_text(MOVE)

    async with a_house(fill=fill) as house:
        turn = await run(house, "sh over.sh", "sh move.sh 2>&1", level=level)
        assert turn.end["type"] == "done", turn.end
        assert [said.count("tried") for said in turn.results()] == [1, 1]
        for name in ASIDE:
            assert (house.vault / f"aside{name}").exists() is not held, name
        place = house.vault if held else house.vault / "aside.git"
        for name in HELD:
            kept = place / name.removeprefix(".git/") if not held else house.vault / name
            kept = kept if kept.exists() else house.vault / name
            assert (kept.read_text() == "spoilt\n") is not held, name


async def test_control_what_such_a_folder_hides_would_be_read_in_the_next_turn() -> None:
    """At `vault` nothing else keeps it: the name of the folder is what denies the file in it."""

    def fill(vault: Path) -> None:
        of_all_kinds(vault)
        (vault / ".docker").rename(vault / "aside")
        (vault / "look.sh").write_text("cat aside/config.json; echo searched")

    async with a_house(fill=fill) as house:
        turn = await run(house, "sh look.sh")
        assert CANARY in turn.results()[0]


def linked(vault: Path) -> None:
    """Settings that a person keeps elsewhere in the vault, as dotfiles are."""
    place = vault / "dot" / "claude"
    place.mkdir(parents=True)
    (place / ".credentials.json").write_text(f"{CANARY}-1\n")
    (place / "commands").mkdir()
    (place / "commands" / "go.md").write_text("as it was\n")
    (place / "note.md").write_text("plain\n")
    (vault / ".claude").symlink_to("dot/claude")
    (vault / "look.sh").write_text(
        "cd dot/claude; grep -ahs CANARY .cred*; cat note.md; echo x > commands/go.md;"
        " mv ../../dot ../../d; echo searched\n"
    )


@pytest.mark.parametrize("level", [TrustLevel.VAULT, TrustLevel.FULL])
async def test_what_a_link_makes_a_steering_folder_is_held_as_one(level: TrustLevel) -> None:
    """The control is `full`."""
    held = level is TrustLevel.VAULT
    async with a_house(fill=linked) as house:
        turn = await run(house, "sh look.sh 2>&1", level=level)
        assert "searched" in turn.results()[0]
        assert "plain" in turn.results()[0]
        assert (CANARY in repr(turn.events)) is not held
        assert (house.vault / "dot").exists() is held
        if held:
            assert (house.vault / "dot/claude/commands/go.md").read_text() == "as it was\n"


def save_the_login(vault: Path) -> None:
    (vault / "new").write_text(f"{CANARY}-2\n")
    (vault / "new").replace(vault / "dot" / "claude" / ".credentials.json")


def add_settings(vault: Path) -> None:
    (vault / "dot" / "claude" / "settings.json").write_text("{}")


def lead_it_elsewhere(vault: Path) -> None:
    (vault / "other").mkdir()
    (vault / "next").symlink_to("other")
    (vault / "next").replace(vault / ".claude")


@pytest.mark.parametrize("change", [save_the_login, add_settings, lead_it_elsewhere])
async def test_what_changes_behind_such_a_link_ends_the_turn(
    change: Callable[[Path], None],
) -> None:
    async with a_house(fill=linked) as house:
        turn = await asked(house, "sh look.sh")
        await asyncio.to_thread(change, house.vault)
        await turn.go_on()
        assert turn.end["type"] == "error", turn.end
        assert turn.end["code"] == "vault_unavailable"


async def test_control_plain_files_behind_such_a_link_may_change() -> None:
    async with a_house(fill=linked) as house:
        turn = await asked(house, "cat dot/claude/note.md")
        (house.vault / "new").write_text("changed\n")
        (house.vault / "new").replace(house.vault / "dot" / "claude" / "note.md")
        (house.vault / "dot" / "claude" / "more.md").write_text("more\n")
        (house.vault / "latest").symlink_to("dot")
        await turn.house.parts.approvals.answer(turn.end["id"], "granted")
        await turn.go_on()
        assert turn.end["type"] == "done", turn.end
        assert turn.results() == ["changed"]
