"""What a text starts: through lists, compound commands, functions, texts inside of texts."""

import pytest

from tests.worlds.shell_reading import programs, reading, shown, started, words

ID = "id -u"
FORMS = [
    "{}", "true; {}", "true\n{}", "true && {}", "false || {}", "{} &", "! {}", "! ! {}", "time {}",
    "time -p -- {}", "time ! {}", "time {{ {}; }}", "( {} )", "{{ {}; }}", "((1)) ; {}",
    "true | {}",
    "{} | true", "{} |& true", "if {}; then :; fi", "if :; then {}; fi",
    "if :; then :; else {}; fi",
    "if :; then :; elif {}; then :; fi", "while {}; do :; done", "until {}; do :; done",
    "while :; do {}; break; done", "for i in 1; do {}; done", "for i in 1; {{ {}; }}",
    "for i; do {}; done", "set -- a; for x do {}; done", "for ((;;)); do {}; break; done",
    "for ((i=$({});i<1;i++)); do :; done", "select x in a; do {}; done", "case x in x) {};; esac",
    "case x in x) :;;& *) {};; esac", "case $({}) in *) :; esac", "f() {{ {}; }}; f",
    "f() ( {} ); f", "function f {{ {}; }}; f", "function f() {{ {}; }} > x; f",
    "f() if :; then {}; fi; f",
    "coproc {}", "coproc {{ {}; }}", "coproc N {{ {}; }}", "[[ $({}) ]]",
    "[[ -n x && $({}) == y ]]",
    "(( $({}) ))", "echo $({})", "echo `{}`", 'echo "$({})"', 'echo "`{}`"', "echo <({})",
    "echo hi > >({})", "cat < <({})", "x=$({})", "x=($({}))", "x[$({})]=1", "x[$({})]=1 ls",
    "echo ${{x:-$({})}}", "echo ${{x:-`{}`}}", "echo ${{x:+$({})}}", "echo ${{x/$({})/a}}",
    "echo $((1 + $({})))", "echo $((a[$({})]))", "echo $[ $({}) ]", "cat <<E\n$({})\nE",
    "cat <<E\n`{}`\nE", "cat <<-E\n\t$({})\n\tE", "cat <<< $({})", "cat <<E | wc -l; {}\nx\nE",
    "cat <<E && {}\nx\nE", "cat <<E & {}\nx\nE", "cat <<'A' <<B\n$(x)\nA\n$({})\nB",
    "cat <<E\nE \nE\n{}", "echo a\\\n#b; {}", "e\\\nval '{}'", "eval '{}'", "eval {}",
    'x="{}"; eval "$x"', "trap '{}' EXIT", "exec {}", "command {}", "builtin command {}",
    "command -p {}", "exec -a name {}", "source <(echo '{}')", ". /dev/stdin <<< '{}'",
    "alias a='{}'\na", "PROMPT_COMMAND='{}'", "export PS4='$({})'; set -x; ls",
    "x='$({})'; echo ${{x@P}}",
    "let 'x[$({})]=1'", "printf -v 'a[$({})]' x", "test -v 'a[$({})]'", "[[ 'a[$({})]' -eq 0 ]]",
    "read 'a[$({})]' <<< x", "unset 'a[$({})]'", "declare -i y='z[$({})]'",
    "x='a[$({})]'; echo $((x))",
    "mapfile -C '{}' -c 1 a", "complete -C '{}' ls", "bind -x '\"a\":{}'", "echo $( (({}) ) )",
    "echo $(case x in x) {};; esac)", "echo $(echo # )\n{})", "echo `echo \\`{}\\``",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_command_is_found_wherever_it_stands(form: str) -> None:
    text = form.format(ID)
    assert ID in programs(text), started(text)


@pytest.mark.parametrize(
    "text",
    [
        "echo 'id -u'", 'echo "id -u"', "echo id -u", "# id -u", "ls # id -u", "echo a#b \\; id -u",
        "cat <<'E'\n$(id -u)\nE", "cat <<\\E\n`id -u`\nE", "cat <<E\n\\$(id -u) \\`id -u\\`\nE",
        "f() { id -u; }", "x='$(id -u)'; echo \"$x\"", "echo '`id -u`'", 'echo "\\$(id -u)"',
        "cat <<E\nE \nid -u\nE", "echo $'$(id -u)'", "case 'id -u' in a) :;; esac",
        "[[ $x == 'id -u' ]]", 'echo "use <<E here"', "alias a='id -u'",
    ],
)  # fmt: skip
def test_words_that_nothing_runs_are_no_commands(text: str) -> None:
    assert ID not in programs(text)


@pytest.mark.parametrize(
    ("text", "cwd"),
    [
        ("ls", "/v"), ("cd a; ls", "/v/a"), ("cd a && ls", "/v/a"), ("cd a || ls", "/v"),
        ("cd a || exit; ls", "/v/a"), ("(cd a); ls", "/v"), ("cd a | x; ls", "/v"),
        ("cd a & ls", "/v"), ("cd /; ls", "/"), ("cd ..; ls", "/"), ("cd; ls", "/home/u"),
        ("cd ~/x; ls", "/home/u/x"), ("cd a; cd -; ls", "/v"), ("cd a; cd ../b; ls", "/v/b"),
        ("cd $x; ls", "?"), ("cd a/$x; ls", "/v/a/?"), ("cd $(echo a); ls", "/v/a"),
        ("pushd a; popd; ls", "/v"), ("pushd a; ls", "/v/a"),
        ("if x; then cd a; fi; ls", "/v/a|/v"),
        ("f() { cd a; }; f; ls", "/v/a"), ("builtin cd a; ls", "/v/a"), ("eval 'cd a'; ls", "/v/a"),
        ("x=$(cd a); ls", "/v"), ("for d in a b; do cd $d; done; ls", "/v/a/b"), ("cd a*; ls", "?"),
    ],
)  # fmt: skip
def test_each_command_knows_its_folder(text: str, cwd: str) -> None:
    last = [each for each in reading(text).invocations if words(each) == ["ls"]][-1]
    assert shown(last.cwd) == cwd


@pytest.mark.parametrize(
    ("text", "stdin"),
    [
        ("echo a | sh", "a\n"), ("printf a | sh", "a"), ("sh <<< a", "a\n"),
        ("sh <<E\na\nE", "a\n"),
        ("cat <<E | sh\na\nE", "a\n"), ("{ echo a; echo b; } | sh", "a\nb\n"), ("ls | sh", "?"),
        ("echo a | tee f | sh", "a\n"), ("echo YQ== | base64 -d | sh", "a"), ("sh < f", "?"),
        ("{ sh; } <<< a", "a\n"), ("if true; then echo a; else echo b; fi | sh", "a\n|b\n"),
        ("for i in a b; do echo $i; done | sh", "a\nb\n"), ("sh < <(echo a)", "a\n"),
        ("exec 3<<< a; sh <&3", "a\n"), ("f() { echo $1; }; f a | sh", "a\n"),
        ("eval 'echo a' | sh", "a\n"),
        ("echo a > f | sh", ""), ("echo a >&2 | sh", ""), ("echo a | rev | tr a b | sh", "b\n"),
    ],
)  # fmt: skip
def test_what_a_shell_reads_is_known_as_far_as_it_can_be(text: str, stdin: str) -> None:
    shell = next(each for each in reading(text).invocations if words(each)[:1] == ["sh"])
    assert shell.stdin is not None
    assert shown(shell.stdin.text) == stdin


def test_a_pipe_tells_who_feeds_whom() -> None:
    curl, tee, shell = reading("curl x | tee y | sh").invocations
    assert (curl.feeds, tee.feeds) == (("tee", "sh"), ("sh",))
    assert shell.stdin is not None
    assert shell.stdin.sources == ("curl", "tee")
    assert shell.stdin.text.from_data


def test_a_process_substitution_is_known_by_its_place() -> None:
    inner, outer = reading("bash -x <(printf 'id -u') b").invocations
    assert words(inner)[0] == "printf"
    assert [(place, shown(each.text)) for place, each in outer.substitutions] == [(2, "id -u")]


def test_redirects_tell_their_direction_target_and_descriptor() -> None:
    (one,) = reading("x <a >b 2>>c <>d &>e >|f 3>g >&h 2>&1 <&- {fd}>i 5<<<j").invocations
    found = [(str(each.direction), shown(each.target), each.descriptor) for each in one.redirects]
    assert found == [
        ("read", "a", None), ("write", "b", None), ("append", "c", 2), ("both", "d", None),
        ("write", "e", None), ("write", "f", None), ("write", "g", 3), ("write", "h", None),
        ("write", "i", 10),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        ":(){ :|:& };:", ":(){:|:&};:", "f() { f | f & }; f", "b(){ b|b& };b", "f() { f & f & }; f",
        "a(){ b|b& }; b(){ a|a& }; a", ":()\n{\n : | : &\n}\n:", "eval ':(){ :|:& };:'",
        "function b { b | b & }; b", "while :; do bash & done", "while true; do ./x & done",
        "until false; do x & done", "for ((;;)); do x & done", "f() { (f); }; f",
        "f() { f | cat; }; f",
    ],
)  # fmt: skip
def test_what_starts_itself_without_end_is_a_bomb(text: str) -> None:
    assert reading(text).bombs


