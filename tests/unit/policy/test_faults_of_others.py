"""Faults of an earlier system's permission code: never ours, each as its whole kind."""

import pytest

from supervisor.policy.permissions import Grant, GrantKind, GrantScope, Permissions
from supervisor.trust.levels import TrustLevel
from tests.worlds.cases_world import NOTHING, POLICY, answer, bash

FULL, VAULT = TrustLevel.FULL, TrustLevel.VAULT


def with_grant(kind: GrantKind, pattern: str) -> Permissions:
    grant = Grant("g", GrantScope.SESSION, kind, pattern, VAULT)
    return Permissions(trust_mode=False, grants=(grant,))


# 1. one grant makes the session trusted


def test_a_grant_for_one_file_allows_that_file_and_nothing_else() -> None:
    one = with_grant(GrantKind.READ, "notes/a.md")
    assert answer("Read", {"file_path": "notes/a.md"}, permissions=one) == "allow"
    for name in ("notes/b.md", "docs/guide.md", "notes", ".", "notes/a.md.bak"):
        assert answer("Read", {"file_path": name}, permissions=one) == "ask", name
    for tool in ("Write", "Edit", "MultiEdit"):
        assert answer(tool, {"file_path": "notes/a.md"}, permissions=one) == "ask"
    assert bash("ls", level=VAULT, permissions=one) == "ask"
    assert answer("Read", {"file_path": ".env"}, permissions=one) == "deny"
    assert answer("Read", {"file_path": "/etc/hosts"}, permissions=one) == "deny"


@pytest.mark.parametrize("kind", GrantKind)
@pytest.mark.parametrize("pattern", ["**/*", "*", "", "/", "ls", "Read", "=ls"])
def test_no_grant_ever_allows_what_is_denied(kind: GrantKind, pattern: str) -> None:
    granted = with_grant(kind, pattern)
    assert answer("Read", {"file_path": ".env"}, permissions=granted) == "deny"
    assert answer("Write", {"file_path": ".mcp.json"}, permissions=granted) == "deny"
    assert answer("Read", {"file_path": "../x"}, permissions=granted) == "deny"
    assert bash("sudo ls", level=VAULT, permissions=granted) == "deny"


# 2 and 3. globs that cross folders, or match by the beginning of a name


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("Blogs/*", "Blogs/p.md", "allow"),
        ("Blogs/*", "Blogs/deep/er/x.md", "ask"),
        ("Blogs/**/*", "Blogs/deep/er/x.md", "allow"),
        ("Blogs/**/*", "BlogsPrivate/q.md", "ask"),
        ("Blogs/**/*", "Blogs/../notes/a.md", "ask"),
        ("**/*", "/etc/passwd", "deny"),
        ("/**/*", "/etc/passwd", "deny"),
        ("../**/*", "../x", "deny"),
        ("**/*", "notes/outside/hosts", "deny"),
    ],
)
def test_a_granted_glob_ends_where_its_folder_ends(pattern: str, name: str, expected: str) -> None:
    granted = with_grant(GrantKind.READ, pattern)
    assert answer("Read", {"file_path": name}, permissions=granted) == expected


# 4. a list of harmless commands that looks at the first word


@pytest.mark.parametrize("joint", ["&&", ";", "|", "||", "&", "\n", " ; true;", "&& (", "$("])
def test_what_follows_a_permitted_command_is_judged_too(joint: str) -> None:
    permitted = Permissions(trust_mode=False, read=("**/*",), bash=("ls",))
    closing = ")" if joint.endswith("(") else ""
    assert bash(f"ls {joint} cat .env{closing}", level=VAULT, permissions=permitted) == "deny"
    assert bash(f"ls {joint} id{closing}", level=VAULT, permissions=permitted) != "allow"
    assert bash("ls", level=VAULT, permissions=permitted) == "allow"


# 5. dangerous commands as texts: what they miss, and what they hit for nothing


