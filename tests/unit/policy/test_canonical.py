"""What is recorded of a decision: enough to make it again, and nothing that a person typed."""

import json
from pathlib import Path
from typing import Any

import pytest

from supervisor.events.redact import Redactor
from supervisor.gate.audit_entries import LARGEST_INPUT, decision_entry
from supervisor.policy.call import verdict_word
from supervisor.policy.canonical import VERSION, restore
from supervisor.policy.permissions import Grant, GrantKind, GrantScope, Permissions
from supervisor.policy.replay import decide_again
from supervisor.trust.levels import TrustLevel
from tests.worlds.decisions import UNTRUSTED, decided, entry_of
from tests.worlds.policy_world import make_vault, shipped_policy

POLICY = shipped_policy()

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("Read", {"file_path": "notes/a.md"}),
    ("Read", {"file_path": ".env"}),
    ("Read", {"file_path": "notes/innocent.md"}),
    ("Read", {"file_path": "../outside/plan.md"}),
    ("Read", {"file_path": "link-to-env"}),
    ("Write", {"file_path": "notes/n.md", "content": "one two three"}),
    ("Write", {"file_path": ".claude/settings.json", "content": "{}"}),
    ("Edit", {"file_path": "notes/a.md", "old_string": "a", "new_string": "b"}),
    ("MultiEdit", {"file_path": "notes/a.md", "edits": [{"old_string": "a", "new_string": "b c"}]}),
    ("Grep", {"pattern": "API_KEY", "path": "."}),
    ("Grep", {"pattern": "API KEY", "path": "notes", "glob": "*.md"}),
    ("Glob", {"pattern": "**/.env*"}),
    ("Bash", {"command": "git status", "description": "look at it"}),
    ("Bash", {"command": "cd notes && cat a.md a.md | grep x > out.txt"}),
    ("Bash", {"command": "cat .env"}),
    ("Bash", {"command": "sudo ls"}),
    ("Bash", {"command": "cat *"}),
    ("WebFetch", {"url": "https://example.org/a b", "prompt": "sum it up"}),
    ("mcp__files__read", {"path": ".env"}),
    ("mcp__files__read", {"query": ".env", "words": "not a name"}),
    ("Task", {"prompt": "go on", "subagent_type": "helper"}),
    ("NewTool", {"anything": [{"at": "notes/a.md"}]}),
]  # fmt: skip

