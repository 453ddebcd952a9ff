"""Which folders a deny list's globs name on the way to what they deny."""

import pytest

from supervisor.policy.builtin import PROTECTED
from supervisor.policy.deny_list import DenyList, DenyRule

LIST = DenyList(
    (
        DenyRule(
            "a",
            "secret",
            names=(".env",),
            paths=("**/.docker/config.json", "private/*.txt", "work/**/keys/*", "*/**/Chat/x.db"),
        ),
    )
)


@pytest.mark.parametrize(
    ("path", "is_so"),
    [
        (".docker", True),
        ("deep/down/.DOCKER", True),
        ("private", True),
        ("deep/private", False),  # the glob begins at the vault
        ("work", True),
        ("work/any", False),  # what `**` stands for has no name
        ("work/a/b/keys", True),
        (".docker/config.json", False),  # denied itself
        (".env", False),
        ("any", False),  # neither has what a star stands for
        ("any/where/Chat", True),
    ],
)
def test_a_folder_is_on_the_way_where_a_glob_names_it(path: str, is_so: bool) -> None:
    assert LIST.is_on_the_way(path) is is_so


def test_no_plain_file_of_the_vault_is_in_the_place_of_a_protected_folder() -> None:
    own = DenyList(PROTECTED)
    assert not any(own.is_on_the_way(name) for name in ("notes.md", "x", "a/b", "Makefile"))


@pytest.mark.parametrize(
    ("path", "folders"),
    [
        ("a/b/.env", []),  # its own name denies it
        ("a/.docker/config.json", ["a/.docker"]),
        ("private/x.txt", ["private"]),
        ("work/a/keys/x", ["work", "work/a", "work/a/keys"]),
    ],
)
def test_the_folders_that_count_are_those_without_whose_names_nothing_is_denied(
    path: str, folders: list[str]
) -> None:
    assert LIST.folders_that_count(path.rpartition("/")[2], path) == folders


def test_what_makes_git_run_programs_is_protected_in_worktrees_and_submodules_too() -> None:
    protected = DenyList(PROTECTED)
    for path in (
        "x/.git/commondir",
        ".git/config.worktree",
        ".git/modules/a/b/config",
        ".git/modules/a/hooks",
        ".git/worktrees/side/commondir",
    ):
        assert protected.match(path) is not None, path
    for path in (".git/HEAD", ".git/worktrees/side/HEAD", ".git/refs/heads/config", "commondir"):
        assert protected.match(path) is None, path