@pytest.mark.parametrize(
    "command",
    ["rm -fr /", "rm -r -f /", "rm  -rf /", "rm -rf  /", "chmod -R 777 /",
     "su -c id", 'rm -rf "$HOME"', ":(){ :|:& };:", ": () { : | : & } ; :"],
)  # fmt: skip
def test_another_spelling_is_the_same_act(command: str) -> None:
    assert bash(command) == "deny"


@pytest.mark.parametrize(
    "command",
    ["cat notes/sudoku.md", "git commit -m 'remove sudo'", "make > /dev/null", "rm -rf /tmp/build",
     'echo "never run sudo"', "./pseudo.sh", "make 2> /dev/null"],
)  # fmt: skip
def test_the_same_letters_are_not_the_same_act(command: str) -> None:
    assert bash(command) == "allow"


# 6. the deny list isn't asked by some tools


@pytest.mark.parametrize(
    ("tool", "input"),
    [
        ("Bash", {"command": "cat .env"}),
        ("Grep", {"pattern": "=", "glob": ".env"}),
        ("Grep", {"pattern": "=", "path": ".env"}),
        ("Glob", {"pattern": "**/.env"}),
        ("NotebookRead", {"notebook_path": ".env"}),
        ("NotebookEdit", {"notebook_path": ".env", "new_source": ""}),
        ("MultiEdit", {"file_path": ".env", "edits": []}),
        ("mcp__fs__read", {"path": ".env"}),
        ("mcp__fs__read", {"paths": ["a.md", ".env"]}),
        ("mcp__fs__read", {"options": {"target": {"relative_path": ".env"}}}),
        ("mcp__fs__read", {"anything": ".env"}),
        ("FutureTool", {"file": "notes/link_to_env"}),
        ("LS", {"path": ".ssh"}),
        ("Monitor", {"command": "cat .env"}),
        ("PowerShell", {"command": "Get-Content .env"}),
        ("mcp__shell__run", {"command": "cat .env"}),
    ],
)
@pytest.mark.parametrize("level", [FULL, VAULT])
def test_every_tool_meets_the_deny_list(
    tool: str, input: dict[str, object], level: TrustLevel
) -> None:
    assert answer(tool, input, level=level) == "deny"


# 7. names that are missed, and names that are hit for nothing


@pytest.mark.parametrize(
    "name",
    [".ENV", ".envrc", "secrets.json", "credentials.json", "x/secrets.yaml", ".netrc", ".npmrc",
     ".pgpass", ".git/config", ".docker/config.json", "kubeconfig", "service-account.json",
     "id_ecdsa", ".claude/.credentials.json", "server.pem.bak"],
)  # fmt: skip
def test_secrets_are_known_by_all_their_names(name: str) -> None:
    assert answer("Read", {"file_path": name}) == "deny"
    assert bash(f"cat '{name}'", level=VAULT) == "deny"
    assert bash(f"cp README.md {name}", level=VAULT) == "deny"


@pytest.mark.parametrize(
    "name",
    ["my_tokenizer.py", "docs/reset_token_flow.md", "id_ed25519.pub", "design_tokens.md",
     "secrets/README.md", "node_modules/x/index.js"],
)  # fmt: skip
def test_a_name_that_only_resembles_one_is_free(name: str) -> None:
    assert POLICY.denied.match(name) is None
    assert answer("Read", {"file_path": name}) == "allow"
    assert bash(f"cat {name}") == "allow"


def test_without_any_permission_everything_in_the_vault_is_asked_for() -> None:
    for tool, given in (
        ("Read", {"file_path": "notes/a.md"}),
        ("Write", {"file_path": "notes/a.md"}),
        ("Grep", {"pattern": "x", "path": "docs"}),
        ("Bash", {"command": "ls"}),
    ):
        assert answer(tool, given, permissions=NOTHING) == "ask", tool
