"""What harmless programs print, where their words and their input are known."""

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Final

from supervisor.policy.bash.shell.escapes import echo_escapes, printf_escapes
from supervisor.policy.bash.shell.printf import formatted
from supervisor.policy.bash.value import HOLE

Printer = Callable[[Sequence[str], str | None], str | None]
"""From a program's operands and input to its output; None if it can't be told."""

_LONGEST: Final = 64 * 1024
_MOST_NUMBERS: Final = 256
_MOST_LINES: Final = 16
_PROGRAM: Final = re.compile(r"[A-Za-z0-9_./+\[-]+")
_ECHO_OPTIONS: Final = re.compile(r"-[neE]+")
_SET: Final = {
    "[:lower:]": "abcdefghijklmnopqrstuvwxyz", "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "[:digit:]": "0123456789", "[:space:]": " \t\n\r\v\f", "[:blank:]": " \t",
}  # fmt: skip
_SED: Final = re.compile(r"s([/|,#:!])((?:(?!\1)[^\\\[\].*^$])*)\1((?:(?!\1)[^\\&])*)\1(g?)")


def _echo(words: Sequence[str], _: str | None) -> str | None:
    newline, escapes = True, False
    place = 0
    while place < len(words) and _ECHO_OPTIONS.fullmatch(words[place]):
        for letter in words[place][1:]:
            newline = newline and letter != "n"
            escapes = letter == "e" or (escapes and letter != "E")
        place += 1
    text = " ".join(words[place:])
    if escapes:
        text, stopped = echo_escapes(text)
        newline = newline and not stopped
    return text + "\n" if newline else text


def _printf(words: Sequence[str], _: str | None) -> str | None:
    return None if words[:1] == ["-v"] else formatted(list(words))


def _cat(words: Sequence[str], text: str | None) -> str | None:
    if any(each not in ("-", "-u", "--") for each in words):
        return None
    return text


def _base64(words: Sequence[str], text: str | None) -> str | None:
    decode = any(each in ("-d", "-D", "--decode", "-di", "-id") for each in words)
    if (
        text is None
        or HOLE in text
        or any(
            each
            not in ("-d", "-D", "--decode", "-di", "-id", "-i", "-w0", "-w", "0", "-", "--wrap=0")
            for each in words
        )
    ):
        return None
    if not decode:
        return base64.b64encode(text.encode()).decode() + ("" if "-w0" in words else "\n")
    return _decoded(lambda: base64.b64decode(re.sub(r"[^A-Za-z0-9+/=]", "", text)))


def _base32(words: Sequence[str], text: str | None) -> str | None:
    if text is None or HOLE in text or list(words) not in (["-d"], ["--decode"], ["-D"]):
        return None
    return _decoded(lambda: base64.b32decode(re.sub(r"\s", "", text)))


def _xxd(words: Sequence[str], text: str | None) -> str | None:
    letters = {each for word in words if word != "-" for each in word.lstrip("-")}
    if text is None or HOLE in text or not {"r", "p"} <= letters or letters - set("rps"):
        return None
    return _decoded(lambda: binascii.unhexlify(re.sub(r"[^0-9A-Fa-f]", "", text)))


def _openssl(words: Sequence[str], text: str | None) -> str | None:
    known = {"base64", "enc", "-base64", "-d", "-a", "-A"}
    if set(words) - known or "-d" not in words or not {"base64", "-base64", "-a"} & set(words):
        return None
    return _base64(["-d"], text)


def _decoded(decode: Callable[[], bytes]) -> str | None:
    try:
        return decode().decode("utf-8", "replace").replace("\0", "")
    except (ValueError, binascii.Error):
        return None


def _rev(words: Sequence[str], text: str | None) -> str | None:
    if words or text is None:
        return None
    return "\n".join(line[::-1] for line in text.split("\n"))


def _tac(words: Sequence[str], text: str | None) -> str | None:
    if words or text is None:
        return None
    return "".join(reversed(text.splitlines(keepends=True)))


def _characters(text: str) -> str | None:
    for name, members in _SET.items():
        text = text.replace(name, members)
    if "[" in text or "\\" in text:
        text, _ = printf_escapes(text)
        if "[" in text:
            return None
    made: list[str] = []
    place = 0
    while place < len(text):
        if text[place + 1 : place + 2] == "-" and place + 2 < len(text):
            first, last = ord(text[place]), ord(text[place + 2])
            if last < first or last - first > _MOST_NUMBERS:
                return None
            made.extend(chr(each) for each in range(first, last + 1))
            place += 3
        else:
            made.append(text[place])
            place += 1
    return "".join(made)


