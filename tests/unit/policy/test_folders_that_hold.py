"""Folders that matter for what they hold: denied to fill, or to read as a whole."""

import pytest

from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.policy.kept import Kept, Sources

_LOGINS = DenyRule(
    "logins", "secret", paths=("**/.aws/credentials", "**/.config/gh/hosts.yml", "**/.git/config")
)
_OBJECTS = DenyRule("objects", "history", paths=("**/objects/pack", "**/*.git/objects"))


@pytest.mark.parametrize("path", ["/home/ada/.aws", ".aws", "x/.AWS/", "/root/.config/gh"])
def test_a_folder_that_is_there_for_a_secret_is_its_source(path: str) -> None:
    assert Sources(DenyList((_LOGINS, _OBJECTS))).holder(path) == _LOGINS


@pytest.mark.parametrize(
    "path", ["/root/.config", ".git", "src/objects", "aws", "/root/.aws/cli", "", "."]
)
def test_a_folder_that_is_there_for_other_things_is_no_source(path: str) -> None:
    assert Sources(DenyList((_LOGINS, _OBJECTS))).holder(path) is None


def test_a_folder_above_what_is_kept_is_its_holder() -> None:
    steering = DenyRule("steering", "steers", paths=("policies/site", "**/.git/hooks"))
    kept = Kept(DenyList((steering,)))
    assert kept.holder("policies") == steering
    assert kept.holder("web/.git") == steering
    assert kept.holder("web/policies") is None
