"""Where a session may work: within the vault, whatever the path is spelled like."""

from pathlib import Path, PurePosixPath

import pytest

from supervisor.errors import InvalidRequest
from supervisor.sessions.working_directory import resolve_working_directory
from tests.worlds.policy_world import shipped_policy

DENIED = shipped_policy().hidden


@pytest.fixture(name="vault")
def vault_fixture(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    (vault / "notes" / "deep").mkdir(parents=True)
    (vault / ".ssh").mkdir()
    (tmp_path / "outside").mkdir()
    (vault / "out").symlink_to(tmp_path / "outside")
    (vault / "in").symlink_to("notes/deep")
    (vault / "secret").symlink_to(".ssh")
    (vault / "one").symlink_to("two")
    (vault / "two").symlink_to("one")
    (vault / "file").write_text("x")
    return vault


@pytest.mark.parametrize(
    ("asked", "folder"),
    [
        (None, "."),
        ("", "."),
        (".", "."),
        ("notes", "notes"),
        ("notes/../notes/deep/", "notes/deep"),
        ("in", "notes/deep"),
    ],
)
def test_a_folder_of_the_vault_is_taken_by_its_real_name(
    vault: Path, asked: str | None, folder: str
) -> None:
    assert resolve_working_directory(vault, asked, DENIED) == (PurePosixPath(folder), None)


def test_an_absolute_path_into_the_vault_is_one_of_its_folders(vault: Path) -> None:
    found, warning = resolve_working_directory(vault, str(vault / "notes"), DENIED)
    assert (str(found), warning) == ("notes", None)


@pytest.mark.parametrize("asked", ["gone", "gone/deeper", "file"])
def test_what_is_no_folder_falls_back_to_the_root_and_says_so(vault: Path, asked: str) -> None:
    found, warning = resolve_working_directory(vault, asked, DENIED)
    assert str(found) == "."
    assert warning is not None
    assert asked in warning


@pytest.mark.parametrize(
    "asked",
    ["..", "../outside", "/etc", "/", "out", "notes/../../outside", "in/../../../..", "~", "~root"],
)
def test_what_lies_outside_is_refused_by_whatever_way(vault: Path, asked: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        resolve_working_directory(vault, asked, DENIED)
    assert refusal.value.where == "workingDirectory"


@pytest.mark.parametrize("asked", [".ssh", "secret", "notes/../.ssh", ".SSH"])
def test_a_denied_folder_is_refused_by_whatever_name(vault: Path, asked: str) -> None:
    with pytest.raises(InvalidRequest, match="deny list"):
        resolve_working_directory(vault, asked, DENIED)


@pytest.mark.parametrize("asked", ["a\0b", "one", "~nobody-of-this-name/x", "x" * 5000, "\ud800"])
def test_what_cannot_be_looked_up_is_refused_and_breaks_nothing(vault: Path, asked: str) -> None:
    with pytest.raises(InvalidRequest):
        resolve_working_directory(vault, asked, DENIED)
