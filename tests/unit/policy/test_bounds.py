"""The bounds of an agent's file take away from what its session may do, and never add to it."""

from pathlib import Path
from typing import Any

import pytest

from supervisor.gate.facts import fetch_facts
from supervisor.policy.call import Allow, Ask, Deny, Verdict
from supervisor.policy.decide import decide
from supervisor.policy.permissions import Bounds, Grant, GrantKind, GrantScope, Permissions
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import call, make_vault, shipped_policy

FULL, VAULT, SANDBOXED = TrustLevel.FULL, TrustLevel.VAULT, TrustLevel.SANDBOXED


async def judged(
    base: Path, bounds: Bounds | None, tool: str, level: TrustLevel = VAULT, **more: Any
) -> Verdict:
    grants = more.pop("grants", ())
    base.mkdir(exist_ok=True)
    vault = make_vault(base)
    permissions = Permissions(trust_mode=True, bash=True, grants=grants, bounds=bounds)
    given = {
        key: value.replace("VAULT", str(vault)) if isinstance(value, str) else value
        for key, value in more.items()
    }
    policy = shipped_policy()
    made = call(tool, level, str(vault), **given)
    facts = await fetch_facts(made, policy, str(vault))
    return decide(made, facts, policy, permissions)


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_a_tool_that_the_file_does_not_list_is_refused_at_every_level(
    tmp_path: Path, level: TrustLevel
) -> None:
    bounds = Bounds("Writer", tools=("Read", "mcp__notes__*"))
    read = {"file_path": "VAULT/notes/a.md"}
    assert isinstance(await judged(tmp_path / "1", bounds, "Read", level, **read), Allow)
    refused = await judged(tmp_path / "2", bounds, "Bash", level, command="ls")
    assert isinstance(refused, Deny)
    assert refused.rule == "agent-bounds"
    assert "Writer" in refused.reason


async def test_all_tools_of_a_server_are_one_entry(tmp_path: Path) -> None:
    bounds = Bounds("Writer", tools=("mcp__notes__*",))
    assert isinstance(await judged(tmp_path / "1", bounds, "mcp__notes__get"), Allow)
    assert isinstance(await judged(tmp_path / "2", bounds, "mcp__mail__send"), Deny)


@pytest.mark.parametrize("level", [FULL, VAULT])
async def test_a_write_beyond_the_globs_asks_in_trust_mode_too(
    tmp_path: Path, level: TrustLevel
) -> None:
    bounds = Bounds("Writer", write=("notes/*",))
    inside = {"file_path": "VAULT/notes/new.md", "content": "x"}
    beyond = {"file_path": "VAULT/docs/new.md", "content": "x"}
    assert isinstance(await judged(tmp_path / "1", bounds, "Write", level, **inside), Allow)
    asked = await judged(tmp_path / "2", bounds, "Write", level, **beyond)
    assert isinstance(asked, Ask)
    assert asked.rule == "agent-bounds"
    assert isinstance(await judged(tmp_path / "3", None, "Write", level, **beyond), Allow)


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("cat notes/a.md", True),
        ("cp notes/a.md notes/b.md", True),
        ("echo x > notes/new.md", True),
        ("echo x > docs/new.md", False),
        ("cp notes/a.md docs/b.md", False),
        ("rm docs/a.md", False),
        ("sed -i s/a/b/ docs/a.md", False),
        ("notes/unknown-program", False),
        ("some-unheard-of-tool", False),
        ("python3 notes/a.py", False),
        ("make", False),
        ("git log --oneline", False),  # git runs what its configuration names
        ("grep -rn x notes", True),
        ('eval "$X"', False),
        ("echo x > /tmp/elsewhere", False),
    ],
)
async def test_no_command_leads_around_the_bounds_of_writing(
    tmp_path: Path, command: str, allowed: bool
) -> None:
    bounds = Bounds("Writer", write=("notes/**/*",))
    verdict = await judged(tmp_path, bounds, "Bash", FULL, command=command)
    assert isinstance(verdict, Allow) is allowed, verdict


@pytest.mark.parametrize(
    ("bash", "command", "allowed"),
    [
        (("git log",), "git log --oneline", True),
        (("git log",), "git push", False),
        (("git log",), "git log && git push", False),
        (("git log",), "git log | sh", False),
        (False, "git log", False),
        (True, "git push", True),
    ],
)
async def test_commands_beyond_the_prefixes_ask(
    tmp_path: Path, bash: tuple[str, ...] | bool, command: str, allowed: bool
) -> None:
    bounds = Bounds("Writer", bash=bash)
    verdict = await judged(tmp_path, bounds, "Bash", FULL, command=command)
    assert isinstance(verdict, Allow) is allowed, verdict


async def test_what_a_person_granted_beyond_the_bounds_counts(tmp_path: Path) -> None:
    bounds = Bounds("Writer", write=("notes/*",))
    grant = Grant("g", GrantScope.SESSION, GrantKind.WRITE, "docs/*", VAULT)
    beyond = {"file_path": "VAULT/docs/new.md", "content": "x"}
    assert isinstance(
        await judged(tmp_path, bounds, "Write", VAULT, grants=(grant,), **beyond), Allow
    )


async def test_bounds_open_nothing(tmp_path: Path) -> None:
    wide = Bounds("Writer", tools=None, read=("**/*",), write=("**/*",), bash=True)
    denied = await judged(tmp_path / "1", wide, "Read", file_path="VAULT/.env")
    assert isinstance(denied, Deny)
    outside = await judged(tmp_path / "2", wide, "Read", file_path="/etc/hostname")
    assert isinstance(outside, Deny)
    assert isinstance(await judged(tmp_path / "3", wide, "Bash", FULL, command="sudo id"), Deny)


async def test_a_sandbox_is_bound_as_well(tmp_path: Path) -> None:
    bounds = Bounds("Writer", read=("notes/*",))
    verdict = await judged(tmp_path, bounds, "Read", SANDBOXED, file_path="VAULT/docs/a.md")
    assert not isinstance(verdict, Allow)


def test_the_shipped_policy_has_no_bounds() -> None:
    assert all(each.bounds is None for each in shipped_policy().defaults.values())