SESSIONS = {
    "asks": UNTRUSTED,
    "trusts": Permissions(),
    "as the policy says": None,
    "granted": Permissions(
        trust_mode=False,
        read=("notes/**/*",),
        bash=("git status",),
        grants=(
            Grant("g1", GrantScope.SESSION, GrantKind.WRITE, "notes/*", TrustLevel.VAULT, 2_000.0),
            Grant("g2", GrantScope.AGENT, GrantKind.BASH, "cat", TrustLevel.VAULT, 10.0),
        ),
        confined=True,
    ),
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_vault(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize("level", list(TrustLevel))
@pytest.mark.parametrize(("tool", "input"), CALLS, ids=str)
async def test_a_decision_is_made_again_from_its_record_with_the_same_verdict_rule_and_reason(
    vault: Path, tool: str, input: dict[str, Any], level: TrustLevel, session: str
) -> None:
    made = await decided(POLICY, vault, tool, level, SESSIONS[session], **input)
    again = decide_again(restore(entry_of(made)), POLICY)
    assert again == made.policy_verdict
    assert verdict_word(made.policy_verdict) == entry_of(made)["said"]


TYPED = "the quick brown fox that nobody may read about"


@pytest.mark.parametrize(
    ("tool", "input"),
    [
        ("Write", {"file_path": "a.md", "content": TYPED}),
        ("Edit", {"file_path": "a.md", "old_string": TYPED, "new_string": "x"}),
        ("MultiEdit", {"file_path": "a.md", "edits": [{"old_string": "x", "new_string": TYPED}]}),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": TYPED}),
        ("Task", {"prompt": TYPED}),
        ("WebFetch", {"url": "https://example.org", "prompt": TYPED}),
        ("WebSearch", {"query": TYPED}),
        ("AskUserQuestion", {"questions": [{"question": TYPED}]}),
        ("mcp__mail__send", {"body": TYPED, "to": "someone"}),
        ("Bash", {"command": "true", "description": TYPED}),
    ],
    ids=str,
)
async def test_contents_and_prose_are_recorded_by_hash_and_length_alone(
    vault: Path, tool: str, input: dict[str, Any]
) -> None:
    text = json.dumps(entry_of(await decided(POLICY, vault, tool, **input)), ensure_ascii=False)
    assert "quick brown" not in text
    assert f"{len(TYPED)} characters, sha256 " in text


@pytest.mark.parametrize(
    "input",
    [
        {"password": "hunter2hunter2"},
        {"user": {"apiKey": "hunter2hunter2"}},
        {"secrets": ["hunter2hunter2"]},
        {"client_secret": {"value": "hunter2hunter2"}},
    ],
    ids=str,
)
async def test_what_stands_in_a_field_that_is_named_like_a_secret_is_nowhere(
    vault: Path, input: dict[str, Any]
) -> None:
    made = await decided(POLICY, vault, "mcp__x__login", **input)
    assert "hunter2" not in json.dumps(entry_of(made))


async def test_a_short_content_has_no_hash_to_be_guessed_from(vault: Path) -> None:
    made = await decided(POLICY, vault, "Write", file_path="a.md", content="1234")
    assert entry_of(made)["canonical"]["input"]["content"] == "⟨4 characters⟩"


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("curl -H 'Authorization: Bearer abcdefgh12345678' https://example.org", "Bearer NOT-KEPT"),
        ("curl https://user:hunter22@example.org/x", "https://NOT-KEPT@example.org/x"),
        ("export K=ghp_abcdefghijklmnopqrstuvwxyz0123", "export K=NOT-KEPT"),
        ("git clone https://example.org/a/b", "git clone https://example.org/a/b"),
        ("curl 'https://example.org/?token=abcdef&x=1'", "?token=NOT-KEPT&x=1"),
    ],
)
async def test_credentials_that_show_by_their_form_are_masked_in_commands(
    vault: Path, command: str, kept: str
) -> None:
    made = await decided(POLICY, vault, "Bash", command=command)
    assert kept in entry_of(made)["canonical"]["input"]["command"]


async def test_known_secrets_are_taken_out_everywhere(vault: Path) -> None:
    secret = "the-token-of-this-supervisor"
    made = await decided(POLICY, vault, "Bash", command=f"cat notes/{secret}")
    assert secret not in json.dumps(entry_of(made, secret))
    assert secret in json.dumps(entry_of(made))


@pytest.mark.parametrize(
    "input",
    [
        {"command": "cat " + " ".join(f"notes/file-{n}.md" for n in range(20_000))},
        {"command": "x" * 5_000_000},
    ],
    ids=["many words", "one word"],
)
async def test_an_entry_has_a_bound_and_what_is_cut_is_not_decided_again(
    vault: Path, input: dict[str, Any]
) -> None:
    body = entry_of(await decided(POLICY, vault, "Bash", **input))
    assert len(json.dumps(body)) < LARGEST_INPUT + 8_192
    with pytest.raises(ValueError, match="too large"):
        restore(body)


async def test_what_is_nested_without_end_is_cut(vault: Path) -> None:
    nested: dict[str, Any] = {"a": "x"}
    for _ in range(200):
        nested = {"a": nested}
    body = entry_of(await decided(POLICY, vault, "mcp__x__y", **nested))
    with pytest.raises(ValueError, match="too large"):
        restore(body)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"canonical": None},
        {"canonical": {"v": VERSION + 1}},
        {"canonical": {"v": VERSION}},
        {"canonical": {"v": VERSION, "input": 5}, "tool": "Read"},
        {"canonical": {"v": VERSION, "whole": False}},
    ],
    ids=str,
)
def test_a_record_that_can_not_be_read_says_why(body: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"recorded|read"):
        restore(body)


async def test_an_internal_error_is_recorded_with_its_incident(vault: Path) -> None:
    from dataclasses import replace  # noqa: PLC0415

    from supervisor.policy.decide import internal_error  # noqa: PLC0415

    made = await decided(POLICY, vault, "Read", file_path="notes/a.md")
    verdict = internal_error("toolu_1", RuntimeError("no"))
    body = decision_entry(replace(made, verdict=verdict), Redactor())
    assert body["incident"] in verdict.reason
    assert "incident" not in entry_of(made)
