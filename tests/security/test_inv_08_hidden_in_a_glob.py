"""Invariant 8: no glob hides a denied name, and no agent is put elsewhere without a person."""

from pathlib import Path

import pytest

from supervisor.policy.call import Allow, Ask, Deny, Verdict
from supervisor.policy.compile import compile_policy
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.schema import read_document
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import SHIPPED, make_vault, shipped_policy, verdict_on

BRACES = ["{.env}", ".e{n}v", "{{.env}}", "{.e{n}v}", "{x,{.env}}", "**/{.env}", "{.env,}"]
ODD = ["\\.env", ".e\\nv", "[.]en[v]", ".[[:alpha:]]nv", "{.env", ".e{n}v}", "{" * 600 + ".env"]
BOMB = "{a,b}" * 60 + "{.env}"


def unguarded() -> CompiledPolicy:
    """The shipped policy without its deny list."""
    ids = [rule.id for rule in shipped_policy().rules]
    off = "".join(f"  - {{id: {each}, reason: switched off}}\n" for each in ids)
    return compile_policy(
        [
            read_document("default.yaml", (SHIPPED / "default.yaml").read_bytes()),
            read_document("site.yaml", ("version: 1\ndeny:\n" + off).encode()),
        ]
    )


async def search(glob: str, vault: Path, policy: CompiledPolicy) -> Verdict:
    return await verdict_on("Grep", TrustLevel.VAULT, vault, policy, pattern="KEY", glob=glob)


@pytest.mark.parametrize("glob", BRACES)
async def test_a_search_by_braces_for_a_denied_file_is_denied(glob: str, tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    assert isinstance(await search(glob, vault, shipped_policy()), Deny)
    names = await verdict_on("Glob", TrustLevel.VAULT, vault, shipped_policy(), pattern=glob)
    assert isinstance(names, Deny)
    control = await search(glob, vault, unguarded())
    assert isinstance(control, Allow)


@pytest.mark.parametrize("glob", [*ODD, BOMB])
async def test_a_glob_that_can_not_be_understood_never_passes_unseen(
    glob: str, tmp_path: Path
) -> None:
    vault = make_vault(tmp_path)
    assert isinstance(await search(glob, vault, shipped_policy()), Ask | Deny)


@pytest.mark.parametrize("glob", ["!{.env", "!\\.env", "!.e[[:alpha:]]v", "!" + BOMB])
async def test_an_exclusion_that_can_not_be_understood_excludes_nothing(
    glob: str, tmp_path: Path
) -> None:
    vault = make_vault(tmp_path)
    assert isinstance(await search(glob, vault, shipped_policy()), Ask | Deny)


async def test_control_a_plain_glob_for_other_files_passes(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    for glob in ("*.py", "src/{app,lib}.py", "{*.py}", "[a-z]*.py"):
        assert isinstance(await search(glob, vault, shipped_policy()), Allow), glob


@pytest.mark.parametrize(
    "command", ["cat .e{n,}v", "cat {.env,x}", "cat .e{n..n}v", "cat .e{m..o}v", "cat .e[mn]v"]
)
async def test_a_command_that_hides_a_denied_name_in_a_pattern_is_denied(
    command: str, tmp_path: Path
) -> None:
    vault = make_vault(tmp_path)
    refused = await verdict_on("Bash", TrustLevel.FULL, vault, shipped_policy(), command=command)
    assert isinstance(refused, Deny)
    control = await verdict_on("Bash", TrustLevel.FULL, vault, unguarded(), command=command)
    assert isinstance(control, Allow)


ELSEWHERE = [
    {"isolation": "worktree"},
    {"isolation": "remote"},
    {"run_in_background": True},
    {"CWD": "/etc"},
    {"workingDirectory": "/etc"},
    {"remote": {"host": "elsewhere"}},
    {"permission_mode": "bypassPermissions"},
    {"dangerouslyDisableSandbox": True},
]


@pytest.mark.parametrize("tool", ["Agent", "Task", "SendMessage"])
@pytest.mark.parametrize("field", ELSEWHERE, ids=str)
async def test_an_agent_is_put_elsewhere_only_by_a_person(
    tool: str, field: dict[str, object], tmp_path: Path
) -> None:
    vault = make_vault(tmp_path)
    for level in (TrustLevel.VAULT, TrustLevel.SANDBOXED):
        verdict = await verdict_on(tool, level, vault, shipped_policy(), prompt="look", **field)
        assert isinstance(verdict, Ask), level
    at_full = await verdict_on(tool, TrustLevel.FULL, vault, shipped_policy(), **field)
    assert isinstance(at_full, Allow)


@pytest.mark.parametrize(
    "field",
    [{}, {"run_in_background": False}, {"isolation": None}, {"subagent_type": "x"}],
    ids=str,
)
async def test_control_an_agent_in_its_place_needs_nobody(
    field: dict[str, object], tmp_path: Path
) -> None:
    vault = make_vault(tmp_path)
    for level in TrustLevel:
        verdict = await verdict_on("Agent", level, vault, shipped_policy(), prompt="look", **field)
        assert isinstance(verdict, Allow), level
