"""The shipped files: their rules do what their own examples say, and no tool is forgotten."""

from dataclasses import replace

import pytest

from supervisor.errors import ConfigurationError
from supervisor.policy.compile import compile_policy
from supervisor.policy.compiled import Category, Examples
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.policy.examples import failing_examples
from supervisor.policy.schema import read_document
from supervisor.policy.tool_rules import Answer
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import SHIPPED, shipped_policy

POLICY = shipped_policy()


def test_every_rule_denies_its_examples_and_no_example_to_allow_is_denied() -> None:
    assert failing_examples(POLICY) == ()


def test_an_example_that_does_not_hold_is_found() -> None:
    wrong = Examples("env-files", deny=("notes.md",), allow=(".env",))
    assert len(failing_examples(replace(POLICY, examples=(wrong,)))) == 2


def test_every_rule_has_examples_of_both_kinds() -> None:
    assert all(each.deny and each.allow for each in POLICY.examples)
    by_name = [each for each in POLICY.dangerous_examples if each.rule != "raw-device-by-kind"]
    assert all(each.deny and each.allow for each in by_name)


@pytest.mark.parametrize("rule", POLICY.rules, ids=lambda rule: rule.id)
def test_no_rule_is_idle(rule: DenyRule) -> None:
    examples = next(each for each in POLICY.examples if each.rule == rule.id)
    alone = DenyList((rule,))
    assert all(alone.match(path) for path in examples.deny)


@pytest.mark.parametrize(
    "path",
    [
        # what an earlier system's list missed
        ".ENV", ".envrc", "secrets.json", "credentials.json", "x/secrets.yaml", ".netrc", ".npmrc",
        ".pgpass", ".git/config", ".docker/config.json", "kubeconfig", "service-account.json",
        "id_ecdsa", "server.pem.bak", "a/b/.env", ".env/x", ".env.", ".env ", "\uff0eenv",
        ".e\u200bnv", ".env\u0000",
    ],
)  # fmt: skip
def test_a_name_that_was_missed_elsewhere_is_denied(path: str) -> None:
    assert POLICY.denied.match(path) is not None


@pytest.mark.parametrize(
    "path",
    [
        # what it denied for nothing
        "my_tokenizer.py", "docs/reset_token_flow.md", "id_ed25519.pub", "design_tokens.md",
        "environment.md", "env.d.ts", "src/env.ts", ".gitignore", "package.json", "monkey.txt",
    ],
)  # fmt: skip
def test_a_name_that_was_denied_for_nothing_elsewhere_is_free(path: str) -> None:
    assert POLICY.denied.match(path) is None


@pytest.mark.parametrize(
    ("tool", "category"),
    [
        ("Read", Category.READ), ("NotebookRead", Category.READ), ("Glob", Category.SEARCH),
        ("MultiEdit", Category.WRITE), ("NotebookEdit", Category.WRITE), ("Bash", Category.SHELL),
        ("Monitor", Category.SHELL), ("PowerShell", Category.SHELL), ("WebFetch", Category.WEB),
        ("Task", Category.AGENT), ("Agent", Category.AGENT), ("AskUserQuestion", Category.QUESTION),
        ("mcp__x__y", Category.MCP), ("CronCreate", Category.OTHER), ("read", Category.OTHER),
        ("NewTool", Category.OTHER), ("", Category.OTHER),
    ],
)  # fmt: skip
def test_tools_have_their_category_and_unknown_ones_are_other(
    tool: str, category: Category
) -> None:
    assert POLICY.category(tool) is category


def test_the_levels_say_what_the_design_says() -> None:
    vault, sandboxed = POLICY.levels[TrustLevel.VAULT], POLICY.levels[TrustLevel.SANDBOXED]
    assert set(POLICY.levels[TrustLevel.FULL].values()) == {Answer.ALLOW}
    assert vault[Category.SHELL] is Answer.ALLOW
    assert sandboxed[Category.WEB] is Answer.DENY
    assert not POLICY.gateway.server_tools[TrustLevel.SANDBOXED]


