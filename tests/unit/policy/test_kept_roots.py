"""A folder that holds what steers agents stays, and one that only has its name may go."""

import pytest

from supervisor.policy.builtin import own_folders
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.policy.kept import Kept

KEPT = Kept(
    DenyList(
        (
            *own_folders(("/home/me/data",), ("/srv/policies",)),
            DenyRule("agents", "a reason", paths=("**/.claude/agents", "conf/agents.d/x")),
        )
    )
)


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/srv", "own-policy-folder"),
        ("/home/me", "own-folders"),
        ("/Home", "own-folders"),
        ("srv", None),
        ("home", None),
        ("home/me", None),
        ("conf", "agents"),
        ("conf/agents.d", "agents"),
        ("deep/.claude", "agents"),
        ("notes", None),
        (".", None),
    ],
)
def test_a_vault_s_folder_is_not_taken_for_one_of_the_root(path: str, rule: str | None) -> None:
    found = KEPT.holder(path)
    assert (found.id if found else None) == rule
