"""What permissions and grants cover: no more than they say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.policy.coverage import Coverage
from supervisor.policy.permissions import Grant, GrantKind, GrantScope, Permissions
from supervisor.trust.levels import TrustLevel

VAULT = TrustLevel.VAULT


def covers(
    *, read: tuple[str, ...] = (), write: tuple[str, ...] = (), bash: tuple[str, ...] | bool = False
) -> Coverage:
    return Coverage(Permissions(trust_mode=False, read=read, write=write, bash=bash), VAULT, 0.0)


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("Blogs/*", "Blogs/p.md", True),
        ("Blogs/*", "Blogs/deep/er/x.md", False),
        ("Blogs/**/*", "Blogs/deep/er/x.md", True),
        ("Blogs/**/*", "Blogs/p.md", True),
        ("Blogs/**/*", "BlogsPrivate/q.md", False),
        ("Blogs/*", "BlogsPrivate/q.md", False),
        ("**/*", "a/b/c.md", True),
        ("**/*", "/etc/passwd", False),
        ("/**/*", "/etc/passwd", False),
        ("../**/*", "../x", False),
        ("notes/a.md", "notes/a.md.sh", False),
        ("notes/[draft].md", "notes/[draft].md", True),
        ("notes/*", "notes/.draft.md", True),
        ("docs/**/*", "src/docs/a.md", False),
        ("build/**/*", "BuildX/y", False),
        ("build/**/*", "Build/y", False),
        ("*.md", "a.md", True),
        ("*.md", "notes/a.md", False),
        ("", "a", False),
        ("[", "a", False),
    ],
)
def test_a_glob_covers_a_path(pattern: str, path: str, covered: bool) -> None:
    assert covers(write=(pattern,)).writes(path) is covered
    assert covers(read=(pattern,)).reads(path) is covered


def test_reading_and_writing_are_two_permissions() -> None:
    assert not covers(read=("**/*",)).writes("a")
    assert not covers(write=("**/*",)).reads("a")


def test_a_folder_is_listed_where_all_that_lies_in_it_may_be_read() -> None:
    assert covers(read=("**/*",)).reads(".", folder=True)
    assert covers(read=("notes/*",)).reads("notes", folder=True)
    assert not covers(read=("notes/*.md",)).reads("notes", folder=True)
    assert not covers(read=("notes/*",)).reads_below("notes")
    assert covers(read=("notes/**/*",)).reads_below("notes")


def test_a_folder_is_removed_where_it_and_all_below_it_may_be_written() -> None:
    assert covers(write=("build/**/*",)).writes_whole("build/out")
    assert not covers(write=("build/*",)).writes_whole("build/out")
    assert not covers(write=("build/**/*",)).writes_whole("build")
    assert not covers(write=("**/*",)).writes_whole(".")


def test_the_whole_vault_covers_a_command_that_changes_files_by_its_trade_alone() -> None:
    whole = covers(write=("**/*",))
    assert whole.writes("notes/a.md")
    assert whole.writes("notes/a.md", program="mkdir")
    assert whole.writes("notes/a.md", program="/usr/bin/touch")
    assert not whole.writes("notes/a.md", program="git")
    assert not whole.writes("notes/a.md", program="")
    assert covers(write=("notes/*",)).writes("notes/a.md", program="")


@pytest.mark.parametrize(
    ("prefix", "words", "covered"),
    [
        ("git status", ("git", "status"), True),
        ("git status", ("git", "status", "--short"), True),
        ("git status", ("git", "stash"), False),
        ("git status", ("git",), False),
        ("git", ("git", "push"), True),
        ("git:*", ("git", "push"), True),
        ("ls", ("lsof", "-i"), False),
        ("ls", ("/tmp/ls",), False),
        ("ls", ("/bin/ls", "-la"), True),
        ("ls", ("/bin/../tmp/ls",), False),
        ("ls", ("./ls",), False),
        ("rm ./tmp/", ("rm", "./tmp/x"), True),
        ("rm ./tmp/", ("rm", "./tmp/x", "README.md"), False),
        ("rm ./tmp", ("rm", "./tmp/x"), False),
        ("npm test", ("npm", "tests-evil"), False),
        ("*", ("ls",), False),
        ("", ("ls",), False),
        ("=ls", ("ls",), False),
        ("ls", (), False),
    ],
)
def test_a_prefix_covers_a_command_word_by_word(
    prefix: str, words: tuple[str, ...], covered: bool
) -> None:
    assert covers(bash=(prefix,)).runs_by_prefix(words) is covered


def test_an_exact_grant_is_that_call_and_no_other() -> None:
    exact = covers(bash=("=git push origin main",))
    assert exact.runs_exactly("git push origin main")
    assert not exact.runs_exactly("git push origin main --force")
    assert not exact.runs_by_prefix(("git", "push"))


def grant(**changes: object) -> Grant:
    known: dict[str, object] = {
        "id": "g", "scope": GrantScope.SESSION, "kind": GrantKind.READ, "pattern": "notes/*",
        "level": VAULT, "expires_at": 100.0,
    }  # fmt: skip
    return Grant(**{**known, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "now", "counts"),
    [
        ({}, 99.0, True),
        ({}, 100.0, False),
        ({"expires_at": None}, 1e12, True),
        ({"level": TrustLevel.SANDBOXED}, 0.0, False),
        ({"level": TrustLevel.FULL}, 0.0, False),
        ({"kind": GrantKind.WRITE}, 0.0, False),
        ({"pattern": "notes/b.md"}, 0.0, False),
    ],
)
def test_a_grant_counts_at_its_level_for_its_kind_until_it_expires(
    changes: dict[str, object], now: float, counts: bool
) -> None:
    permissions = Permissions(trust_mode=False, grants=(grant(**changes),))
    assert Coverage(permissions, VAULT, now).reads("notes/a.md") is counts


def test_a_tool_is_granted_by_its_name_or_by_each_host_that_it_reaches() -> None:
    granted = Permissions(
        grants=(
            grant(kind=GrantKind.TOOL, pattern="CronList", expires_at=None),
            grant(kind=GrantKind.TOOL, pattern="WebFetch:example.org", expires_at=None),
        )
    )
    coverage = Coverage(granted, VAULT, 0.0)
    assert coverage.uses_tool("CronList")
    assert not coverage.uses_tool("CronDelete")
    assert coverage.uses_tool("WebFetch", ["example.org"])
    assert not coverage.uses_tool("WebFetch", ["example.org", "evil.example"])
    assert not coverage.uses_tool("WebFetch", [])


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_pattern_makes_it_fail(pattern: str, path: str) -> None:
    covers(read=(pattern,)).reads(path)
    covers(bash=(pattern,)).runs_by_prefix((path,))