def test_a_stricter_level_never_answers_more_freely_but_where_the_cage_holds() -> None:
    order = {Answer.ALLOW: 0, Answer.ASK: 1, Answer.DENY: 2}
    held_by_the_cage = {Category.SHELL}
    for category in set(Category) - held_by_the_cage:
        answers = [order[POLICY.levels[level][category]] for level in TrustLevel]
        assert answers == sorted(answers), category


def test_the_hash_follows_the_content_and_nothing_else() -> None:
    text = (SHIPPED / "default.yaml").read_bytes()
    one = compile_policy([read_document("a.yaml", text)])
    commented = compile_policy([read_document("b.yaml", b"# a comment\n" + text)])
    other = compile_policy([read_document("a.yaml", text.replace(b"web: deny", b"web: ask"))])
    assert one.hash == commented.hash != other.hash


def test_a_later_file_overrides_by_rule_id_tool_level_and_limit_and_leaves_the_rest() -> None:
    site = b"""
version: 1
deny:
  - id: env-files
    reason: switched off here
  - id: site-secrets
    reason: ours alone
    names: [payroll.xlsx]
tools:
  categories: {shell: [WebFetch]}
  levels: {full: {web: ask}}
budgets: {turn: {tokens: null, cost_usd: 0.5}}
"""
    base = read_document("default.yaml", (SHIPPED / "default.yaml").read_bytes())
    policy = compile_policy([base, read_document("site.yaml", site)])
    assert policy.denied.match(".env") is None
    assert policy.denied.match("x/payroll.xlsx") is not None
    assert policy.denied.match("id_rsa") is not None
    assert policy.category("WebFetch") is Category.SHELL
    assert policy.levels[TrustLevel.FULL][Category.WEB] is Answer.ASK
    assert policy.levels[TrustLevel.FULL][Category.READ] is Answer.ALLOW
    assert (policy.gateway.turn.tokens, policy.gateway.turn.cost_usd) == (None, 0.5)
    assert policy.gateway.session.tokens is not None


BUILT_IN = sorted(
    {rule.id for rule in (*POLICY.protected.rules, *POLICY.hidden.rules)}
    - {rule.id for rule in POLICY.rules}
)


def test_no_file_can_remove_self_protection() -> None:
    base = read_document("default.yaml", (SHIPPED / "default.yaml").read_bytes())
    entries = "".join(f"  - {{id: {each}, reason: mine, names: [x]}}\n" for each in BUILT_IN)
    site = read_document("site.yaml", f"version: 1\ndeny:\n{entries}".encode())
    policy = compile_policy([base, site])
    assert policy.protected == compile_policy([base]).protected
    assert policy.protected.match("Chat/sessions.db") is not None
    assert policy.hidden.match(".claude/projects/x.jsonl") is not None


@pytest.mark.parametrize("name", BUILT_IN)
def test_switching_off_what_is_built_in_is_an_error_that_says_so(name: str) -> None:
    base = read_document("default.yaml", (SHIPPED / "default.yaml").read_bytes())
    text = f"version: 1\ndeny:\n  - {{id: {name}, reason: switched off}}\n"
    with pytest.raises(ConfigurationError, match="built in") as found:
        compile_policy([base, read_document("site.yaml", text.encode())])
    assert (found.value.where or "").startswith("site.yaml:3:10 ")


def test_what_no_file_answers_is_denied() -> None:
    bare = b"version: 1\ntools: {categories: {read: [Read]}}\ngateway: {models: ['x']}\n"
    policy = compile_policy([read_document("bare.yaml", bare)])
    assert {answer for level in policy.levels.values() for answer in level.values()} == {
        Answer.DENY
    }
    assert not any(policy.gateway.server_tools.values())
