"""Copies of denied files, under the names that editors and people give them, are denied as well."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.policy.copies import originals
from supervisor.policy.deny_list import DenyList, DenyRule

_MARKS = (
    "{}~", "#{}#", ".#{}", ".{}.swp", ".{}.swo", ".{}.un~", "{}.swp", "{}.~1~", ".{}.kate-swp",
    ".~lock.{}#", "{}.bak", "{}.BAK", "{}.old", "{}.orig", "{}.save.1", "{}_old", "{}-backup",
    "{}.1", "{}.tmp", "{}.dpkg-old", "{}.rpmsave", "{}.2026-01-31", "{}.20260131",
    "{} copy", "{} copy 2", "{} (copy)", "{} (1)", "{} (another copy)", "Copy of {}",
    "Backup of {}", "{}.old.bak~",
)  # fmt: skip
_RULE = DenyRule(
    "logins", "r", names=("secrets.json", ".netrc"), paths=("**/.aws/config",), copies=True
)
_DENIED = DenyList((_RULE,))


@pytest.mark.parametrize("mark", _MARKS)
@pytest.mark.parametrize("name", ["secrets.json", ".netrc"])
def test_a_copy_is_denied_as_what_it_is_a_copy_of(name: str, mark: str) -> None:
    assert _DENIED.match(f"work/{mark.format(name)}") is _RULE
    assert _DENIED.match_entry(mark.format(name), f"work/{mark.format(name)}") is _RULE


@pytest.mark.parametrize("mark", _MARKS)
def test_so_is_one_of_a_file_that_is_denied_by_its_path(mark: str) -> None:
    assert _DENIED.match(f"home/.aws/{mark.format('config')}") is _RULE
    assert _DENIED.match(f"home/.other/{mark.format('config')}") is None


@pytest.mark.parametrize("mark", _MARKS)
def test_copies_of_other_files_are_nobodys_concern(mark: str) -> None:
    for name in ("notes.md", "app.py", "secrets-howto.md"):
        assert _DENIED.match(mark.format(name)) is None


@pytest.mark.parametrize(
    "name", ["secrets (1).json", "secrets copy.json", "secrets_backup.json", "secrets-old2.json"]
)
def test_a_mark_may_stand_before_the_ending(name: str) -> None:
    assert _DENIED.match(name) is _RULE


@pytest.mark.parametrize(
    "name",
    ["secrets.json.md", "secrets.jsonl", "old-secrets.json.py", "secrets-test.json", "netrc.bak"],
)
def test_a_name_that_only_resembles_one_is_none(name: str) -> None:
    assert _DENIED.match(name) is None


def test_an_exception_counts_for_its_copies_and_a_rule_may_leave_copies_alone() -> None:
    open_ones = DenyList(
        (DenyRule("a", "r", names=("*.env",), exceptions=("x.env",), copies=True),)
    )
    assert open_ones.match("x.env~") is None
    assert open_ones.match("y.env~") is not None
    exact = DenyList((DenyRule("a", "r", names=("y.env",)),))
    assert exact.match("y.env~") is None


@given(st.text(alphabet="ab#~.() _-1copy", max_size=600))
def test_any_name_is_looked_at_in_bounded_steps(name: str) -> None:
    found = list(originals(name))
    assert len(found) <= 64
    assert all(len(each) < len(name) for each in found)
