"""Globs as a shell expands them, on a real folder."""

from pathlib import Path

import pytest

from supervisor.gate.expand import expand_pattern
from supervisor.gate.scan import Walk


@pytest.fixture(name="folder")
def folder_fixture(tmp_path: Path) -> Path:
    tmp_path = tmp_path / "folder"
    tmp_path.mkdir()
    for name in (".env", ".envrc", "a.md", "b.md", "sub/c.md", "sub/.d.md", "x[1].md", "sub2/e.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.md", {"a.md", "b.md", "x[1].md"}),
        ("*", {"a.md", "b.md", "sub", "sub2", "x[1].md"}),
        (".*", {".env", ".envrc"}),
        (".e*", {".env", ".envrc"}),
        ("?.md", {"a.md", "b.md"}),
        ("[ab].md", {"a.md", "b.md"}),
        ("[!a].md", {"b.md"}),
        ("sub*/*.md", {"sub/c.md", "sub2/e.md"}),
        ("*/c.md", {"sub/c.md"}),
        ("s*b/", {"sub"}),
        ("**/*.md", {"sub/c.md", "sub2/e.md"}),
        ("x\\[1\\].m*", {"x[1].md"}),
        ("none*", set()),
        ("./*.md", {"a.md", "b.md", "x[1].md"}),
        ("../*/a.md", None),
    ],
)
def test_a_glob_matches_what_a_shell_would(
    folder: Path, pattern: str, found: set[str] | None
) -> None:
    got = expand_pattern(pattern, str(folder), 100, Walk(1000))
    assert got.complete
    if found is None:
        assert f"../{folder.name}/a.md" in got.paths
    else:
        assert set(got.paths) == found


def test_the_folder_is_where_all_matches_lie(folder: Path) -> None:
    assert expand_pattern("sub/*.md", str(folder), 100, Walk(1000)).folder == "sub"
    assert expand_pattern("*.md", str(folder), 100, Walk(1000)).folder == "."
    assert expand_pattern("/etc/*", str(folder), 1000, Walk(10000)).folder == "/etc"


def test_a_bound_that_is_met_is_told(folder: Path) -> None:
    assert not expand_pattern("*", str(folder), 2, Walk(1000)).complete
    assert not expand_pattern("*", str(folder), 100, Walk(3)).complete
    assert not expand_pattern("*/*", str(folder), 1, Walk(1000)).complete


@pytest.mark.parametrize("pattern", ["[", "[]", "[!", "*[", "\\", "a\\", "", "/", "[[:alpha:]]*"])
def test_no_glob_makes_it_fail(folder: Path, pattern: str) -> None:
    expand_pattern(pattern, str(folder), 100, Walk(1000))
