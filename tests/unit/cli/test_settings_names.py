"""A variable that begins like ours and is none is refused, so that no misspelt floor is ignored."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from supervisor.errors import ConfigurationError
from supervisor.settings import Settings
from supervisor.variables import SETTINGS, check_variables, folders, known_variables, spellings

_FOLDERS = {
    each.lower()
    for setting in ("vault", "policies", "data_dir", "runtime_dir")
    for each in spellings(setting)
} | {"xdg_data_home"}


def test_every_known_name_and_everything_of_others_passes() -> None:
    check_variables([*known_variables(), "PATH", "VAULT_PATH", "ANTHROPIC_API_KEY", "TRUST"])
    assert {f"TRUSTFLOOR_{name.upper()}" for name in SETTINGS} <= known_variables()


def test_the_table_of_names_has_every_setting() -> None:
    assert set(SETTINGS) == set(Settings.model_fields)


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"TRUSTFLOOR_VAULT": "~/v", "TRUSTFLOOR_POLICIES": "p", "TRUSTFLOOR_DATA_DIR": "~/d/e/.."},
        {"VAULT_PATH": "/v", "TRUSTFLOOR_RUNTIME_DIR": "r"},
        {"VAULT_PATH": "/v", "TRUSTFLOOR_VAULT": "/w", "trustfloor_policies": "/p"},
        {"TRUSTFLOOR_VAULT": "", "VAULT_PATH": "/v", "XDG_DATA_HOME": "/x", "vault": "/u"},
    ],
    ids=str,
)
def test_the_folders_are_those_that_a_supervisor_would_have(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.lower() in _FOLDERS]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found, settings = folders(os.environ), Settings()
    assert found.vault == settings.vault
    assert found.policies == settings.policies
    assert found.data_dir == settings.data_dir
    assert found.runtime_dir == settings.runtime_dir


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("TRUSTFLOOR_FLOR", "TRUSTFLOOR_FLOOR"),
        ("TRUSTFLOOR_APPROVALS_SECONDS", "TRUSTFLOOR_APPROVAL_SECONDS"),
        ("TRUSTFLOOR_MODELS", "TRUSTFLOOR_MODEL"),
        ("TRUSTFLOOR_VAULT_PATH", "TRUSTFLOOR_VAULT"),
        ("TRUSTFLOOR_TOKENS", "TRUSTFLOOR_TOKEN"),
    ],
)
def test_another_is_refused_with_the_nearest_one(name: str, nearest: str) -> None:
    with pytest.raises(ConfigurationError) as found:
        check_variables(["PATH", name])
    assert found.value.where == name
    assert f"did you mean {nearest}?" in str(found.value.remedy)


def test_one_that_is_near_to_none_points_to_the_list() -> None:
    with pytest.raises(ConfigurationError) as found:
        check_variables(["TRUSTFLOOR_"])
    assert found.value.remedy


@pytest.mark.parametrize("vault", ["/", "/own/data", "/own/data/a/b", "/own/run/x"])
def test_no_vault_is_the_whole_disk_or_lies_in_what_is_the_supervisors(vault: str) -> None:
    with pytest.raises(ValidationError, match="the vault"):
        Settings(vault=Path(vault), data_dir=Path("/own/data"), runtime_dir=Path("/own/run"))


@pytest.mark.parametrize("vault", ["/own", "/own/database", "/home/ada"])
def test_a_vault_may_lie_beside_what_is_the_supervisors_and_around_it(vault: str) -> None:
    Settings(vault=Path(vault), data_dir=Path("/own/data"), runtime_dir=Path("/own/run"))
