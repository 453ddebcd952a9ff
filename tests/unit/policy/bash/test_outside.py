"""Code that takes something from outside is told from code that doesn't."""

import pytest

from supervisor.policy.bash.outside import takes


@pytest.mark.parametrize(
    "code",
    [
        "print(sys.argv[1])", "print $ARGV[0]", "x = shift;", "$_ =~ s/a/b/", "input()",
        "gets.chomp", "os.environ['A']", "process.env.A", 'readFileSync(0, "utf8")',
        "readFileSync( 0)", "open(0)", "while (<>) {}", "arg[1]", "Deno.args[0]", "print(...)",
    ],
)  # fmt: skip
def test_what_comes_from_outside_is_seen(code: str) -> None:
    assert takes(code)


@pytest.mark.parametrize(
    "code",
    ["shifted = 1", "popen('a')", "inputs = []", "my_env = 1", "gadgets()", "xarg[1]",
     "readFileSync('a')", "reopen(0)", "$_x = 1", "print(1)", ""],
)  # fmt: skip
def test_words_count_only_by_themselves(code: str) -> None:
    assert not takes(code)
