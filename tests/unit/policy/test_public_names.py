"""Files in a denied folder that a rule lets go by their own names."""

import pytest

from supervisor.policy.deny_list import DenyList, DenyRule

KEYS = DenyRule("keys", "r", names=(".ssh", "id_rsa"), public=("*.pub", "known_hosts"))


@pytest.mark.parametrize("path", [".ssh/id_rsa.pub", "/root/.SSH/known_hosts", ".ssh/a/b.pub"])
def test_a_public_file_in_a_denied_folder_is_let_go(path: str) -> None:
    assert DenyList((KEYS,)).match(path) is None
    assert DenyList((DenyRule("keys", "r", names=(".ssh",)),)).match(path) is not None


@pytest.mark.parametrize(
    "path", [".ssh", ".ssh/config", ".ssh/x.pub/id_rsa", ".ssh/*", "known/id_rsa"]
)
def test_all_else_in_the_folder_stays_denied(path: str) -> None:
    assert DenyList((KEYS,)).match(path) is KEYS


def test_another_rule_may_still_deny_a_public_name() -> None:
    other = DenyRule("other", "r", names=("secret.pub",))
    assert DenyList((KEYS, other)).match(".ssh/secret.pub") is other


@pytest.mark.parametrize(
    ("folder", "name", "denied"),
    [("/", "shadow", True), ("/etc", "shadow", True), ("/proc", "environ", True),
     ("/proc/self", "environ", True), (".", "shadow", False), ("/srv", "shadow", False)],
)  # fmt: skip
def test_a_search_finds_denied_paths_below_where_it_starts(
    folder: str, name: str, denied: bool
) -> None:
    system = DenyRule("system", "r", paths=("etc/shadow", "proc/*/environ"))
    assert (DenyList((system,)).below(folder, name) is not None) is denied
