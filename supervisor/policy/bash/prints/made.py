"""What a program may print that its words and its input tell: the one place that knows who reads.

These are guesses, for what a shell would run or a command would get from it: they count for what
is denied, and never make anything known.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from supervisor.policy.bash.given import Given
from supervisor.policy.bash.prints import filters
from supervisor.policy.bash.value import HOLE

_LONGEST: Final = 4_096
_MOST: Final = 24
_ORDER: Final = re.compile(r"\s*[\w./~\\$\"'({-]*[A-Za-z]")
_LANGUAGES: Final = {
    "perl": "perl", "ruby": "ruby", "irb": "ruby", "node": "javascript", "nodejs": "javascript",
    "bun": "javascript", "deno": "javascript", "php": "php", "lua": "lua", "luajit": "lua",
    "Rscript": "r", "R": "r", "julia": "julia",
}  # fmt: skip
_PYTHONS: Final = frozenset({"python", "pypy", "ipython"})
_CODE: Final = frozenset({"-c", "-e", "-E", "-r", "-p", "-pe", "-ne", "-le", "-lne", "-lpe", "-ple",
                          "-nle", "-ane", "-lane", "-nE", "-lE", "-0777pe", "-0pe", "--eval",
                          "--print", "--execute", "eval", "-pi", "-l"})  # fmt: skip
_SHOWS: Final = frozenset({"-p", "--print", "-pe"})
_VERSION: Final = re.compile(r"[\d.]+$")
_PASSES: Final = frozenset(
    """cat tac head tail nl less more bat batcat cut paste column fold fmt sort uniq shuf tr rev tee
    sponge iconv pr expand unexpand strings gzip gunzip zcat pigz xz unxz xzcat bzip2 bunzip2 bzcat
    zstd unzstd zstdcat lz4 lzop lzma openssl gpg dd pv envsubst m4 cpp ts unbuffer dos2unix
    unix2dos recode col colrm ansifilter od xxd hexdump base64 base32 basenc uuencode uudecode
    perl ruby python node php awk sed jq yq grep parallel xargs buffer mbuffer split join look
    numfmt rg egrep fgrep ssh docker bc dc sqlite3 psql mysql ed ex vim""".split()  # noqa: SIM905
)
"""Programs that let their input through, changed or not."""
_TEXTS: Final = frozenset({"m4", "expr", "dc", "bc", "envsubst", "cowsay", "figlet", "toilet"})
_QUOTED: Final = re.compile(r"\[([^\[\]]{1,400})\]|\"([^\"\\\n]{1,400})\"|'([^'\\\n]{1,400})'")


_WRAPS: Final = frozenset(
    """timeout gtimeout stdbuf nice ionice nohup setsid env command exec time busybox toybox
    unbuffer chronic taskset chrt xargs parallel sudo doas caffeinate arch setarch chpst softlimit
    uv poetry pipenv rye pdm hatch npx bunx""".split()  # noqa: SIM905
)
_TAKES_ITEMS: Final = frozenset({"xargs", "parallel"})
_MOST_SKIPPED: Final = 8
_ECHOES: Final = frozenset({"echo", "printf", "cat"})


def base_name(word: str) -> str:
    """A program's name without folder and version."""
    base = word.rpartition("/")[2]
    return base if _reads(base) or base[-1:].isalpha() else _VERSION.sub("", base) or base


def makes(program: str) -> bool:
    """Whether anything may be worked out of what this program prints."""
    if program in _KNOWN:
        return True
    base = program.rpartition("/")[2]
    if base in _KNOWN:
        return True
    return not base[-1:].isalpha() and _VERSION.sub("", base) in _KNOWN


def _reads(name: str) -> bool:
    return name in _READ


_OTHERS: Final = frozenset(
    {"sed", "gsed", "awk", "gawk", "mawk", "nawk", "jq", "yq", "gojq", "jaq", "grep", "ggrep"}
)


_READ: Final = _PASSES | _PYTHONS | _LANGUAGES.keys() | _TEXTS | filters.JOINS | _OTHERS
_KNOWN: Final = _READ | _WRAPS


def orders(words: Sequence[str], text: str | None) -> list[str]:
    """Texts of several words that a program may print; never raises."""
    words = _unwrapped(words)
    found = dict.fromkeys(
        each.strip("\n")
        for each in _made(words, text)
        if 0 < len(each) <= _LONGEST and _ORDER.match(each)
    )
    return [each for each in found if each.strip(HOLE)][:_MOST]


