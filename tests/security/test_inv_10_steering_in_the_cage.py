"""Invariant 10, held by the kernel at `vault`: what steers agents can't be written from the cage.

The gate never sees these writes: they are in a script. Granted by a person, they still fail; where
such a file isn't there yet, making it ends the turn. The control is `full`, where nothing holds.
"""

import asyncio
from pathlib import Path

import pytest

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import a_house
from tests.worlds.vault_cage import asked, fill, grant, run

STEERING = (
    "policies/site.yaml", "agents/helper.md", ".mcp.json", ".claude/commands/go.md",
    ".claude/settings.json", "work/.claude/hooks/before.sh", "work/.git/hooks/pre-commit",
    "work/.git/config", "work/.hg/hgrc", "work/.jj/repo/config.toml",
)  # fmt: skip
SPOIL = (
    "for f in {files}; do echo spoilt >> $f; echo spoilt > $f.new; mv -f $f.new $f; rm -f $f;"
    " rm -f $f.new; done; rm -rf policies agents; echo tried\n"
)


def with_steering(vault: Path) -> None:
    fill(vault)
    for name in STEERING:
        place = vault / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("as it was\n")
    # Files only in folders that are held: a new name beside a file is the second test's matter.
    held = [name for name in STEERING if name.startswith(("policies", "agents")) or "hooks" in name]
    (vault / "spoil.sh").write_text(SPOIL.format(files=" ".join(held)))
    rest = " ".join(set(STEERING) - set(held))
    (vault / "append.sh").write_text(
        f"for f in {rest}; do echo spoilt >> $f; rm -f $f; mv $f x; done; echo tried\n"
    )


async def test_nothing_that_steers_agents_can_be_written_removed_or_replaced() -> None:
    async with a_house(fill=with_steering) as house:
        turn = await run(house, "sh spoil.sh 2>&1", "sh append.sh 2>&1")
        assert [said.count("tried") for said in turn.results()] == [1, 1]
        assert "Read-only file system" in turn.results()[0]
        for name in STEERING:
            assert (house.vault / name).read_text() == "as it was\n", name


async def test_control_at_full_the_same_scripts_spoil_them() -> None:
    async with a_house(fill=with_steering) as house:
        await run(house, "sh spoil.sh 2>&1", "sh append.sh 2>&1", level=TrustLevel.FULL)
        for name in STEERING:
            place = house.vault / name
            assert not place.exists() or "spoilt" in place.read_text(), name


@pytest.mark.parametrize("name", [".mcp.json", "a/.claude/settings.json", "agents/new.md"])
async def test_making_what_steers_agents_ends_the_turn(name: str) -> None:
    def filled(vault: Path) -> None:
        fill(vault)
        made = f"mkdir -p $(dirname {name}); echo x > {name}; sleep 600\n"
        (vault / "make.sh").write_text(made)

    async with a_house(fill=filled) as house:
        turn = await grant(await asked(house, "sh make.sh"))
        assert turn.end["type"] == "error", turn.end
        assert name.split("/", maxsplit=1)[0] in turn.end["error"]


async def test_what_the_host_puts_in_the_place_of_such_a_file_ends_the_turn() -> None:
    async with a_house(fill=with_steering) as house:
        turn = await asked(house, "sh append.sh")
        saved = house.vault / "notes" / "saved"
        saved.write_text("the host's\n")
        await asyncio.to_thread(saved.replace, house.vault / ".mcp.json")
        await turn.go_on()
        assert turn.end["type"] == "error", turn.end
        assert ".mcp.json" in turn.end["error"]
        assert (house.vault / ".mcp.json").read_text() == "the host's\n"


ELSEWHERE = (".husky/pre-commit", "shared/git/aliases", "shared/git/more", "bare/own/post-update")


def with_hooks_elsewhere(vault: Path) -> None:
    """Repositories whose configuration has hooks and more of itself among the files."""
    fill(vault)
    for name in ELSEWHERE:
        place = vault / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("as it was\n")
    (vault / "shared" / "git" / "aliases").write_text('[include]\n  path = "more" ; and more\n')
    (vault / ".git").mkdir()
    (vault / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (vault / ".git" / "config").write_text(
        "[core]\n\tHooksPath = .husky # husky's\n"
        '[includeIf "gitdir:/"]\n\tpath = ../shared/git/aliases\n'
    )
    for name in ("objects", "refs"):
        (vault / "bare" / name).mkdir()
    (vault / "bare" / "HEAD").write_text("ref: refs/heads/main\n")
    (vault / "bare" / "config").write_text("[core] bare = true\n[core] hookspath = own\n")
    (vault / "spoil.sh").write_text(
        f"for f in {' '.join(ELSEWHERE)}; do echo spoilt >> $f; echo spoilt > $f.new;"
        " mv -f $f.new $f; rm -f $f $f.new; done; mv shared gone; mv .husky x; echo x > .husky/new;"
        " echo plain >> notes/today.md; echo tried\n"
    )


async def test_hooks_and_configuration_that_lie_elsewhere_are_held_as_well() -> None:
    async with a_house(fill=with_hooks_elsewhere) as house:
        before = {name: (house.vault / name).read_text() for name in ELSEWHERE}
        turn = await run(house, "sh spoil.sh 2>&1")
        assert "tried" in turn.results()[0], turn.end
        assert {name: (house.vault / name).read_text() for name in ELSEWHERE} == before
        assert not (house.vault / ".husky" / "new").exists()
        assert "plain" in (house.vault / "notes" / "today.md").read_text()  # the control


async def test_making_hooks_where_a_configuration_looks_for_them_ends_the_turn() -> None:
    def filled(vault: Path) -> None:
        with_hooks_elsewhere(vault)
        (vault / ".git" / "config").write_text("[core]\n\thooksPath = tools/hooks\n")
        made = "mkdir -p tools; echo x > tools/plain; mkdir tools/hooks; sleep 600\n"
        (vault / "make.sh").write_text(made)

    async with a_house(fill=filled) as house:
        turn = await grant(await asked(house, "sh make.sh"))
        assert turn.end["type"] == "error", turn.end
        assert turn.end["where"] == "tools/hooks"
        assert (house.vault / "tools" / "plain").exists()  # the control
