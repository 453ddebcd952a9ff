"""Whatever the text: the reader answers, in bounded work, and wrapping hides nothing."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.policy.bash.read import Budget
from tests.worlds.shell_reading import programs, reading

PIECES = [
    "$(", ")", "`", '"', "'", "\\", "\n", " ", ";", "&", "|", "<<E\n", "E\n", "<", ">", "{", "}",
    "${", "$x", "((", "))", "[[", "]]", "if ", "then ", "fi ", "for x in ", "do ", "done ",
    "case x in ", "esac ", "a)", ";;", "f()", "f ", "eval ", "x=", "a=(", "$((", "*", "?", "[", "]",
    "~", "!", "time ", "coproc ", "#", "<(", ">(", "{a,b}", "$'", "\t", "$@", ":-", "%", "/", "@P",
    "read x", "set -- ", "cd ", "echo ", "while ", "trap ", "alias f=", "declare -i ", "é", "\r",
    "&&", "||", "<<<", "<<-E\n", "$[", "=", "+=", ",", "..", "0", "\ue000", "\x7f", "\u2028", "\0",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@settings(max_examples=400, deadline=None)
def test_no_text_of_shell_pieces_makes_it_raise(text: str) -> None:
    reading(text)


@given(st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_no_text_at_all_makes_it_raise(text: str) -> None:
    reading(text)


def quoted_at_random(word: str, source: random.Random) -> str:
    """The word in other clothes."""
    made = []
    for letter in word:
        plain = letter if letter.isalnum() or letter in "-/." else f"\\{letter}"
        clothes = [plain, f"'{letter}'", f'"{letter}"', f"\\{letter}", f"$'\\x{ord(letter):02x}'",
                   f"{plain}''", f'""{plain}', f"\\\n{plain}", f"$(echo '{letter}')"]  # fmt: skip
        made.append(source.choice(clothes))
    return "".join(made)


WRAPPERS = [
    "{}", "true && {}", "{{ {}; }}", "( {} )", "if true; then {}; fi", "for i in 1; do {}; done",
    "f() {{ {}; }}; f", "echo $( {} )", "cat <({})", "time {}", "! {}", "coproc {{ {}; }}",
    "x=$( {} )", "case a in a) {};; esac", "cat <<END\n$( {} )\nEND",
    "while true; do {}; break; done", "{} | cat", "cat <<END; {}\nx\nEND",
]  # fmt: skip


@given(st.randoms(use_true_random=False), st.lists(st.sampled_from(WRAPPERS), max_size=4))
@settings(max_examples=300, deadline=None)
def test_quoting_and_wrapping_keep_a_commands_words(
    source: random.Random, wrappers: list[str]
) -> None:
    text = " ".join(quoted_at_random(each, source) for each in ("rm", "-rf", "/x y"))
    for depth, wrapper in enumerate(wrappers):
        text = wrapper.replace("END", f"END{depth}").format(text)
    assert "rm -rf /x y" in programs(text), text


@given(st.lists(st.sampled_from(["'", '"', "$'"]), min_size=1, max_size=3))
@settings(max_examples=50, deadline=None)
def test_a_text_quoted_for_eval_keeps_its_words(quotes: list[str]) -> None:
    text = "rm -rf /x"
    for _ in quotes:
        text = "eval '" + text.replace("'", "'\\''") + "'"
    assert "rm -rf /x" in programs(text)


HEAVY = [
    "x|", "a=(", "$[", ">", "<<<", "${a", "<<E ", "`", "$(", "( ", "{ ", '"$(', "$((", "ls && ",
    "ls;",
    "if true; then ", "cat <(", "f() { ", "\\\n", "\\", '"', "'", "{a,", "{a,b}", "[[ ", "((", "! ",
    "time ", "coproc ", "eval ", "for i in 1; do ", "[", "a[", "@(", "*", "\n", "\t", "a&",
]  # fmt: skip


@pytest.mark.parametrize("piece", HEAVY)
def test_work_is_bounded_whatever_is_repeated(piece: str) -> None:
    budget = Budget()
    found = reading(piece * (100_000 // len(piece)), budget)
    assert len(found.invocations) <= 1_500
    assert budget.steps > -50
    assert budget.pieces > -50


@pytest.mark.parametrize("size", [1_000_000, 200_000])
def test_what_is_too_long_is_said_to_be(size: int) -> None:
    (one,) = reading("a" * size).unresolved
    assert "too long" in one.reason


def test_a_long_document_is_not_too_long_to_write() -> None:
    text = "cat > x <<'EOF'\n" + "line $(id) `id`\n" * 4_000 + "EOF\nls"
    assert programs(text) == ["cat", "ls"]
    assert not reading(text).unresolved


def test_a_chain_of_thousands_is_read_without_deep_recursion() -> None:
    assert len(programs(" && ".join(["true x", "ls"] * 600))) == 600


def test_what_stands_before_the_limit_is_reported() -> None:
    found = reading("id -u; " + "ls; " * 20_000)
    assert found.unresolved
    assert found.invocations[0].argv[0].only == "id"


@pytest.mark.parametrize(
    "text",
    [
        "x='eval \"$x\"'; eval \"$x\"", "f() { f; }; f", "a=b b=a; echo $((a+b))",
        "eval " * 300 + "ls",
        "x=aaaaaaaa; " + "x=$x$x; " * 60 + "ls", "while a; do " * 12 + "ls; " + "done; " * 12,
        "for a in 1 2 3 4 5 6 7 8; do x=$x$a; " * 6 + "ls; " + "done; " * 6, "echo {1..99999999}",
        "x=$(printf '%9999s' a); x=$x$x$x$x$x$x$x$x; echo ${x##*a*a*a*b}", "echo $((9**9**9))",
        "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}; " for n in range(25)) + "f0",
        "source /dev/stdin <<< 'source /dev/stdin'", "alias a='a b'; a", "trap 'trap x EXIT' EXIT",
    ],
)  # fmt: skip
def test_texts_that_grow_or_turn_in_circles_end(text: str) -> None:
    reading(text)
