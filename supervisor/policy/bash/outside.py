"""What the code of an interpreter gets from outside, by the words of the command that runs it."""

import re
from typing import Final

from supervisor.policy.bash.given import NOTHING_GIVEN, Given, given_of
from supervisor.policy.bash.use import Use

_EACH_LINE: Final = re.compile(r"-[a-zA-Z0-9]*[np][a-zA-Z0-9]*")
_HOLDS_CODE: Final = frozenset({"code", "command"})
_TAKES: Final = re.compile(
    r"ARGV|argv|\bARGS\b|\bshift\b|\bpop\b|\benv|ENV|STDIN|stdin|<>|\binput\b|\bgets\b|\$_\b"
    r"|\barg\[|\.\.\."
    r"|commandArgs|parse_args|docopt|click|typer|fire|getopt|GetOptions|OptionParser"
    r"|Deno\.args|readline|readLines|\breadFileSync\(\s*0|fileinput|os\.read\(0|\bopen\(0|io\.read|getenv"
    r"|php://"
)
"""What code says that takes something from outside."""


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
    return _TAKES.search(code) is not None


def each_line(use: Use) -> bool:
    """Whether the code is run for each line of its input (`perl -n`)."""
    return any(_EACH_LINE.fullmatch(each.texts[0].text) for each in use.argv[1:4])
