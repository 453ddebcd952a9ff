"""What a glob can mean."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from supervisor.policy.globs import (
    MOST_ALTERNATIVES,
    MOST_STEPS,
    alternatives,
    expand,
    fixed_prefixes,
    is_understood,
    only_means_denied,
)
from tests.worlds.policy_world import shipped_policy

DENIED = shipped_policy().denied


@pytest.mark.parametrize(
    "pattern",
    [".env", ".env*", "**/.env", "**/.env*", "{.env,.env.local}", "[.]env", ".e[n]v", "*.pem",
     "**/credentials*.json", "keys/id_rsa*", "a/{b,.env}", "{a,{b,.env}}",
     "{.env}", ".e{n}v", ".{e{n}v}", "{{.env}}", "{{{a,.env}}}", "**/{.env}", ".e[mn]v",
     ".e[a-z]v", "\\.env", ".e\\nv",
     ".en@(v)", ".+(e|n|v)", ".?(e)nv", "./.[e]*", ".[e]n*", "id_@(rsa|ed25519)"],
)  # fmt: skip
def test_a_glob_written_for_denied_names_is_known(pattern: str) -> None:
    assert only_means_denied(pattern, DENIED) is not None


@pytest.mark.parametrize(
    "pattern",
    ["*", "**/*", "*.md", "*.json", "*env*", "**/*keyboard*", "*.example", ".env.example",
     "docs/**",
     "{a,b}", "src/*.py", ".*", "[!a]*",
     "*.@(md|txt)", "!(*.md)", "+([0-9]).txt", ".@(git|github)*", ".!(x)", "*.+(ts|tsx)"],
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


@pytest.mark.parametrize("pattern", ["{a,b}" * 60, "{" * (MOST_STEPS + 1) + "}" * (MOST_STEPS + 1)])
def test_a_pattern_that_was_cut_short_says_so(pattern: str) -> None:
    assert not expand(pattern).complete
    assert not is_understood(pattern)


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [("{.env}", {".env"}), (".e{n}v", {".env"}), ("{{a}}", {"a"}), ("{a,{b}}", {"a", "b"})],
)
def test_a_brace_of_one_choice_is_that_choice(pattern: str, texts: set[str]) -> None:
    assert set(alternatives(pattern)) == texts
    assert is_understood(pattern)


def test_a_range_is_written_out_for_a_shell_alone() -> None:
    assert set(alternatives(".e{m..o}v", ranges=True)) == {".emv", ".env", ".eov"}
    assert set(alternatives("{2..1}", ranges=True)) == {"2", "1"}
    assert alternatives(".e{m..o}v") == (".em..ov",)


@pytest.mark.parametrize(
    "pattern", ["{.env", ".env}", "[.env", "\\.env", "[[:alpha:]]env", "{a,{b}", "x]"]
)
def test_a_glob_whose_meaning_differs_between_readers_is_not_understood(pattern: str) -> None:
    assert not is_understood(pattern)


@pytest.mark.parametrize("pattern", ["*.md", "[a-z]*.py", "{a,b}/**", "[!a]x", "[id].tsx", "a?"])
def test_an_ordinary_glob_is_understood(pattern: str) -> None:
    assert is_understood(pattern)


@given(st.text(alphabet="ab.env{},*?/[]!-\\", max_size=60))
@example("[[-?[??][[[[a")
def test_any_glob_is_read_without_failing(pattern: str) -> None:
    is_understood(pattern)
    only_means_denied(pattern, DENIED)
    assert fixed_prefixes(pattern)


@pytest.mark.parametrize("pattern", ["{a,b}" * 400_000, "{a}" * 700_000, "{a,{b}}" * 300_000])
def test_a_long_pattern_is_not_multiplied(pattern: str) -> None:
    found = expand(pattern)
    assert sum(map(len, found.texts)) <= 4 * len(pattern)
    assert not found.complete
    assert not is_understood(pattern)


@pytest.mark.parametrize("length", [10, 20_000, 3_000_000])
def test_what_stands_beside_a_long_choice_is_seen(length: int) -> None:
    assert ".env" in expand("{.env," + "z" * length + "}").texts


def test_a_long_name_without_braces_is_whole() -> None:
    assert expand("a" * 20_000).complete
