"""What output that can't be told may name: the names that the commands behind it were given.

A value that is a hole may have further texts. Those are hints: whoever uses the value may use what
they say, so it is judged as if it did.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from supervisor.policy.bash.invocation import Stdin
from supervisor.policy.bash.places import looks_like_path
from supervisor.policy.bash.search import as_text, globs_of, search
from supervisor.policy.bash.shell.algebra import DATA, hinted, literal
from supervisor.policy.bash.shell.scope import Scope
from supervisor.policy.bash.value import HOLE, Text, Value

NETWORK: Final = Text("/dev/tcp/…")
"""The hint of what comes through an open connection: if it is run, the other side says what."""

_LONGEST: Final = 512
_MOST_LINES: Final = 256
_LONGEST_WHOLE: Final = 4_096
_MOST_INPUTS: Final = 4
_LONGEST_CODE: Final = 4096
_PRINTS_NAMES: Final = frozenset(
    {"realpath", "grealpath", "readlink", "greadlink", "ls", "gls", "dir", "vdir", "exa", "eza",
     "lsd", "stat", "gstat", "file", "basename", "which", "type", "whereis", "namei",
     "cygpath", "wslpath", "locate", "mlocate", "plocate", "mdfind", "echo", "printf", "compgen",
     "ag", "fd", "fdfind", "abspath"}
)  # fmt: skip
"""Programs that print names they were given, whatever these look like."""

_LISTS: Final = frozenset(
    {"ls", "gls", "dir", "vdir", "exa", "eza", "lsd", "find", "gfind", "fd", "fdfind", "locate",
     "mlocate", "plocate", "mdfind", "tree", "du", "git", "rg", "echo", "printf", "compgen"}
)  # fmt: skip
"""Programs whose output, if it is filtered, is names."""

_PRINTS_CONTENT: Final = frozenset(
    {"cat", "tac", "head", "tail", "nl", "less", "more", "bat", "batcat", "cut", "paste", "column",
     "fold", "fmt", "sort", "uniq", "shuf", "tr", "rev", "tee", "sponge", "sed", "gsed", "awk",
     "gawk", "mawk", "grep", "egrep", "fgrep", "rg", "jq", "yq", "xq", "diff", "cmp", "comm",
     "strings", "zcat", "gunzip", "gzip", "xzcat", "bzcat", "tar", "unzip", "openssl", "gpg",
     "curl", "wget", "node", "python", "python3", "perl", "ruby", "php", "bun", "deno", "pr",
     "expand", "unexpand", "iconv", "envsubst", "m4", "base64", "base32", "xxd", "od", "hexdump"}
)  # fmt: skip
"""Programs that print what their input or their files hold, or what code of theirs makes."""

_PRINTS_NEITHER: Final = frozenset(
    {"wc", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "sum", "date", "id", "kill",
     "ps", "pgrep", "lsof", "fuser", "df", "npm", "pip", "docker", "kubectl", "gh", "test",
     "[", "true", "false", "uname", "hostname", "seq", "nproc", "getconf", "ssh-agent", "mktemp",
     "cd", "dirname", "export", "set", "source", ".", "eval", "read", "sleep", "pwd", "tput", "ssh",
     "rm", "mkdir", "touch", "cp", "mv", "ln", "chmod", "chown"}
)  # fmt: skip
_PRINTS_DEVICES: Final = frozenset(
    {"lsblk", "findmnt", "df", "blkid", "losetup", "swapon", "fdisk", "sfdisk", "parted", "lsscsi",
     "pvs", "lvs", "vgs", "mount", "diskutil", "udisksctl", "nvme", "smartctl"}
)  # fmt: skip
_DEVICES: Final = (Text("/dev/sda"), Text("sda"))
"""The hints of a list of disks: one of them, as a path and as a name."""
_PLACES_OF_DEVICES: Final = ("/sys/block", "/sys/class/block", "/dev/disk", "/proc/partitions",
                             "/proc/mounts", "/etc/fstab", "/etc/mtab", "/dev/mapper")  # fmt: skip
_LISTS_SHOWN: Final = frozenset({"ls", "gls", "dir", "vdir", "exa", "eza", "lsd"})
_HERE: Final = literal(".")
_HIDDEN: Final = Text(".*", ".*")
"""The hint of a list that has hidden names too."""
_ALL: Final = re.compile(r"-\w*[aAf]\w*|--all|--almost-all")
_GREPS: Final = frozenset({"grep", "egrep", "fgrep", "rg", "ag"})
_CODE: Final = frozenset(
    {"python", "python3", "perl", "ruby", "node", "php", "bun", "deno", "awk", "gawk", "mawk", "jq",
     "lua", "tclsh"}
)  # fmt: skip
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "mksh"})
_CONNECTS: Final = frozenset(
    {"nc", "ncat", "netcat", "socat", "telnet", "nc.traditional", "nc.openbsd", "websocat",
     "cryptcat", "sbd", "dbd", "pwncat", "rcat", "rustcat", "wscat", "tcpclient", "s6-tcpclient",
     "gs-netcat"}
)  # fmt: skip
_ORDERS: Final = _CONNECTS | {"curl", "wget", "ssh"}
_GIT: Final = frozenset(
    {"ls-files", "ls-tree", "rev-parse", "diff", "diff-index", "diff-tree", "diff-files", "status",
     "grep", "check-ignore", "show"}
)  # fmt: skip
_GIT_NAMES_ONLY: Final = _GIT - {"ls-files", "ls-tree", "rev-parse", "status", "check-ignore"}
_NAMES_ONLY: Final = re.compile(r"--name-only|--name-status|--files-with-matches|-l")
_WITHOUT: Final = re.compile(
    r"-I|-E|-x|-X|--(?:exclude|ignore|hide|not)(?:-[a-z]+)*|!|-not", re.ASCII
)
"""Options before a name that is left out."""
_LEFT_OUT: Final = ("!", ":!", ":^", ":(exclude")
_GLOB_OPTIONS: Final = ("-g", "--glob", "--iglob", "--include")
_WORD: Final = re.compile(r"[^\s\"'`;|<>(){}$\\\0]+")
_QUOTED: Final = re.compile(r"\"([^\"\\\n]{1,200})\"|'([^'\\\n]{1,200})'")
_EXPRESSION: Final = re.compile(r"(\^)?((?:[\w /@:=,%~-]|\\\.|\.(?![*+?{]))+)(\$)?")
_INVERTED: Final = re.compile(r"-\w*v\w*|--invert-match")
_FIXED: Final = re.compile(r"-\w*F\w*|--fixed-strings")
_NO_LINES: Final = re.compile(r"-\w*[cqL]\w*|--count|--quiet|--silent|--files-without-match")
_LISTING: Final = re.compile(r"-[a-zA-Z]*l[a-zA-Z]*|--files-with-matches|--files")


def wholes(value: Value) -> list[Text]:
    """What a text that the call has put somewhere may be, where it says what it runs."""
    return [
        each for each in value.texts if each.text.strip(HOLE) and len(each.text) <= _LONGEST_WHOLE
    ]


def lines_in(value: Value) -> Iterator[Text]:
    """What the lines of a text that a command gets may name."""
    for each in value.texts:
        if not each.known:
            pieces = each.text.split("\n") if "\n" in each.text else []
            yield from (Text(one) for one in pieces if HOLE not in one and _is_name(one))
        elif each.pattern is not None:
            yield each
        else:
            for line in each.text.split("\n")[:_MOST_LINES]:
                if _is_name(line.strip()):
                    yield Text(line.strip())


def connects(names: Iterable[str], *, orders: bool = False) -> bool:
    """Whether one of these programs gives what comes through a connection.

    With `orders` those count too that fetch a text, as if each of its lines were an order.
    """
    some = _ORDERS if orders else _CONNECTS
    return any(name.rpartition("/")[2] in some for name in names)


def comes_from_network(path: str, scope: Scope) -> bool:
    """Whether the call has put into a file what came through a connection."""
    kept = scope.held_by(path)
    return kept is not None and NETWORK in kept.hints


def unknown_output(
    argv: Sequence[Value],
    stdin: Stdin | None,
    streams: Iterable[Stdin] = (),
    scope: Scope | None = None,
    *,
    guess: bool = True,
) -> Value:
    """The output of a command of which only its words and its input are known.

    `streams` are what its `<(…)` give; `scope` knows what the call has put into files.
    """
    made = _orders(argv, stdin) if guess else ()
    found = dict.fromkeys((*made, *_of(argv, stdin)))
    for stream in streams:
        found.update(dict.fromkeys(lines_in(stream.text)))
    for word in argv[1:] if scope is not None and scope.written else ():
        for each in word.texts:
            kept = scope.held_by(each.text) if scope is not None else None
            if kept is not None:
                found.update(dict.fromkeys(lines_in(kept.result)))
    return hinted(DATA, found)


def _orders(argv: Sequence[Value], stdin: Stdin | None) -> Iterable[Text]:
    """What its words and its input let it print, as far as it can be worked out."""
    from supervisor.policy.bash.prints.made import makes, orders  # noqa: PLC0415 - they know us

    if not makes(argv[0].texts[0].text):
        return ()
    words = [each.texts[0].text for each in argv]
    inputs = [each.text for each in stdin.text.texts] if stdin is not None else [HOLE]
    known_inputs = [each for each in inputs if each.strip(HOLE)][:_MOST_INPUTS]
    found: dict[str, None] = {}
    for each in known_inputs or (None,):
        found.update(dict.fromkeys(orders(words, each)))
    return [Text(each) for each in found]


def _of(argv: Sequence[Value], stdin: Stdin | None) -> Iterable[Text]:
    name = argv[0].texts[0].text.rpartition("/")[2]
    if name in _CONNECTS or (name == "openssl" and argv[1:] and argv[1].only == "s_client"):
        return [NETWORK]
    if name in _PRINTS_DEVICES or _lists_devices(argv):
        return _DEVICES
    if name in _PRINTS_NEITHER:
        return ()
    if name in ("find", "gfind"):
        return _search(argv)
    words = [each.texts[0].text for each in argv[1:]]
    content = name in _PRINTS_CONTENT
    if name in _GREPS:
        if not any(_LISTING.fullmatch(each) for each in words):
            return _filtered(words, stdin)
        content = False
    passed = lines_in(stdin.text) if stdin is not None else ()
    return [*passed, *_given(name, argv, stdin, content=content)]


def _given(
    name: str, argv: Sequence[Value], stdin: Stdin | None, *, content: bool
) -> Iterator[Text]:
    """What the words of a command may name."""
    if name == "git":
        yield from _git(argv)
    elif name in _CODE:
        yield from _named_in_code([*argv[1:], *([stdin.text] if stdin is not None else [])])
    elif name in _SHELLS:
        yield from _named_in_script(argv)
    elif not content:
        if name in _LISTS_SHOWN and any(_ALL.fullmatch(each.texts[0].text) for each in argv[1:]):
            yield _HIDDEN
        yield from _operands(argv, anything=name in _PRINTS_NAMES, lists=name in _LISTS)


def _lists_devices(argv: Sequence[Value]) -> bool:
    """Whether it shows what lies in a folder of disks, or a file that lists them."""
    for each in argv[1:]:
        text = each.texts[0].text
        if text[:1] == "/" and (text in ("/dev", "/dev/") or text.startswith(_PLACES_OF_DEVICES)):
            return True
    return False


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _LONGEST and _WORD.fullmatch(text) is not None


def _search(argv: Sequence[Value]) -> Iterator[Text]:
    found = search(argv)
    for start in found.starts or [_HERE]:
        for each in start.texts:
            globs = globs_of(found.printed, each.text)
            for glob in globs:
                if glob.strip("*?./"):
                    yield as_text(glob)
            if not globs and each.text[:1] == "/":
                yield as_text(f"{each.text.rstrip('/')}/*")


def _operands(argv: Sequence[Value], *, anything: bool, lists: bool) -> Iterator[Text]:
    """The words that may be names, but for those that are left out."""
    before = ""
    for word in argv[1:]:
        for each in word.texts:
            text = each.text
            if not _fits(before, text):
                continue
            if each.pattern is not None:
                yield each
            elif text[:1] == "-":
                option, equals, value = text.partition("=")
                if equals and option in _GLOB_OPTIONS and not value.startswith(_LEFT_OUT):
                    yield as_text(value)
            elif before in _GLOB_OPTIONS and text.strip("*?./"):
                yield as_text(text)
            elif lists and (name := _expressed(text)):
                yield as_text(name)
            elif _is_name(text) if anything else looks_like_path(text):
                yield Text(text)
        before = word.texts[0].text


def _fits(before: str, text: str) -> bool:
    return (
        HOLE not in text
        and text not in (".", "..")
        and len(text) <= _LONGEST
        and not text.startswith(_LEFT_OUT)
        and not _WITHOUT.fullmatch(before)
    )


def _expressed(text: str) -> str | None:
    r"""The name that an expression of a search says (`^\.env$`), if it is one."""
    if "\\" not in text and text[:1] != "^" and text[-1:] != "$":
        return None
    found = _EXPRESSION.fullmatch(text)
    if found is None:
        return None
    return f"{'' if found[1] else '*'}{found[2].replace(chr(92), '')}{'' if found[3] else '*'}"


def _git(argv: Sequence[Value]) -> Iterator[Text]:
    texts = [each.texts[0].text for each in argv]
    if _GIT.isdisjoint(texts[1:]):
        return
    at = next(at for at, text in enumerate(texts) if at and text in _GIT)
    if texts[at] in _GIT_NAMES_ONLY and not any(_NAMES_ONLY.fullmatch(each) for each in texts):
        return
    yield from _operands(argv[at:], anything=True, lists=False)


def _named_in_script(argv: Sequence[Value]) -> Iterator[Text]:
    """Words of a shell's text that look like paths."""
    for word in argv[1:]:
        for each in word.texts:
            for found in _WORD.finditer(each.text[:_LONGEST_CODE]):
                if looks_like_path(found[0]):
                    yield Text(found[0])


