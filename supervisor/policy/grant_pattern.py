"""What a grant's pattern means: which paths, commands and tools it covers, and which can't be."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from wcmatch import glob as wcglob

from supervisor.policy.permissions import GrantKind

LONGEST_PATTERN: Final = 4_096
"""Characters of a glob, of a prefix, of a tool's name."""
LONGEST_CALL: Final = 16_384
"""Characters of a whole command behind `=`."""
MOST_WORDS: Final = 16
"""Words of a prefix."""
MOST_STARS: Final = 3
"""`*` in one part of a path, and `**` in a path: more take long to match against long names."""
WHOLE: Final = "="
"""What a pattern begins with that is a whole command."""

_FLAGS: Final = wcglob.GLOBSTAR | wcglob.DOTGLOB
_NOTHING: Final = re.compile(r"(?!)")
_STANDARD: Final = ("/bin/", "/usr/bin/")
_ANY_REST: Final = ":*"
_OPERATORS: Final = re.compile(r"""[;&|<>()`$"'\\*?{}\[\]#!~]""")
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f]")
_BRACES: Final = re.compile(r"(?<!\\)\{[^{}]*,[^{}]*\}")
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_UNESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL: Final = re.compile(r"([\\*?\[\]{}])")
_MAGIC: Final = re.compile(r"[*?\[]")
_BELOW_HOST: Final = re.compile(r"https?://[a-z0-9.-]+(?::\d+)?/", re.IGNORECASE)
_LEAVES: Final = re.compile(r"(?:^|/|\\|\{|,)\.\.|[\x00\\]|%2e", re.IGNORECASE)
"""In what lies below a folder: what leads up again, or can't be known (a NUL stands for it)."""
_TOOL: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*\Z")
_SERVER: Final = re.compile(r"mcp__[A-Za-z0-9_.-]+?__\*\Z")
_SITE: Final = re.compile(r"[A-Za-z]\w*:(?P<host>[a-z0-9_\[][a-z0-9_.:\]-]*)\Z")


def exactly(path: str) -> str:
    """The pattern of one file and no other: what is special in its name is escaped."""
    escaped = _SPECIAL.sub(r"\\\1", path)
    return f"\\{escaped}" if escaped.startswith("~") else escaped


def covers_path(pattern: str, path: str) -> bool:
    """Whether a glob covers a path that is relative to the vault and resolved.

    `*` doesn't cross a slash, `**/` stands for any folders or none, hidden names match, case
    counts; braces are plain letters. A pattern that is the path, letter by letter, covers it,
    whatever is in its name. A path that isn't plainly inside the vault (absolute, with `..`, `.` or
    empty parts) is covered by nothing.
    """
    return is_plain(path) and (pattern == path or _compiled(pattern).match(path) is not None)


def is_plain(path: str) -> bool:
    """Whether a path is relative, and each of its parts is a name."""
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def fixed_part(pattern: str) -> str:
    """The path that all matches of a glob are, or lie in; empty if that is the whole vault."""
    kept: list[str] = []
    for part in pattern.split("/"):
        if _MAGIC.search(_ESCAPED.sub("", part)):
            break
        kept.append(_UNESCAPED.sub(r"\1", part))
    return "/".join(kept)


def covers_command(pattern: str, words: Sequence[str]) -> bool:
    """Whether a prefix is the leading words of a command, word by word: `git log` or `git log:*`.

    A program in `/bin` or `/usr/bin` is the same as by its bare name. A whole command (`=`) covers
    no other by its first words: see `covers_call`.
    """
    return bool(covered_words(pattern, words))


