"""What a pattern covers, and above all what it doesn't: faults 2 and 3 of the earlier system."""

import posixpath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from supervisor.policy.grant_pattern import (
    covers_call,
    covers_command,
    covers_path,
    covers_tool,
    exactly,
    fixed_part,
    validate,
)
from supervisor.policy.permissions import GrantKind

NAMES = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=12
).filter(lambda name: name not in (".", ".."))
ODD_NAMES = st.one_of(NAMES, st.text("*?[]{}!\\-~.|()a", min_size=1, max_size=6)).filter(
    lambda name: name not in (".", "..")
)
PATHS = st.lists(ODD_NAMES, min_size=1, max_size=5).map("/".join)
SPELLINGS = st.lists(
    st.one_of(NAMES, st.sampled_from([".", "..", "", "Blogs", "BlogsPrivate", "Secret"])),
    min_size=1,
    max_size=6,
).map("/".join)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("notes/a.md", "notes/a.md"),
        ("notes/*", "notes/a.md"),
        ("notes/*", "notes/.hidden"),
        ("notes/**/*", "notes/a.md"),
        ("notes/**/*", "notes/deep/er/a.md"),
        ("**/*", "a.md"),
        ("**/*", "any/where/.at/all"),
        ("*.md", "a.md"),
        ("notes/**/*.md", "notes/x/y.md"),
        ("notes [draft].md", "notes [draft].md"),
    ],
)
def test_a_pattern_covers_what_it_says(pattern: str, path: str) -> None:
    assert covers_path(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("Blogs/*", "Blogs/deep/x.md"),
        ("Blogs/*", "Blogs"),
        ("Blogs/**/*", "BlogsPrivate/x.md"),
        ("Blogs/**/*", "Blogs/../Secret/x.md"),
        ("Blogs/**/*", "Blogs/./x.md"),
        ("Blogs/**/*", "Blogs//x.md"),
        ("Blogs/**/*", "blogs/x.md"),
        ("**/*", "/etc/passwd"),
        ("**/*", "../outside"),
        ("**/*", "a/../../outside"),
        ("**/*", ""),
        ("**/*", "a/"),
        ("**/*", "a\0b"),
        ("/etc/*", "/etc/passwd"),
        ("/**/*", "/etc/passwd"),
        ("../*", "../x"),
        ("a/../../*", "../x"),
        ("*.md", "notes/a.md"),
        ("{a,b}", "a"),
        ("!a", "b"),
    ],
)
def test_and_nothing_else(pattern: str, path: str) -> None:
    assert not covers_path(pattern, path)


@given(st.sampled_from(["**/*", "*", "Blogs/*", "Blogs/**/*", "**", "*/**/*", "?*"]), SPELLINGS)
@example("Blogs/**/*", "Blogs/../Secret/x")
@example("**/*", "/etc/passwd")
def test_no_pattern_covers_what_leads_out_of_where_it_is_for(pattern: str, path: str) -> None:
    if covers_path(pattern, path):
        assert not path.startswith("/")
        assert posixpath.normpath(path) == path
        assert not path.startswith("..")
        assert not pattern.startswith("Blogs/") or path.startswith("Blogs/")


@given(PATHS, PATHS)
def test_an_exact_pattern_covers_its_own_path_and_no_other(path: str, other: str) -> None:
    pattern = exactly(path)
    assert covers_path(pattern, path)
    assert covers_path(pattern, other) == (other == path)
    assert fixed_part(pattern) == path
    # Nobody grants a name of blanks: in a form it is an empty one.
    assert (validate(GrantKind.READ, pattern) is None) is bool(path.strip())


@given(PATHS, PATHS)
def test_a_folder_with_odd_letters_covers_what_is_in_it_and_nothing_beside(
    folder: str, below: str
) -> None:
    assert covers_path(f"{exactly(folder)}/**/*", f"{folder}/{below}")
    assert covers_path(f"{exactly(folder)}/*", f"{folder}/{below}") == ("/" not in below)
    assert not covers_path(f"{exactly(folder)}/**/*", f"{folder}x/{below}")


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git log", "git log --oneline -n 5"),
        ("git log:*", "git log"),
        ("git:*", "git push"),
        ("ls", "/bin/ls -la"),
        ("ls", "/usr/bin/ls"),
        ("rm ./tmp/", "rm ./tmp/x"),
        ("rm ./tmp/", "rm ./tmp/a/b ./tmp/c -f"),
        ("curl https://api.example/", "curl https://api.example/v1/users -s"),
        ("node scripts/", "node scripts/build.js --minify"),
    ],
)
def test_a_prefix_covers_commands_that_begin_with_its_words(pattern: str, command: str) -> None:
    assert covers_command(pattern, command.split())


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git log", "git push"),
        ("git", "gitk"),
        ("git lo", "git log"),
        ("git log", "git"),
        ("ls", "/tmp/ls"),
        ("ls", "/usr/bin/evil/ls"),
        ("ls", "./ls"),
        ("=git log", "git log"),
        ("", "git log"),
        (":*", "git log"),
        ("rm ./tmp", "rm ./tmp/x"),
        ("rm ./tmp/", "rm ./tmp/../x"),
        ("rm ./tmp/", "rm ./tmp/x README.md"),
        ("rm ./tmp/", "rm ./tmp/x ./tmp/{a,../../b}"),
        ("rm ./tmp/", "rm ./tmp/\0"),
        ("rm ./tmp/", "rm -rf ./tmp/x"),
        ("curl https://", "curl https://evil.example/"),
        ("curl https:/", "curl https://evil.example/"),
        ("curl https://api.example/", "curl https://api.example.evil/"),
        ("curl https://api.example/v1/", "curl https://api.example/v1/%2e%2e/v2"),
        ("scripts/", "scripts/build.sh"),
    ],
)
def test_and_no_command_that_begins_otherwise(pattern: str, command: str) -> None:
    assert not covers_command(pattern, command.split())


