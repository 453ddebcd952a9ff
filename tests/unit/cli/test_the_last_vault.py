"""Commands beside a supervisor look at the vault that it works on, if none is named."""

from pathlib import Path

import pytest

from supervisor.cli.policy_sources import read_folders
from supervisor.storage.identity import remember_vault, remembered_vault


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("TRUSTFLOOR_VAULT", "VAULT_PATH", "VAULT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRUSTFLOOR_DATA_DIR", str(folder))
    return folder


def test_without_a_name_the_vault_is_that_of_the_supervisor_that_ran_last(
    data: Path, tmp_path: Path
) -> None:
    odd = tmp_path / "a: vault\nof mine, ü"
    remember_vault(data, tmp_path / "first")
    remember_vault(data, odd)
    assert read_folders().vault == remembered_vault(data) == odd
    assert [each.name for each in data.iterdir()] == ["vault"]
    assert (data / "vault").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["TRUSTFLOOR_VAULT", "VAULT_PATH", "vault"])
def test_a_vault_that_the_environment_names_counts_more(
    name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_vault(data, tmp_path / "last")
    monkeypatch.setenv(name, str(tmp_path))
    assert read_folders().vault == tmp_path


def test_where_none_ran_yet_it_is_the_default(data: Path) -> None:
    assert remembered_vault(data) is None
    assert read_folders().vault.name == "sample-vault"
