"""Folders that hold what agents may not change stay where they are."""

import pytest

from supervisor.policy.builtin import PROTECTED
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.policy.kept import Kept

OWN = DenyRule(id="own", reason="ours", paths=("root/.local/share/trustfloor",), absolute=True)
KEPT = Kept(DenyList((*PROTECTED, OWN)))


@pytest.mark.parametrize(
    "folder",
    [
        "Chat",
        "CHAT",
        "Chat/",
        ".claude",
        "a/b/.claude",
        "/root",
        "/root/.local/share",
        "C\u200bhat",
    ],
)
def test_a_folder_above_a_protected_name_holds_it(folder: str) -> None:
    assert KEPT.holder(folder) is not None


@pytest.mark.parametrize("folder", ["build", "Chat/artifacts", "a/Chat", "notes", ".", "", "Chats"])
def test_any_other_folder_does_not(folder: str) -> None:
    assert KEPT.holder(folder) is None
