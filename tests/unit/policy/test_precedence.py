"""The order of decision, as a table: what stands higher beats all below it."""

from typing import Any

import pytest

from supervisor.policy.call import Allow, Ask, Deny, Facts, PathFact, ToolCall, Use, Verdict
from supervisor.policy.compiled import Category
from supervisor.policy.decide import decide
from supervisor.policy.tool_rules import Answer
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import shipped_policy

POLICY = shipped_policy()
FULL, VAULT, SANDBOXED = TrustLevel.FULL, TrustLevel.VAULT, TrustLevel.SANDBOXED


def judge(tool: str, level: TrustLevel, name: str, *, inside: bool = True, **more: Any) -> Verdict:
    use = {"Read": Use.READ, "Write": Use.WRITE, "Grep": Use.SEARCH}[tool]
    key = "path" if tool == "Grep" else "file_path"
    call = ToolCall(tool, {key: name}, "t", level, "/v", "/v")
    fact = PathFact(named=name, inside=inside, names=(name,), use=use, **more)
    return decide(call, Facts((fact,)), POLICY)


@pytest.mark.parametrize(
    ("tool", "level", "name", "inside", "expected"),
    [
        # self-protection, at every level
        ("Write", FULL, ".mcp.json", True, "agent-steering"),
        ("Write", FULL, "Chat/sessions.db", True, "own-databases"),
        ("Write", FULL, "Chat/sessions.db-wal", True, "own-databases"),
        ("Write", VAULT, "policies/new.yaml", True, "own-policy"),
        ("Write", SANDBOXED, "sub/.claude/settings.local.json", True, "agent-steering"),
        ("Write", FULL, ".claude/projects/x/y.jsonl", True, "transcripts"),
        ("Write", FULL, "repo/.git/hooks/pre-commit", True, "git-steering"),
        ("Write", FULL, "repo/.hg/hgrc", True, "version-control-steering"),
        ("Write", VAULT, ".jj/repo/config.toml", True, "version-control-steering"),
        # … which beats the deny list, and confinement
        ("Write", VAULT, ".claude/hooks/.env", True, "agent-steering"),
        ("Write", VAULT, ".mcp.json", False, "agent-steering"),
        # the deny list beats confinement
        ("Read", VAULT, "/root/.ssh/id_rsa", False, "private-keys|key-stores"),
        ("Read", FULL, "/root/.ssh/config", False, "key-stores"),
        # confinement, at vault alone
        ("Read", VAULT, "/etc/hosts", False, "vault-confinement"),
        ("Write", VAULT, "/tmp/x", False, "vault-confinement"),
        # hidden below full
        ("Read", VAULT, ".claude/projects/x/y.jsonl", True, "hidden-records"),
        ("Read", SANDBOXED, "Chat/sessions.db", True, "hidden-records"),
        # of a vault that lies in this one as well
        ("Read", SANDBOXED, "work/Chat/sessions.db", True, "hidden-records"),
        ("Read", VAULT, "a/b/Chat/sessions.db-wal", True, "hidden-records"),
        ("Write", VAULT, "work/Chat/sessions.db", True, "own-databases"),
        ("Write", FULL, "/home/ada/other/Chat/sessions.db", False, "own-databases"),
    ],
)
def test_these_are_denied_by_the_rule_that_stands_highest(
    tool: str, level: TrustLevel, name: str, inside: bool, expected: str
) -> None:
    verdict = judge(tool, level, name, inside=inside)
    assert isinstance(verdict, Deny)
    assert verdict.rule in expected.split("|")


@pytest.mark.parametrize(
    ("tool", "level", "name", "inside"),
    [
        ("Read", FULL, "/etc/hosts", False),
        ("Write", FULL, "/tmp/x", False),
        ("Read", VAULT, "policies/default.yaml", True),
        ("Read", VAULT, ".claude/CLAUDE.md", True),
        ("Write", VAULT, ".claude/CLAUDE.md", True),
        ("Write", VAULT, "CLAUDE.md", True),
        ("Read", FULL, ".claude/projects/x/y.jsonl", True),
        ("Read", SANDBOXED, "notes/a.md", True),
        ("Read", VAULT, ".env.example", True),
    ],
)
def test_these_are_allowed(tool: str, level: TrustLevel, name: str, inside: bool) -> None:
    assert isinstance(judge(tool, level, name, inside=inside), Allow)


def test_what_a_search_would_read_beside_the_answer_is_left_to_a_person() -> None:
    assert isinstance(judge("Grep", VAULT, ".", is_directory=True, holds_denied=True), Ask)
    assert isinstance(judge("Grep", FULL, ".", is_directory=True, holds_denied=True), Ask)
    assert isinstance(judge("Grep", VAULT, ".", is_directory=True), Allow)


def test_a_path_that_can_mean_no_file_is_denied_at_every_level() -> None:
    for level in TrustLevel:
        verdict = judge("Read", level, "x", problem="a path can't hold a NUL character")
        assert isinstance(verdict, Deny)


def test_the_category_decides_what_nothing_above_has_denied() -> None:
    shapes = {Answer.ALLOW: Allow, Answer.ASK: Ask, Answer.DENY: Deny}
    tools = {
        Category.WEB: ("WebSearch", {"query": "x"}),
        Category.AGENT: ("Task", {"prompt": "find .env"}),
        Category.MCP: ("mcp__notes__list", {}),
        Category.OTHER: ("NeverHeardOf", {}),
        Category.SHELL: ("KillShell", {"shell_id": "1"}),
    }
    for level in TrustLevel:
        for category, (tool, given) in tools.items():
            verdict = decide(ToolCall(tool, given, "t", level, "/v", "/v"), Facts(), POLICY)
            assert type(verdict) is shapes[POLICY.levels[level][category]]
            assert verdict.rule == f"{level.value}-{category.value}"


def test_facts_of_another_call_are_an_internal_error_and_so_a_denial() -> None:
    call = ToolCall("Read", {"file_path": "a"}, "t", FULL, "/v", "/v")
    verdict = decide(call, Facts(), POLICY)
    assert isinstance(verdict, Deny)
    assert verdict.rule == "internal-error"
    assert verdict.cause is not None


def test_a_denial_tells_the_agent_what_it_can_do_and_is_safe_to_print() -> None:
    verdict = judge("Read", VAULT, "a\x1b[2J/.env")
    assert isinstance(verdict, Deny)
    assert verdict.reason.isprintable()
    assert "ask the person" in verdict.reason
