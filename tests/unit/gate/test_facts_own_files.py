"""The supervisor's own files stay out of reach under other names: hard links, wherever they lie."""

import os
from pathlib import Path

import pytest

from supervisor.gate.policy_files import PolicySource
from supervisor.policy.call import Allow, Ask, Deny, verdict_word
from supervisor.policy.compiled import CompiledPolicy
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import SHIPPED, make_vault, verdict_on

FULL, VAULT = TrustLevel.FULL, TrustLevel.VAULT


@pytest.fixture(name="vault")
def vault_fixture(tmp_path: Path) -> Path:
    return make_vault(tmp_path)


@pytest.fixture(name="policy")
def policy_fixture(tmp_path: Path, vault: Path) -> CompiledPolicy:
    """The policy of a supervisor whose token, seal and policy file have names in the vault."""
    data, policies = tmp_path / "data", tmp_path / "policies"
    (data / "witness").mkdir(parents=True)
    policies.mkdir()
    (policies / "default.yaml").write_bytes((SHIPPED / "default.yaml").read_bytes())
    (tmp_path / "site.yaml").write_text("version: 1\n")
    (policies / "site.yaml").symlink_to(tmp_path / "site.yaml")
    (vault / "linked").mkdir()
    (vault / "ideas").mkdir()
    for own, name in (
        (data / "token", "ideas/idea.md"),
        (data / "witness" / "seal", "seal.md"),
        (policies / "default.yaml", "linked/rules.md"),
        (tmp_path / "site.yaml", "linked/site.md"),
    ):
        if not own.exists():
            own.write_text("FAKE-not-a-token\n")
        os.link(own, vault / name)
    os.link(data / "token", tmp_path / "outside" / "idea.md")
    os.link(vault / "docs" / "guide.md", vault / "docs" / "other.md")
    return PolicySource(policies, own=(data,)).current


@pytest.mark.parametrize("level", [FULL, VAULT])
@pytest.mark.parametrize("name", ["ideas/idea.md", "seal.md"])
async def test_neither_a_tool_nor_a_command_reads_or_writes_one(
    vault: Path, policy: CompiledPolicy, level: TrustLevel, name: str
) -> None:
    async def said(tool: str, **given: str) -> str:
        return verdict_word(await verdict_on(tool, level, vault, policy, **given))

    assert await said("Read", file_path=name) == "deny"
    assert await said("Write", file_path=name, content="x") == "deny"
    folder, _, last = name.rpartition("/")
    for command in (
        f"cat {name}", f"cat < {name}", f"cp {name} copy.md", f"cd ./{folder} && cat {last[:3]}*",
        f"echo x > {name}", f"ln {name} again.md && cat again.md",
    ):  # fmt: skip
        assert await said("Bash", command=command) == "deny", command


async def test_nor_does_a_search_show_one(vault: Path, policy: CompiledPolicy) -> None:
    for level in (FULL, VAULT):
        found = await verdict_on("Grep", level, vault, policy, pattern="tf_", path="ideas")
        assert isinstance(found, Ask)
    found = await verdict_on("Bash", VAULT, vault, policy, command="grep -r tf_ ideas")
    assert isinstance(found, Ask)


async def test_nor_from_outside_the_vault_at_full(vault: Path, policy: CompiledPolicy) -> None:
    outside = vault.parent / "outside" / "idea.md"
    assert isinstance(await verdict_on("Read", FULL, vault, policy, file_path=str(outside)), Deny)


@pytest.mark.parametrize("name", ["linked/rules.md", "linked/site.md"])
async def test_policy_files_are_read_under_other_names_and_not_written(
    vault: Path, policy: CompiledPolicy, name: str
) -> None:
    assert isinstance(await verdict_on("Read", FULL, vault, policy, file_path=name), Allow)
    written = await verdict_on("Write", FULL, vault, policy, file_path=name, content="x")
    assert isinstance(written, Deny)
    assert isinstance(
        await verdict_on("Bash", FULL, vault, policy, command=f"echo x > {name}"), Deny
    )


async def test_control_other_hard_links_are_as_ever(vault: Path, policy: CompiledPolicy) -> None:
    for level in (FULL, VAULT):
        for tool, given in (
            ("Read", {"file_path": "docs/other.md"}),
            ("Bash", {"command": "cat docs/other.md"}),
            ("Grep", {"pattern": "x", "path": "docs"}),
        ):
            assert isinstance(await verdict_on(tool, level, vault, policy, **given), Allow)