def test_a_prefix_covers_no_command_without_words() -> None:
    assert not covers_command("git", [])


def test_a_whole_call_covers_itself_letter_by_letter() -> None:
    assert covers_call("=git log | head -3", " git log | head -3\n")
    assert not covers_call("=git log | head -3", "git log | head -30")
    assert not covers_call("=git log", "git  log")
    assert not covers_call("=", "")
    assert not covers_call("git log", "git log")


@pytest.mark.parametrize(
    ("pattern", "tool", "hosts", "covered"),
    [
        ("mcp__notes__find", "mcp__notes__find", [], True),
        ("mcp__notes__find", "mcp__notes__find_all", [], False),
        ("mcp__notes__*", "mcp__notes__find", [], True),
        ("mcp__notes__*", "mcp__notes_private__find", [], False),
        ("mcp__*", "mcp__notes__find", [], False),
        ("Web*", "WebFetch", [], False),
        ("WebFetch:example.org", "WebFetch", ["example.org"], True),
        ("WebFetch:example.org", "WebFetch", ["evil-example.org"], False),
        ("WebFetch:example.org", "WebFetch", ["example.org.evil.net"], False),
        ("WebFetch:example.org", "WebFetch", [], False),
        ("WebFetch", "WebFetch", ["example.org"], True),
    ],
)
def test_a_tool_is_covered_by_name_by_server_or_by_host(
    pattern: str, tool: str, hosts: list[str], covered: bool
) -> None:
    assert covers_tool(pattern, tool, hosts) is covered


@pytest.mark.parametrize(
    ("kind", "pattern", "said"),
    [
        (GrantKind.READ, "", "empty"),
        (GrantKind.READ, "  ", "empty"),
        (GrantKind.READ, "/etc/passwd", "relative to the vault"),
        (GrantKind.READ, "~/x", "relative to the vault"),
        (GrantKind.WRITE, "notes/../../x", "`..`"),
        (GrantKind.WRITE, "notes/./x", "empty part"),
        (GrantKind.WRITE, "notes//x", "empty part"),
        (GrantKind.WRITE, "notes/", "empty part"),
        (GrantKind.READ, "a\0b", "NUL"),
        (GrantKind.READ, "\ud800", "Unicode"),
        (GrantKind.READ, "notes/*.{md,txt}", "braces"),
        (GrantKind.READ, "a*b*c*d*e", "stars"),
        (GrantKind.READ, "**/a/**/b/**/c/**/d", "stars"),
        (GrantKind.READ, "x" * 5_000, "characters"),
        (GrantKind.BASH, "git log; rm x", "plain words"),
        (GrantKind.BASH, "git $(x)", "plain words"),
        (GrantKind.BASH, "git\nrm", "plain words"),
        (GrantKind.BASH, "git 'a b'", "plain words"),
        (GrantKind.BASH, "git *", "plain words"),
        (GrantKind.BASH, "A=1 git", "names no command"),
        (GrantKind.BASH, ":*", "names no command"),
        (GrantKind.BASH, "=  ", "no command"),
        (GrantKind.BASH, " ".join("abcdefghijklmnopq"), "words"),
        (GrantKind.BASH, "=" + "x" * 20_000, "characters"),
        (GrantKind.TOOL, "Web*", "exact name"),
        (GrantKind.TOOL, "*", "exact name"),
        (GrantKind.TOOL, "mcp__*", "exact name"),
        (GrantKind.TOOL, "WebFetch:*.example.org", "exact name"),
        (GrantKind.TOOL, "WebFetch:https://example.org/x", "exact name"),
    ],
)
def test_what_can_not_be_granted_is_refused_with_the_reason(
    kind: GrantKind, pattern: str, said: str
) -> None:
    problem = validate(kind, pattern)
    assert problem is not None
    assert said in problem


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        (GrantKind.READ, "notes/*"),
        (GrantKind.READ, "**/*"),
        (GrantKind.WRITE, "a b/ü/*.md"),
        (GrantKind.WRITE, ".github/workflows/[a-c]?.yml"),
        (GrantKind.BASH, "git log"),
        (GrantKind.BASH, "git:*"),
        (GrantKind.BASH, "=git log | sort > x; echo $HOME"),
        (GrantKind.TOOL, "mcp__notes__find"),
        (GrantKind.TOOL, "mcp__my-notes__*"),
        (GrantKind.TOOL, "WebFetch:docs.example.org"),
        (GrantKind.TOOL, "WebFetch:[::1]"),
    ],
)
def test_what_is_fine_is_taken(kind: GrantKind, pattern: str) -> None:
    assert validate(kind, pattern) is None


@given(st.sampled_from(GrantKind), st.text(max_size=60))
def test_any_text_is_judged_without_an_error(kind: GrantKind, pattern: str) -> None:
    validate(kind, pattern)
    covers_path(pattern, "notes/a.md")
    covers_command(pattern, ["git", "log"])
    covers_tool(pattern, "WebFetch", ["example.org"])
    fixed_part(pattern)


def test_the_worst_pattern_that_is_taken_still_ends() -> None:
    pattern = "**/*a*a/**/*a*a/**/*a*a*"
    assert validate(GrantKind.READ, pattern) is None
    assert not covers_path(pattern, "/".join(["a" * 200 + "b"] * 12))
