"""What the code of an interpreter gets from outside, by the words of the command that runs it."""

import re
from typing import Final

from supervisor.policy.bash.given import NOTHING_GIVEN, Given, given_of
from supervisor.policy.bash.use import Use

_EACH_LINE: Final = re.compile(r"-[a-zA-Z0-9]*[np][a-zA-Z0-9]*")
_HOLDS_CODE: Final = frozenset({"code", "command"})
_SAYS: Final = (
    "ARGV", "argv", "ENV", "getenv", "STDIN", "stdin", "<>", "...", "commandArgs", "parse_args",
    "docopt", "click", "typer", "fire", "getopt", "GetOptions", "OptionParser", "Deno.args",
    "readline", "readLines", "fileinput", "os.read(0", "io.read", "php://",
)  # fmt: skip
"""What code says that takes something from outside, wherever it stands."""
_WORDS: Final = (
    "ARGS", "shift", "pop", "env", "input", "gets", "$_", "arg[", "readFileSync", "open(0",
)  # fmt: skip
_AS_WORDS: Final = re.compile(
    r"\b(?:ARGS\b|shift\b|pop\b|env|input\b|gets\b|arg\[|readFileSync\(\s*0|open\(0)|\$_\b"
)
"""The same where it stands by itself. Most code has none of these, which is found out sooner."""


def given_to(use: Use) -> Given:
    """The words behind the code, the input if that isn't the code, variables that the call sets."""
    words = use.parsed.operands
    behind = (
        not _HOLDS_CODE.isdisjoint(use.tags)
        or "module" in use.tags
        or any(option.role and option.role.kind == "code" for option, _ in use.parsed.values)
    )
    stdin = use.invocation.stdin
    text = stdin.text if stdin is not None and (behind or len(words) > 0) else None
    if not behind and words and words[0].only in {"-", "/dev/stdin"}:
        text = None  # that is the code
    variables = (*use.invocation.environment, *use.environment)
    if not words and text is None and not variables:
        return NOTHING_GIVEN
    return given_of(words if behind else words[1:], text, variables)


def takes(code: str) -> bool:
    """Whether code takes anything from outside."""
    for each in _SAYS:
        if each in code:
            return True
    for each in _WORDS:
        if each in code:
            return _AS_WORDS.search(code) is not None
    return False


def each_line(use: Use) -> bool:
    """Whether the code is run for each line of its input (`perl -n`)."""
    return any(_EACH_LINE.fullmatch(each.texts[0].text) for each in use.argv[1:4])