def _tr(words: Sequence[str], text: str | None) -> str | None:  # noqa: PLR0911 - one for each form
    if text is None or HOLE in text or not words:
        return None
    options = ""
    words = list(words)
    while words and words[0].startswith("-") and len(words[0]) > 1:
        options += words.pop(0).lstrip("-")
    sets = [_characters(each) for each in words]
    if None in sets or set(options) - set("ds") or not sets:
        return None
    first = sets[0] or ""
    if "d" in options:
        return "".join(each for each in text if each not in first) if len(sets) == 1 else None
    if "s" in options:
        if len(sets) != 1:
            return None
        return re.sub("([" + re.escape(first) + r"])\1+", r"\1", text) if first else text
    if len(sets) == 1 or len(sets[1:]) > 1 or not sets[1]:
        return None
    second = sets[1].ljust(len(first), sets[1][-1])
    table: dict[int, str] = {}
    for source, target in zip(first, second, strict=False):
        table[ord(source)] = target
    return text.translate(table)


def _sed(words: Sequence[str], text: str | None) -> str | None:
    words = [each for each in words if each != "-e"]
    match = _SED.fullmatch(words[0]) if len(words) == 1 else None
    if match is None or text is None:
        return None
    old, new, every = match[2], match[3], match[4]
    if not old:
        return None
    return "\n".join(line.replace(old, new, -1 if every else 1) for line in text.split("\n"))


def _cut(words: Sequence[str], text: str | None) -> str | None:
    if text is None or HOLE in text:
        return None
    joined = " ".join(words)
    match = re.fullmatch(r"-c ?([0-9]*)(-?)([0-9]*)", joined)
    if match is not None and (match[1] or match[3]):
        first = max(int(match[1] or 1) - 1, 0)
        last = (int(match[3]) if match[3] else None) if match[2] else first + 1
        return "".join(line[first:last] + "\n" for line in text.splitlines())
    match = re.fullmatch(r"-d ?(.) -f ?([0-9]+)", joined) or None
    if match is None:
        swapped = re.fullmatch(r"-f ?([0-9]+) -d ?(.)", joined)
        if swapped is None:
            return None
        mark, number = swapped[2], int(swapped[1])
    else:
        mark, number = match[1], int(match[2])
    made = []
    for line in text.splitlines():
        pieces = line.split(mark)
        made.append((line if len(pieces) == 1 else "".join(pieces[number - 1 : number])) + "\n")
    return "".join(made)


def _ends(*, first: bool) -> Printer:
    def printer(words: Sequence[str], text: str | None) -> str | None:
        match = re.fullmatch(r"(?:-n ?|-|--lines=|-(c) ?)?([0-9]+)?", " ".join(words))
        if text is None or match is None or (words and not match[2]):
            return None
        count = int(match[2] or 10)
        if match[1]:
            return text[:count] if first else text[max(len(text) - count, 0) :]
        lines = text.splitlines(keepends=True)
        return "".join(lines[:count] if first else lines[max(len(lines) - count, 0) :])

    return printer


def _seq(words: Sequence[str], _: str | None) -> str | None:
    try:
        numbers = [int(each) for each in words]
    except ValueError:
        return None
    match numbers:
        case [last]:
            first, step = 1, 1
        case [first, last]:
            step = 1
        case [first, step, last] if step:
            pass
        case _:
            return None
    found = range(first, last + (1 if step > 0 else -1), step)
    return "".join(f"{each}\n" for each in found) if len(found) <= _MOST_NUMBERS else None


def _basename(words: Sequence[str], _: str | None) -> str | None:
    match list(words):
        case [path]:
            suffix = ""
        case [path, suffix]:
            pass
        case _:
            return None
    if path.startswith("-") or HOLE in path:
        return None
    name = path.rstrip("/").rpartition("/")[2] or "/"
    return (name if name == suffix else name.removesuffix(suffix)) + "\n"


def _dirname(words: Sequence[str], _: str | None) -> str | None:
    if len(words) != 1 or words[0].startswith("-") or HOLE in words[0]:
        return None
    head = words[0].rstrip("/").rpartition("/")[0].rstrip("/")
    return (head or ("/" if words[0].startswith("/") else ".")) + "\n"


