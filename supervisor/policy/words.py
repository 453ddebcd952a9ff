"""The words of a shell command that may name files: a careful split, not a parse.

Best effort, until commands are judged by their structure: it sees names that stand in the
command, in quotes or not, behind redirects, `=`, options, in substitutions and in code handed to
an interpreter. It doesn't see names that the command puts together as it runs (variables, `cd`
into a folder and a name that is harmless by itself, encoded text). What holds against those is the
cage of the level, and the person who is asked.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from supervisor.policy.globs import expand
from supervisor.policy.shell_split import Command, Word, split_shell

LONGEST_COMMAND = 65_536
"""Characters; a longer command isn't looked through."""
MOST_WORDS = 512
LONGEST_WORD = 4_096
"""Characters: no path is longer (PATH_MAX), and a longer word isn't looked into."""
DEEPEST = 6
"""Substitutions and nested shells that are followed."""

INTERPRETERS = frozenset(
    """sh bash dash zsh ksh ash fish busybox eval source xargs ssh su env timeout nohup watch find
    python python2 python3 perl ruby node deno bun php lua awk gawk mawk sed tclsh osascript pwsh
    powershell parallel""".split()  # noqa: SIM905  (a table to read)
)
"""Programs that run text they are given: a quoted text with blanks is looked through as well."""
SPEAKERS = frozenset({"echo", "printf", ":", "true", "false"})
"""Their arguments are text, unless the text is piped on."""
SEARCHERS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"})
"""Their first argument is a pattern, unless it was given by an option."""
TEXT_OPTIONS = frozenset({"-m", "--message", "--grep", "--author", "-S", "-G", "--title", "--body"})
"""Options of `git` and `gh` whose value is text."""

_OPTION_VALUE = re.compile(r"-[A-Za-z](?=[^-=])")
_SPLIT_CODE = re.compile(r"[\s'\"`()\[\]{},;|&<>=+]+")


@dataclass(frozen=True, slots=True)
class Words:
    """Texts that may be names; `complete` is False where a limit cut the look short."""

    words: tuple[str, ...]
    complete: bool = True


def command_words(command: str) -> Words:
    """The words of the command that may name a file, without repetition, in order."""
    if len(command) > LONGEST_COMMAND:
        return Words((), complete=False)
    found: dict[str, None] = {}
    complete = True
    pending = [(command, 0)]
    while pending:
        text, depth = pending.pop()
        if depth > DEEPEST:
            complete = False
            break
        commands, nested = split_shell(text)
        pending.extend((inner, depth + 1) for inner in nested)
        for each in commands:
            names, code = _of_command(each)
            found.update((name, None) for name in names if len(name) <= LONGEST_WORD)
            complete = complete and all(
                len(name) <= LONGEST_WORD and expand(name, ranges=True).complete for name in names
            )
            pending.extend((inner, depth + 1) for inner in code)
            if len(found) > MOST_WORDS or len(pending) > MOST_WORDS:
                return Words(tuple(found)[:MOST_WORDS], complete=False)
    return Words(tuple(found), complete)


def _of_command(command: Command) -> tuple[list[str], list[str]]:
    """The candidates of one simple command, and the texts in it that an interpreter runs."""
    arguments = [word for word in command.words if not word.redirected]
    programs = {word.text.rsplit("/", 1)[-1] for word in arguments}
    head = next((w.text.rsplit("/", 1)[-1] for w in arguments if "=" not in w.text), "")
    interpreted = not programs.isdisjoint(INTERPRETERS)
    skipped = _text_arguments(head, arguments, piped=command.piped)
    names: list[str] = []
    code = list(command.documents) if interpreted or command.piped else []
    for word in command.words:
        if id(word) in skipped:
            continue
        if word.quoted and any(c.isspace() for c in word.text):
            if interpreted:
                code.append(word.text)
                names.extend(each for each in _SPLIT_CODE.split(word.text) if each)
            else:
                names.extend(_quoted_path(word.text))
            continue
        if interpreted and word.quoted:
            names.extend(each for each in _SPLIT_CODE.split(word.text) if each)
        names.extend(_readings(word.text))
    return names, code


def _quoted_path(text: str) -> list[str]:
    """A quoted text with blanks is prose, unless it has the form of a path."""
    return [text] if "/" in text and "\n" not in text and not text.endswith((".", "!", "?")) else []


def _text_arguments(head: str, arguments: list[Word], *, piped: bool) -> set[int]:
    if head in SPEAKERS and not piped:
        return {id(word) for word in arguments}
    if head in SEARCHERS:
        texts = [word.text for word in arguments[1:]]
        if not any(t.startswith(("-e", "-f", "--regexp", "--file")) for t in texts):
            first = next((w for w in arguments[1:] if not w.text.startswith("-")), None)
            return {id(first)} if first is not None else set()
    if head in ("git", "gh"):
        pairs = pairwise(arguments)
        return {id(value) for option, value in pairs if option.text in TEXT_OPTIONS}
    return set()


def _readings(word: str) -> list[str]:
    """The word, and its parts that may be a path: `--file=X`, `-fX`, `host:X`, `@X`, `{X,Y}`."""
    readings = [word]
    if len(word) > LONGEST_WORD:
        return readings
    for each in expand(word, ranges=True).texts:
        readings.append(each)
        for separator in ("=", ":", "@", ","):
            if separator in each:
                readings.extend(part for part in each.split(separator) if part)
        option = _OPTION_VALUE.match(each)
        if option is not None:
            readings.append(each[option.end() :])
    return list(dict.fromkeys(reading for reading in readings if reading not in ("", "-", "--")))
