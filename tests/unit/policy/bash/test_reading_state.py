"""What the shell's state makes of a command: references, exports, descriptors, output."""

import pytest

from supervisor.policy.bash.effect import ShellContext
from supervisor.policy.bash.read import Budget, Shell, read_script
from tests.worlds.shell_reading import CONTEXT, programs, reading, shown, started


@pytest.mark.parametrize(
    "text",
    [
        "$(which rm) -rf /", '"$(type -P rm)" -rf /', "`hash -t rm` -rf /",
        "r=$(which rm); $r -rf /",
        "declare -n n=c; c=/usr/bin/rm; $n -rf /",
    ],
)  # fmt: skip
def test_a_program_that_is_looked_up_is_known(text: str) -> None:
    assert programs(text)[-1] == "/usr/bin/rm -rf /"


@pytest.mark.parametrize("name", ["$SHELL", "$BASH", '"${SHELL:-/bin/sh}"', "exec $SHELL"])
def test_the_variables_that_name_a_shell_name_one(name: str) -> None:
    assert programs(f"{name} -c ls") == ["/bin/bash -c ls"]


def test_the_environment_says_which_shell_it_is() -> None:
    fresh = Shell.fresh(ShellContext("/v", "/home/u", {"SHELL": "/bin/zsh"}))
    (one,) = read_script("$SHELL -c ls", fresh, Budget()).invocations
    assert shown(one.argv[0]) == "/bin/zsh"


def test_exported_functions_reach_a_shell_as_bash_hands_them_on() -> None:
    last = reading("f() { cat x; }; export -f f; bash -c f").invocations[-1]
    assert [(name, shown(value)) for name, value in last.environment] == [
        ("BASH_FUNC_f%%", "() { cat x; }")
    ]
    fresh = Shell.fresh(CONTEXT)
    inner = Shell(fresh.cwd, fresh.home, dict(last.environment))
    (one,) = read_script("f", inner, Budget()).invocations
    assert [shown(each) for each in one.argv] == ["cat", "x"]


@pytest.mark.parametrize("text", ['cat "$(echo .e*)"', 'x=$(compgen -G ".e*"); cat "$x"'])
def test_a_glob_that_is_printed_stays_one(text: str) -> None:
    assert reading(text).invocations[-1].argv[1].texts[0].pattern == ".e*"


@pytest.mark.parametrize(
    "text",
    [
        "coproc sh; echo ls >&${COPROC[1]}", "coproc S { sh; }; echo ls >&${S[1]}",
        "echo ls > >(sh)", "tee >(sh) <<< ls",
    ],
)  # fmt: skip
def test_what_listens_to_a_command_gets_what_it_prints(text: str) -> None:
    heard = [each.stdin for each in reading(text).invocations if shown(each.argv[0]) == "sh"]
    assert "ls\n" in [shown(each.text) for each in heard if each is not None]


def test_an_open_descriptor_is_known_by_its_path() -> None:
    (_, one) = reading("exec 3<<< ls; sh /dev/fd/3").invocations
    assert [(place, shown(each.text)) for place, each in one.substitutions] == [(1, "ls\n")]
    assert programs("source /dev/fd/3 3<<< ls") == ["ls"]


def test_of_a_case_only_what_may_fit_is_walked() -> None:
    assert programs("x=a; case $x in b) ls b;; [a-c]) ls a;; *) ls c;; esac") == ["ls a"]


@pytest.mark.parametrize(
    "text",
    [
        "case $1 in b) ls;; esac", "x=a; g && x=b; case $x in b) ls;; esac",
        "x=a; . ./f; case $x in b) ls;; esac", "readonly x=b; x=a; case $x in b) ls;; esac",
        "trap 'x=b' DEBUG; x=a; case $x in b) ls;; esac", "case A in a) ls;; *) ;; esac",
        "x=a; while read x; do case $x in b) ls;; esac; done", "case x in +(x)) ls;; esac",
        "for ((i=0;i<3;i++)); do case $i in 2) ls;; esac; done",
        "x=a; until case $x in b) ls;; esac; do x=b; done", "case b in a) ;& c) ls;; esac",
    ],
)  # fmt: skip
def test_a_case_that_may_fit_is_walked(text: str) -> None:
    assert "ls" in programs(text)


def test_temporary_files_have_names_of_their_own() -> None:
    first, second = started('a=$(mktemp); b=$(mktemp); cat "$a" "$b"')[-1][1:]
    assert first != second
    assert "?" not in first + second


@pytest.mark.parametrize(
    "text",
    [
        "declare 'a[$(ls)]=1'", "wait -n -p 'a[$(ls)]'", "x='a[$(ls)]'; [[ x -eq 1 ]]",
        "compgen -W '$(ls)'", "declare -a a='($(ls))'",
    ],
)  # fmt: skip
def test_what_hides_in_a_subscript_or_a_list_of_words_is_found(text: str) -> None:
    assert "ls" in programs(text)


def test_what_an_unknown_prompt_runs_cannot_be_told() -> None:
    assert reading('echo "${x@P}"').unresolved


def test_words_behind_an_alias_are_expanded() -> None:
    assert started("x=/; alias l='ls -l'\nl $x")[-2] == ["ls", "-l", "/"]
