"""What a glob can mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.policy.globs import (
    MOST_ALTERNATIVES,
    alternatives,
    fixed_prefixes,
    only_means_denied,
)
from tests.worlds.policy_world import shipped_policy

DENIED = shipped_policy().denied


@pytest.mark.parametrize(
    "pattern",
    [".env", ".env*", "**/.env", "**/.env*", "{.env,.env.local}", "[.]env", ".e[n]v", "*.pem",
     "**/credentials*.json", "keys/id_rsa*", "a/{b,.env}", "{a,{b,.env}}"],
)  # fmt: skip
def test_a_glob_written_for_denied_names_is_known(pattern: str) -> None:
    assert only_means_denied(pattern, DENIED) is not None


@pytest.mark.parametrize(
    "pattern",
    ["*", "**/*", "*.md", "*.json", "*env*", "**/*keyboard*", "*.example", ".env.example",
     "docs/**",
     "{a,b}", "src/*.py", ".*", "[!a]*"],
)  # fmt: skip
def test_a_glob_that_has_other_uses_is_left_alone(pattern: str) -> None:
    assert only_means_denied(pattern, DENIED) is None


@pytest.mark.parametrize(
    ("pattern", "prefixes"),
    [
        ("*.md", {""}),
        ("docs/**/*.md", {"docs"}),
        ("/etc/*", {"/etc"}),
        ("/*", {"/"}),
        ("../docs/*.md", {"../docs"}),
        ("{/etc,src}/*", {"/etc", "src"}),
        ("~/*", {"~"}),
        ("a/b", {"a/b"}),
    ],
)
def test_a_glob_starts_where_its_fixed_part_ends(pattern: str, prefixes: set[str]) -> None:
    assert set(fixed_prefixes(pattern)) == prefixes


@given(st.text(alphabet="ab{},*/[", max_size=300))
def test_braces_never_explode(pattern: str) -> None:
    assert 0 < len(alternatives(pattern)) <= MOST_ALTERNATIVES * 2


def test_a_bomb_of_braces_is_cut_short() -> None:
    assert len(alternatives("{a,b}" * 60)) <= MOST_ALTERNATIVES * 2
