"""Invariant 8: what is on the deny list is denied by every tool, at every level, whatever else."""

from itertools import product
from pathlib import Path

import pytest

from supervisor.gate.facts import fetch_facts
from supervisor.policy.call import Allow, Deny, Verdict
from supervisor.policy.compile import compile_policy
from supervisor.policy.compiled import Category, CompiledPolicy
from supervisor.policy.decide import decide
from supervisor.policy.schema import read_document
from supervisor.policy.tool_rules import Answer
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import SHIPPED, call, make_vault, shipped_policy, verdict_on

FIELDS = {
    "Read": "file_path",
    "NotebookRead": "notebook_path",
    "LS": "path",
    "LSP": "filePath",
    "Grep": "path",
    "Glob": "pattern",
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "mcp__notes__read": "path",
    "mcp__any__thing": "anything",
    "NeverHeardOf": "relative_path",
    "WebFetch": "url",
}


def everything_allowed(*, deny: bool) -> CompiledPolicy:
    """The shipped policy with every category allowed at every level; without its deny list, too."""
    answers = ", ".join(f"{category.value}: allow" for category in Category)
    levels = ", ".join(f"{level.value}: {{{answers}}}" for level in TrustLevel)
    off = "".join(
        f"  - {{id: {rule.id}, reason: switched off}}\n" for rule in shipped_policy().rules
    )
    site = f"version: 1\ntools: {{levels: {{{levels}}}}}\n" + ("" if deny else f"deny:\n{off}")
    return compile_policy(
        [
            read_document("default.yaml", (SHIPPED / "default.yaml").read_bytes()),
            read_document("site.yaml", site.encode()),
        ]
    )


GUARDED = everything_allowed(deny=True)
UNGUARDED = everything_allowed(deny=False)
SPELLINGS = [
    ".env",
    ".ENV",
    "config/../.env",
    "./.env",
    "keys/id_ed25519",
    ".env\u200b",
    "\uff0eenv",
]


async def verdict(
    tool: str, level: TrustLevel, vault: Path, name: str, policy: CompiledPolicy
) -> Verdict:
    text = f"file://{vault}/{name}" if tool == "WebFetch" else name
    made = call(tool, level, str(vault), **{FIELDS[tool]: text})
    return decide(made, await fetch_facts(made, policy, str(vault)), policy)


@pytest.mark.parametrize("tool", FIELDS)
async def test_a_denied_file_is_denied_though_its_category_is_allowed(
    tool: str, tmp_path: Path
) -> None:
    vault = make_vault(tmp_path)
    for level, name in product(TrustLevel, SPELLINGS):
        assert set(GUARDED.levels[level].values()) == {Answer.ALLOW}
        assert isinstance(await verdict(tool, level, vault, name, GUARDED), Deny), (level, name)


@pytest.mark.parametrize("tool", FIELDS)
async def test_the_same_call_goes_through_once_the_deny_list_is_off(
    tool: str, tmp_path: Path
) -> None:
    # The positive control: nothing but the deny list stands in the way above.
    vault = make_vault(tmp_path)
    for level in TrustLevel:
        assert isinstance(await verdict(tool, level, vault, ".env", UNGUARDED), Allow), level


@pytest.mark.parametrize("level", [TrustLevel.FULL, TrustLevel.VAULT])
@pytest.mark.parametrize(
    "name", ["link-to-env", "chain", "notes/innocent.md", "linked-notes/../.env"]
)
async def test_a_link_to_a_denied_file_is_that_file(
    level: TrustLevel, name: str, tmp_path: Path
) -> None:
    vault = make_vault(tmp_path)
    for tool, field in (("Read", "file_path"), ("Edit", "file_path"), ("Grep", "path")):
        refused = await verdict_on(tool, level, vault, GUARDED, **{field: name})
        assert isinstance(refused, Deny), tool
        control = await verdict_on(tool, level, vault, UNGUARDED, **{field: name})
        assert isinstance(control, Allow), tool


@pytest.mark.parametrize("command", ["cat .env", "cat link-to-env", "cat notes/innocent.md"])
async def test_a_command_that_names_a_denied_file_is_denied(command: str, tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    for level in (TrustLevel.FULL, TrustLevel.VAULT):
        refused = await verdict_on("Bash", level, vault, GUARDED, command=command)
        assert isinstance(refused, Deny)
        control = await verdict_on("Bash", level, vault, UNGUARDED, command=command)
        assert isinstance(control, Allow)


@pytest.mark.parametrize("level", TrustLevel)
@pytest.mark.parametrize(
    "name", ["Chat/sessions.db", "policies/x.yaml", ".mcp.json", ".claude/settings.json"]
)
async def test_with_the_deny_list_off_self_protection_still_holds(
    level: TrustLevel, name: str, tmp_path: Path
) -> None:
    vault = make_vault(tmp_path)
    refused = await verdict_on("Write", level, vault, UNGUARDED, file_path=name, content="x")
    assert isinstance(refused, Deny)
    plain = await verdict_on("Write", level, vault, UNGUARDED, file_path="notes/b.md", content="x")
    assert isinstance(plain, Allow)