def _sort(words: Sequence[str], text: str | None) -> str | None:
    if words not in ([], ["-u"]) or text is None:
        return None
    lines = text.splitlines()
    return "".join(line + "\n" for line in sorted(set(lines) if words else lines))


def _same(words: Sequence[str], text: str | None) -> str | None:
    return text if not words else None


def _tee(_: Sequence[str], text: str | None) -> str | None:
    return text


def _located(folder: str) -> Printer:
    """What finds programs: their paths, where only plain names are asked for."""

    def printer(words: Sequence[str], _: str | None) -> str | None:
        names = [each for each in words if not each.startswith("-")]
        if not names or not all(_PROGRAM.fullmatch(each) for each in names):
            return None
        return "".join(f"{each if '/' in each else folder + each}\n" for each in names)

    return printer


def _when(printer: Printer, *options: str) -> Printer:
    """The same where one of the options is given; else nobody knows."""

    def guarded(words: Sequence[str], text: str | None) -> str | None:
        return printer(words, text) if words and words[0] in options else None

    return guarded


def _whereis(words: Sequence[str], _: str | None) -> str | None:
    names = [each for each in words if not each.startswith("-")]
    if len(names) != 1 or not _PROGRAM.fullmatch(names[0]):
        return None
    return f"{names[0]}: /usr/bin/{names[0]}\n"


def _compgen(words: Sequence[str], _: str | None) -> str | None:
    """`compgen -G glob` and `compgen -f prefix` as the glob that stands for the names."""
    match list(words):
        case ["-G", glob]:
            return f"{glob}\n"
        case ["-f", "--", prefix] | ["-f", prefix] | ["-A", "file" | "directory", prefix]:
            return f"{prefix}*\n"
        case _:
            return None


def _date(words: Sequence[str], _: str | None) -> str | None:
    """`date +TEXT` where nothing in the text is a date."""
    only = words[0] if len(words) == 1 else ""
    return f"{only[1:]}\n" if only[:1] == "+" and "%" not in only else None


def _yes(words: Sequence[str], _: str | None) -> str:
    """It never ends; what comes behind takes the first lines."""
    return f"{' '.join(words) or 'y'}\n" * _MOST_LINES


def _silent(_: Sequence[str], __: str | None) -> str:
    return ""


PRINTERS: Final[dict[str, Printer]] = {
    "echo": _echo, "printf": _printf, "cat": _cat, "base64": _base64, "base32": _base32,
    "xxd": _xxd, "openssl": _openssl, "rev": _rev, "tac": _tac, "tr": _tr, "sed": _sed,
    "cut": _cut, "head": _ends(first=True), "tail": _ends(first=False), "seq": _seq,
    "basename": _basename, "dirname": _dirname, "tee": _tee, "sort": _sort,
    "sponge": _same, "which": _located("/usr/bin/"),
    "command": _when(_located("/usr/bin/"), "-v"), "hash": _when(_located("/usr/bin/"), "-t"),
    "type": _when(_located("/usr/bin/"), "-P", "-p", "-fP", "-fp"), "whereis": _whereis,
    "compgen": _compgen, "date": _date, "yes": _yes,
} | dict.fromkeys(
    ("cd", "export", "declare", "typeset", "local", "readonly", "unset", "set", "shift", "shopt",
     "read", "mapfile", "readarray", "trap", ":", "true", "false", "test", "[", "[[", "((", "let",
     "wait", "sleep", "alias", "unalias", "mkdir", "touch", "rm", "chmod", "source", ".", "eval",
     "return", "exit", "break", "continue", "exec", "umask", "ulimit", "popd", "pushd", "disown",
     "kill", "mkfifo", "cp", "mv", "ln"),
    _silent,
)  # fmt: skip


def _base(name: str) -> str:
    return name.removeprefix("/usr/bin/").removeprefix("/bin/")


def prints(name: str) -> bool:
    """Whether it may be told what a program of this name prints."""
    return _base(name) in PRINTERS


def printed(words: Sequence[str], text: str | None) -> str | None:
    """What a program prints; None if it can't be told."""
    printer = PRINTERS.get(_base(words[0]))
    if printer is None:
        return None
    made = printer(list(words[1:]), text)
    return made if made is None or len(made) <= _LONGEST else None
