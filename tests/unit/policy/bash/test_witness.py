"""tree-sitter vouches for what the grammar read."""

from pathlib import Path

import pytest

from supervisor.policy.bash.shell.grammar import Grammar
from supervisor.policy.bash.shell.limits import Budget
from supervisor.policy.bash.shell.witness import overlooked

TEXTS = [
    "ls", "ls -la | wc -l && git status", "cd a && rm -rf b; echo $(id) > f", "FOO=1 ls é; id -u",
    "if a; then b; else c; fi", 'for f in *; do cat "$f"; done', "f() { ls; }; f",
    "case x in a) ls;; esac", "while read l; do echo $l; done < f", "diff <(a) <(b)",
]  # fmt: skip
CASES = Path(__file__).with_name("words_of_bash.txt").read_text().rstrip("\n").split("\n%%\n")


@pytest.mark.parametrize("text", TEXTS + CASES)
def test_the_two_parsers_agree_on_what_both_can_read(text: str) -> None:
    grammar = Grammar(text, Budget())
    grammar.whole()
    assert overlooked(text, grammar.starts) is None


@pytest.mark.parametrize("text", TEXTS)
def test_a_command_that_only_tree_sitter_sees_is_noticed(text: str) -> None:
    grammar = Grammar(text, Budget())
    grammar.whole()
    hidden = grammar.starts[-1]
    starts = [each for each in grammar.starts if each != hidden]
    assert overlooked(text, starts) == hidden


def test_where_tree_sitter_is_known_to_err_it_is_not_asked() -> None:
    assert overlooked("cat <<E\n`id`\nE", []) is None