@pytest.mark.parametrize(
    "text",
    [
        "echo ':(){ :|:& };:'", "for i in 1 2 3; do x & done; wait", "f() { x | y & }; f",
        "f(){ [ $1 -le 0 ] || f $(($1-1)); }; f 3", "while :; do x & wait; done", ": | :",
        "while :; do x; sleep 1; done", "while read l; do x & done", "f() { x; }; f | f &",
        "w() { for d in *; do w $d | cat; done; }; w .", ":(){ :|:& }",
    ],
)  # fmt: skip
def test_what_ends_is_no_bomb(text: str) -> None:
    assert not reading(text).bombs


@pytest.mark.parametrize(
    "text",
    [
        'eval "$x"', 'eval "$(curl y)"', "source <(curl y)", "ls |", "ls &&", "& ls", "echo 'a",
        "()",
        'echo "a', "echo $(", "echo ${", "if true", "case x in", "[[ a ]", ")", "((1", "cat <<E\nx",
        "ls\0x", "f() {", "echo `a", 'trap "$x" EXIT', "export $(cat f)", "enable -f ./l x",
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_said(text: str) -> None:
    assert reading(text).unresolved


def test_what_stands_before_and_behind_a_fault_is_still_found() -> None:
    assert programs("id -u; ) ; id -g; echo 'x\nid -n")[:2] == ["id -u", "id -g"]


def test_parts_are_places_in_the_text() -> None:
    text = "ls && echo $(id -u) | wc"
    assert [text[each.part.start : each.part.end] for each in reading(text).invocations] == [
        "ls", "id -u", "echo $(id -u)", "wc",
    ]  # fmt: skip


def test_a_glob_stays_a_glob_through_a_loop() -> None:
    last = reading("for f in .e* 'b*'; do cat \"$f\"; done").invocations[-1]
    assert [(each.text, each.pattern) for each in last.argv[1].texts] == [
        (".e*", ".e*"),
        ("b*", None),
    ]


def test_quoted_characters_of_a_glob_stand_behind_backslashes() -> None:
    (one,) = reading("cat '*'.e*").invocations
    assert one.argv[1].texts[0].pattern == "\\*.e*"


def test_an_unknown_variable_is_a_hole_and_unquoted_any_number_of_words() -> None:
    assert started('rm "$x" $x a$x') == [["rm", "?", "?~~", "a?~~"]]


def test_output_is_marked_as_data() -> None:
    one = reading("curl $(cat f).example").invocations[-1]
    assert one.argv[1].from_data
    assert not reading("curl $(echo f).example").invocations[-1].argv[1].from_data


def test_functions_see_what_they_are_given() -> None:
    assert started("f() { rm -rf \"$1\" $2; }; f / 'a b'")[-1] == ["rm", "-rf", "/", "a", "b"]


def test_exported_variables_and_those_before_a_command_are_in_its_environment() -> None:
    environment = reading("export A=1; B=2 ls").invocations[-1].environment
    assert [(name, shown(value)) for name, value in environment] == [("B", "2"), ("A", "1")]