def _named_in_code(words: Sequence[Value]) -> Iterator[Text]:
    """Texts in quotes in the code of an interpreter that look like paths."""
    for word in words:
        for each in word.texts:
            if "'" not in each.text and '"' not in each.text:
                continue
            for found in _QUOTED.finditer(each.text[:_LONGEST_CODE]):
                text = found[1] or found[2]
                if looks_like_path(text):
                    yield Text(text)


def _filtered(words: Sequence[str], stdin: Stdin | None) -> Iterator[Text]:
    """What `grep` lets pass of names that it gets."""
    operands = [each for each in words if each[:1] != "-"]
    if stdin is None or len(operands) > 1 or any(_NO_LINES.fullmatch(each) for each in words):
        return
    lines = tuple(lines_in(stdin.text))
    lists = any(name.rpartition("/")[2] in _LISTS for name in stdin.sources)
    if not (lines or lists):
        return
    expression = operands[0] if operands else ""
    inverted = any(_INVERTED.fullmatch(each) for each in words)
    passed = False
    if lines:
        fixed = any(_FIXED.fullmatch(each) for each in words)
        fitting = _compiled(re.escape(expression) if fixed else expression)
        for each in lines:
            fits = fitting is None or bool(fitting.search(each.text)) is not inverted
            if fits or each.text == NETWORK.text:
                passed = True
                yield each
    name = _EXPRESSION.fullmatch(expression)
    if passed or inverted or not lists or stdin.text.known or name is None:
        return
    text = name[2].replace("\\", "")
    if text.strip("./ "):
        glob = f"{'' if name[1] else '*'}{text}{'' if name[3] else '*'}"
        yield as_text(glob)
        hidden = _HIDDEN in stdin.text.texts or not all(
            each.rpartition("/")[2] in _LISTS_SHOWN for each in stdin.sources
        )
        if glob[0] == "*" and hidden:
            # Of all that fits, who looks for `env` among hidden names may well mean `.env`.
            yield as_text(f".{glob}")
            yield Text(f".{text.lstrip('.')}")


def _compiled(expression: str) -> re.Pattern[str] | None:
    """The expression of a `grep`, if it is so plain that it means the same here."""
    if len(expression) > _LONGEST or not re.fullmatch(r"[\w\s.\\/@:=,%~^$-]+", expression):
        return None
    try:
        return re.compile(expression, re.IGNORECASE)
    except re.error:
        return None
