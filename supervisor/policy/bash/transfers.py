"""Orders for a file transfer (`ftp`, `lftp`, `sftp`, `smbclient`), and what is fetched where."""

import re
from posixpath import join
from typing import Final

from supervisor.policy.bash import files, network
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.use import IN_DOUBT, Use
from supervisor.policy.bash.value import HOLE, Text, Value, known

_LINES: Final = re.compile(r"[;\n]|&&|\|\|")
_WORDS: Final = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\S+)")
_OPENS: Final = frozenset({"open", "o", "connect", "lopen"})
_SENDS: Final = frozenset({"put", "mput", "reput", "send", "append", "mirror -R"})
_FETCHES: Final = frozenset(
    {"get", "mget", "pget", "reget", "recv", "receive", "newer", "mirror", "get1"}
)
_ADDRESS: Final = re.compile(r"\b\w+://[^\s;\"']+")
_FOLDERS: Final = frozenset({"-O", "-d"})
"""Options that name where files are put."""
_REVERSED: Final = frozenset({"-R", "--reverse"})


def ftp(use: Use, code: str) -> None:
    """What is sent, what is kept, what `!` runs; `lcd` moves where that is."""
    for address in _ADDRESS.findall(code):
        use.send(known(address))
    folder = ""
    for line in _LINES.split(code):
        text = line.strip()
        if text.startswith("!"):
            use.script(known(text[1:].strip()))
            continue
        words = [next(part for part in each if part) for each in _WORDS.findall(text) if any(each)]
        if not words:
            continue
        verb, rest = words[0].lower(), words[1:]
        if verb == "lcd" and rest:
            folder = join(folder, rest[0])
        elif verb in _OPENS and rest:
            use.send(known(next((each for each in rest if each[0] != "-"), HOLE)))
        elif verb in _SENDS or (verb == "mirror" and not _REVERSED.isdisjoint(rest)):
            _sent(use, verb, rest, folder)
        elif verb in _FETCHES:
            _kept(use, verb, rest, folder)
    if HOLE in code:
        use.unknown("gives a file transfer orders that can't be told")


def _sent(use: Use, verb: str, rest: list[str], folder: str) -> None:
    words = [each for each in rest if each[0] != "-"]
    deep = verb == "mirror" or "-r" in rest or "-R" in rest
    if verb == "mirror":
        words = words[:1] or ["."]
    elif verb[0] != "m":
        words = words[:1]
    for word in words:
        glob = any(sign in word for sign in "*?[")
        path = join(folder, word)
        place = Value((Text(path, path if glob else None),))
        use.emit(Act.READ, "is sent", place, recursive=deep)


def _kept(use: Use, verb: str, rest: list[str], folder: str) -> None:
    """`get THERE [HERE]`, `get THERE -o HERE`, `mget -O FOLDER THERE…`, `mirror THERE [HERE]`."""
    words, here, folder = _sorted(rest, folder)
    if verb == "mirror":
        place = known(join(folder, words[1] if words[1:] else "."))
        use.emit(Act.WRITE, "is fetched", place, recursive=True)
        if "--delete" in rest:
            use.emit(Act.DELETE, "loses what isn't there", place, recursive=True)
    elif verb == "mget":
        for name in filter(None, (each.rpartition("/")[2] for each in words)):
            use.emit(Act.WRITE, "is fetched", known(join(folder, name)))
    elif words or here:
        name = words[0].rpartition("/")[2] if words else ""
        here = here or (words[1] if words[1:] else name)
        use.emit(Act.WRITE, "is fetched", known(join(folder, here or ".")))
        if name and here != name:  # it may be the name of a folder
            use.emit(Act.WRITE, IN_DOUBT, known(join(folder, here, name)))


def _sorted(rest: list[str], folder: str) -> tuple[list[str], str, str]:
    """The words without options, the name that `-o` gives, and the folder."""
    words: list[str] = []
    here = ""
    following = iter(rest)
    for word in following:
        if word in _FOLDERS:
            folder = join(folder, next(following, "."))
        elif word == "-o":
            here = next(following, "")
        elif word[0] != "-":
            words.append(word)
    return words, here, folder


def download(use: Use, value: Value) -> None:
    """`HOST[:FILE]`, and perhaps behind it the place here that the file is put to."""
    use.send(value, "fetches from another machine")
    place = use.parsed.operands[1] if use.parsed.operands[1:] else known(".")
    for each in value.texts:
        name = _path_of(each).rstrip("/").rpartition("/")[2]
        if name:
            files.arrive(use, "dest", place, (known(name),))


def _path_of(text: Text) -> str:
    """The path there in `HOST:PATH` or an address; empty where none is named."""
    _, scheme, rest = text.text.partition("://")
    if scheme:
        return rest.partition("/")[2]
    return text.text.partition(":")[2] if network.is_remote(Value((text,))) else ""