def covered_words(pattern: str, words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command that a prefix stands for; none if it covers another command.

    A last word with a slash at its end stands for what lies below it: `rm ./tmp/` for
    `rm ./tmp/x`, `curl https://api.example/` for `curl https://api.example/v1`.
    """
    leading = leading_words(pattern)
    if not words or not leading:
        return ()
    own = (bare_program(words[0]), *words[1 : len(leading)])
    if own == leading:
        return own
    last = leading[-1]
    if len(own) != len(leading) or len(own) == 1 or own[:-1] != leading[:-1] or last[-1] != "/":
        return ()
    rest = () if ":" in last else words[len(own) :]
    below = all(_lies_below(last, each) for each in (own[-1], *rest) if not each.startswith("-"))
    return own if below and own[-1][0] != "-" else ()


def _lies_below(folder: str, word: str) -> bool:
    """Whether a word is a path in this folder, or an address of this host below its path."""
    if not word.startswith(folder) or _LEAVES.search(word[len(folder) :]):
        return False
    return ":" not in folder or (_BELOW_HOST.match(folder) is not None and "@" not in word)


def bare_program(program: str) -> str:
    """The program without the folder that the system keeps it in."""
    for folder in _STANDARD:
        if program.startswith(folder) and "/" not in program[len(folder) :]:
            return program[len(folder) :]
    return program


@lru_cache(maxsize=1024)
def leading_words(pattern: str) -> tuple[str, ...]:
    """The words of a prefix; none of a pattern that is a whole command."""
    return () if pattern.startswith(WHOLE) else tuple(pattern.removesuffix(_ANY_REST).split())


def covers_call(pattern: str, command: str) -> bool:
    """Whether a pattern is this very command, letter by letter but for blanks around it."""
    return pattern.startswith(WHOLE) and pattern[len(WHOLE) :].strip() == command.strip() != ""


def covers_tool(pattern: str, tool: str, hosts: Iterable[str] = ()) -> bool:
    """Whether a pattern is this tool's name, or that of its MCP server (`mcp__notes__*`)."""
    if pattern.endswith("__*"):
        return _SERVER.match(pattern) is not None and tool.startswith(pattern[:-1])
    return pattern == tool or any(pattern == f"{tool}:{host}" for host in hosts)


def validate(kind: GrantKind, pattern: str) -> str | None:
    """Why nothing can be granted by this pattern, in a sentence; None if it can."""
    if not pattern.strip():
        return "the pattern is empty"
    if "\0" in pattern:
        return "the pattern holds a NUL"
    try:
        pattern.encode()
    except UnicodeEncodeError:
        return "the pattern isn't valid Unicode"
    if kind is GrantKind.BASH:
        return _problem_of_command(pattern)
    if len(pattern) > LONGEST_PATTERN:
        return f"the pattern has more than {LONGEST_PATTERN} characters"
    return _problem_of_tool(pattern) if kind is GrantKind.TOOL else _problem_of_glob(pattern)


def _problem_of_glob(pattern: str) -> str | None:
    parts = pattern.split("/")
    bare = [_ESCAPED.sub("", part) for part in parts]
    stars = max(sum("**" in part for part in bare), *(part.count("*") for part in bare))
    faults = (
        (
            pattern.startswith(("/", "~")),
            "the pattern must be relative to the vault: no grant opens the outside",
        ),
        (".." in parts, "the pattern has `..`: it must stay in the vault"),
        ("." in parts or "" in parts, "the pattern has an empty part, or one that is `.`"),
        (
            _BRACES.search(pattern) is not None,
            "braces aren't alternatives here: give a grant for each",
        ),
        (
            stars > MOST_STARS,
            f"the pattern has more than {MOST_STARS} stars in a part, or `**` parts",
        ),
        (_compiled(pattern) is _NOTHING, "the pattern is no glob"),
    )
    return next((problem for wrong, problem in faults if wrong), None)


def _problem_of_command(pattern: str) -> str | None:
    whole = pattern.startswith(WHOLE)
    words = leading_words(pattern)
    longest = LONGEST_CALL if whole else LONGEST_PATTERN
    if len(pattern) > longest:
        return f"the pattern has more than {longest} characters"
    if whole:
        return None if pattern[len(WHOLE) :].strip() else "there is no command behind `=`"
    if _UNSEEN.search(pattern) or _OPERATORS.search(pattern.removesuffix(_ANY_REST)):
        return (
            "a prefix is plain words of one command; to grant a whole call as it stands, put `=` "
            "in front of it"
        )
    if not words or "=" in words[0]:
        return "the pattern names no command"
    return f"the prefix has more than {MOST_WORDS} words" if len(words) > MOST_WORDS else None


def _problem_of_tool(pattern: str) -> str | None:
    if _TOOL.match(pattern) or _SERVER.match(pattern) or _SITE.match(pattern):
        return None
    return (
        "give a tool's exact name, an MCP server's tools as `mcp__SERVER__*`, or a domain as "
        "`WebFetch:example.org`"
    )


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    relative = not pattern.startswith("/") and ".." not in pattern.split("/")
    if len(pattern) > LONGEST_PATTERN or not relative:
        return _NOTHING
    try:
        sources = wcglob.translate(pattern.removeprefix("./"), flags=_FLAGS)[0]
        return re.compile("|".join(f"(?:{source})" for source in sources) or r"(?!)")
    except (re.error, ValueError):
        return _NOTHING
