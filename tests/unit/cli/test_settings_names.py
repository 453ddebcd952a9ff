"""A variable that begins like ours and is none is refused, so that no misspelt floor is ignored."""

import pytest

from supervisor.errors import ConfigurationError
from supervisor.settings import Settings, check_variables, known_variables


def test_every_known_name_and_everything_of_others_passes() -> None:
    check_variables([*known_variables(), "PATH", "VAULT_PATH", "ANTHROPIC_API_KEY", "TRUST"])
    assert {f"TRUSTFLOOR_{name.upper()}" for name in Settings.model_fields} <= known_variables()


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