def _unwrapped(words: Sequence[str]) -> Sequence[str]:
    """The words of what a wrapper starts: from the first that names a program known here."""
    if base_name(words[0]) not in _WRAPS:
        return words
    for at in range(1, min(len(words), _MOST_SKIPPED)):
        name = base_name(words[at])
        if name not in _WRAPS and (_reads(name) or name in _ECHOES):
            takes_items = name in _ECHOES and base_name(words[0]) in _TAKES_ITEMS
            return (words[0], *words[at + 1 :]) if takes_items else words[at:]
    return words


def _made(  # noqa: C901 - a case a kind of program
    words: Sequence[str], text: str | None
) -> Iterator[str]:
    name = base_name(words[0])
    rest = words[1:]
    given = text if text is not None and text.strip(HOLE) and len(text) <= _LONGEST else None
    if name in {"sed", "gsed"}:
        yield from filters.sed(rest, given)
    elif name in {"awk", "gawk", "mawk", "nawk"}:
        from supervisor.policy.bash.prints.awk import awk  # noqa: PLC0415 - only where it is used

        yield from awk(rest, given)
    elif name in {"jq", "yq", "gojq", "jaq"}:
        yield from _filtered(name, rest, given)
    elif name in {"grep", "egrep", "fgrep", "rg", "ggrep"}:
        if given is not None:
            yield filters.grep(rest, given)
    elif name in _PYTHONS or name in _LANGUAGES:
        yield from _code(name, rest, given)
    elif name in _TEXTS:
        for each in (*rest, given or ""):
            yield each
            yield from (next(filter(None, one), "") for one in _QUOTED.findall(each[:_LONGEST]))
    elif name in _ECHOES:
        from supervisor.policy.bash.shell.outputs import printed  # noqa: PLC0415 - it knows us

        yield printed(list(words), given) or ""
    elif name in filters.JOINS and given is not None:
        yield " ".join((*(rest if name == "xargs" else ()), filters.joined_lines(given)))
    if given is not None and name in _PASSES and name not in {"grep", "egrep", "fgrep", "rg"}:
        yield given


def _filtered(name: str, words: Sequence[str], text: str | None) -> Iterator[str]:
    from supervisor.policy.bash.prints.jq import jq  # noqa: PLC0415 - as above

    made = jq(words, text)
    if made:
        yield "\n".join(made)
    elif text is None or name == "yq":
        for each in words:
            if each[:1] != "-":
                yield from re.findall(r'"((?:[^"\\]|\\.)*)"', each[:_LONGEST])


def _code(name: str, words: Sequence[str], text: str | None) -> Iterator[str]:
    if name in _PYTHONS and "-m" in words[:-1]:
        from supervisor.policy.bash.shell.outputs import printed  # noqa: PLC0415 - it knows us

        # A module called like a program does the same.
        yield printed(list(words[words.index("-m") + 1 :]), text) or ""
    at = next((at for at, each in enumerate(words) if _holds_code(each)), None)
    option = words[at] if at is not None else ""
    if at is not None and at + 1 < len(words):
        source, rest = words[at + 1], tuple(words[at + 2 :])
    elif all(each in {"-", "-u", "-q"} or each[:1] != "-" for each in words) and text is not None:
        if words and words[0] != "-":
            return  # a file that isn't read here
        source, rest, text = text, tuple(words[1:]), None
    else:
        return
    if len(source) > _LONGEST:
        return
    given = Given(rest, text)
    if name in _PYTHONS:
        from supervisor.policy.bash.prints.python import python  # noqa: PLC0415 - as above

        yield from python(source, given, "~")
        return
    from supervisor.policy.bash.prints.code import code  # noqa: PLC0415 - as above

    language = _LANGUAGES[name]
    each_line = language in {"perl", "ruby"} and bool(re.fullmatch(r"-\w*[np]\w*", option))
    shown = option in _SHOWS and not each_line
    yield from code(language, source, given, "~", shown=shown, lines=each_line)
    if each_line and text is not None:
        yield from filters.sed(["-E", source], text)


def _holds_code(word: str) -> bool:
    return word in _CODE or bool(re.fullmatch(r"-[lnpa0-7wF]*[eE]", word))
