"""How many files a pattern covers: counted on the disk, bounded, and told honestly."""

from pathlib import Path

import pytest

from supervisor.gate.reach import Reach, count, reach
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.policy.grant_pattern import exactly

DENIED = DenyList((DenyRule("secrets", "no", names=(".env", "keys")),))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    for name in (
        "a.md", ".env", "notes/b.md", "notes/c.txt", "notes/deep/d.md", "notes/.env",
        "notes [1]/e.md", "notesPrivate/f.md", "keys/one", "keys/two",
    ):  # fmt: skip
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text("text\n")
    (vault / "out").symlink_to(tmp_path)
    (vault / "link.md").symlink_to("a.md")
    (tmp_path / "outside.md").write_text("text\n")
    return vault


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("a.md", 1),
        ("notes/*", 2),
        ("notes/*.md", 1),
        ("notes/**/*", 3),
        ("notes", 0),
        ("**/*", 6),
        ("**/*.md", 5),
        ("*", 1),
        ("*/*.md", 3),
        (exactly("notes [1]") + "/*", 1),
        (exactly("notes [1]/e.md"), 1),
        (".env", 0),
        ("keys/*", 0),
        ("out/*", 0),
        ("link.md", 0),
        ("no/such/*", 0),
        ("no\0such", 0),
        ("../*", 0),
        ("/etc/*", 0),
    ],
)
def test_files_are_counted_without_denied_ones_and_without_following_links(
    vault: Path, pattern: str, files: int
) -> None:
    assert count(pattern, str(vault), DENIED) == Reach(files)


async def test_it_is_counted_beside_other_work(vault: Path) -> None:
    assert await reach("notes/**/*", str(vault), DENIED) == Reach(3)


def test_of_a_large_vault_it_is_said_that_there_may_be_more(vault: Path) -> None:
    for number in range(50):
        (vault / "notes" / f"{number}.md").write_text("text\n")
    found = count("notes/**/*", str(vault), DENIED, most=20)
    assert found.more
    assert 0 < found.files <= 20
    assert not count("notes/*", str(vault), DENIED, most=1_000).more


def test_a_folder_of_files_that_do_not_match_is_not_walked_without_end(vault: Path) -> None:
    for number in range(50):
        (vault / "notes" / f"{number}.txt").write_text("text\n")
    assert count("notes/*.none", str(vault), DENIED, most=20) == Reach(0, more=True)
