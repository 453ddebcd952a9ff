"""Invariant 4: what is denied can't be read out of a repository's history either."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor.gate.policy_files import PolicySource
from supervisor.policy.call import Allow, Deny
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import a_house, bash, prompt, step
from tests.worlds.policy_world import SHIPPED, shipped_policy, verdict_on

CANARY = "CANARY-committed-once"
READ = (
    # The name is found as it runs: what reading a command tells is the gate's matter.
    "cd /vault; e=$(ls -A | awk /nv/);"
    ' show() { git -c \'safe.directory=*\' "$@" show "HEAD:$e" 2>&1; };'
    " show; show -C web; show -C packed; show --git-dir=bare.git; show --git-dir=plainly-named;"
    " show --git-dir=copied; git -c 'safe.directory=*' -C web log -p 2>&1;"
    " for f in $(find /vault -path '*objects*' -type f); do"
    "   python3 -c 'import sys, zlib; print(zlib.decompress(open(sys.argv[1], \"rb\").read()))' $f"
    "   2>/dev/null; done;"
    " cat /vault/notes/today.md; echo searched"
)


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


def repository(folder: Path) -> None:
    """A repository in whose history a secret stands that is denied by its name."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "--quiet")
    (folder / ".env").write_text(f"PASSWORD={CANARY}\n")
    git(folder, "add", "--force", ".env")
    git(folder, "commit", "--quiet", "-m", "a secret too much")


def fill(vault: Path) -> None:
    for name in ("", "web", "packed"):
        repository(vault / name)
    git(vault / "packed", "gc", "--quiet")
    git(vault, "clone", "--quiet", "--bare", "--no-hardlinks", "web", "bare.git")
    git(vault, "clone", "--quiet", "--bare", "--no-hardlinks", "web", "plainly-named")
    shutil.copytree(vault / "web" / ".git", vault / "copied")


def without_the_rule(folder: Path) -> Path:
    shutil.copy(SHIPPED / "default.yaml", folder)
    (folder / "site.yaml").write_text(
        "version: 1\ndeny:\n  - {id: git-history, reason: the history was looked through}\n"
    )
    return folder


@pytest.mark.engine
async def test_no_repository_in_the_vault_gives_a_denied_file_out_of_its_history() -> None:
    async with a_house(fill=fill) as house:
        turn = await house.send(prompt(bash(READ), step("ok")))
    (found,) = turn.results()
    assert "searched" in found
    assert "oat milk" in found
    assert CANARY not in found


@pytest.mark.engine
async def test_control_without_the_rule_the_same_commands_show_it(tmp_path: Path) -> None:
    async with a_house(fill=fill, policies=without_the_rule(tmp_path)) as house:
        turn = await house.send(prompt(bash(READ), step("ok")))
    (found,) = turn.results()
    assert found.count(CANARY) >= 8, found  # six repositories, a log, and loose objects


def _loose(vault: Path) -> str:
    return next(str(each) for each in (vault / ".git/objects").rglob("*") if each.is_file())


def _pack(vault: Path) -> str:
    return str(next((vault / "packed/.git/objects/pack").glob("*.pack")))


@pytest.mark.parametrize("level", [TrustLevel.FULL, TrustLevel.VAULT])
@pytest.mark.parametrize("place", [_loose, _pack])
async def test_no_file_tool_reads_a_store_of_history(
    level: TrustLevel, place: Callable[[Path], str], tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    fill(vault)
    policies = tmp_path / "policies"
    policies.mkdir()
    named = place(vault)
    open_history = PolicySource(without_the_rule(policies)).current
    for tool, field in (("Read", "file_path"), ("Grep", "path")):
        refused = await verdict_on(tool, level, vault, shipped_policy(), **{field: named})
        assert isinstance(refused, Deny)
        assert refused.rule == "git-history"
        control = await verdict_on(tool, level, vault, open_history, **{field: named})
        assert isinstance(control, Allow)


async def test_a_command_that_asks_git_stays_allowed_at_full(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    fill(vault)
    for command in ("git log --oneline", "git status", "git diff HEAD~1", "git commit -m x"):
        verdict = await verdict_on(
            "Bash", TrustLevel.FULL, vault, shipped_policy(), command=command
        )
        assert isinstance(verdict, Allow), command
