"""Words that name hosts, addresses and what is sent to them."""

import re
import shlex
from typing import Final

from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.places import join
from supervisor.policy.bash.use import IN_DOUBT, SENT, Use
from supervisor.policy.bash.value import HOLE, Value, known

_REMOTE: Final = re.compile(r"(?:[^/:\s]+@)?(?:\[[0-9A-Fa-f:]+\]|[^/:\s]+):(?!//)")
"""`[user@]host:` of scp, rsync and git; a path with a `/` before the colon is here."""
_ROUTED: Final = re.compile(r"\[[^\]]*\]|(?<![^:,])(?!\d{1,5}(?:[:,]|\Z))[^:,+*\[\]]+")
"""The names and addresses of a route: what isn't a port."""
_AFAR: Final = re.compile(
    r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:/{1,2}[^/]|/(?:ssh|sshx|scp|scpx|sftp|ftp|rsync|plink|smb|dav):[^/]"
)
_DRIVE: Final = re.compile(r"[A-Za-z]:\\")


def host(use: Use, value: Value) -> None:
    """A host by its name: `[user@]host[:port]`; `+short` is an option of dig."""
    if not value.texts[0].text.startswith("+"):
        use.send(value)


def route(use: Use, value: Value) -> None:
    """`HOST:PORT:ADDRESS` or `HOST:PORT:HOST:PORT`: an address that is reached for another."""
    for each in value.texts:
        for piece in _ROUTED.findall(each.text):
            use.send(Value(known(piece.strip("[]")).texts, value.from_data))


def url(use: Use, value: Value) -> None:
    """An address; `file:` is a file here."""
    if "globs" in use.tags and "literal" not in use.tags:
        value = _written_out(value)
    for each in value.texts:
        text = each.text
        if text[:5].lower() == "file:":
            path = re.sub(r"^file:(//(localhost)?)?(?=/|$)", "", text, flags=re.IGNORECASE)
            use.emit(Act.READ, "is read by its address", known(path.partition("?")[0]))
        else:
            use.send(Value((each,), value.from_data))
            if "saves" in use.tags:
                _saved(use, text)


_RANGE: Final = re.compile(r"\[(\d{1,6})-(\d{1,6})(?::(\d{1,6}))?\]|\[([a-zA-Z])-([a-zA-Z])\]")
_MOST_ADDRESSES: Final = 1_024
_MOST_FOLDERS: Final = 32


def _written_out(value: Value) -> Value:
    """The addresses that curl makes of `{a,b}` and `[1-9]`; too many are any."""
    if not any("{" in each.text or "[" in each.text for each in value.texts):
        return value
    found: list[str] = []
    for each in value.texts:
        pending = [each.text]
        while pending:
            if len(found) + len(pending) > _MOST_ADDRESSES:
                return Value((*value.texts, *known(HOLE).texts), value.from_data)
            text = pending.pop()
            choice, span = _CHOICE.search(text), _RANGE.search(text)
            if choice is not None:
                pending += [
                    text[: choice.start()] + one + text[choice.end() :]
                    for one in choice[1].split(",")
                ]
            elif span is not None:
                pending += [text[: span.start()] + one + text[span.end() :] for one in _span(span)]
            else:
                found.append(text)
    return Value(known(*dict.fromkeys(found)).texts, value.from_data)


_CHOICE: Final = re.compile(r"\{([^{}]*)\}")


def _span(found: re.Match[str]) -> list[str]:
    if found[4]:
        return [chr(each) for each in range(ord(found[4]), ord(found[5]) + 1)]
    width = len(found[1]) if found[1].startswith("0") else 1
    numbers = range(int(found[1]), int(found[2]) + 1, int(found[3] or 1) or 1)
    return [str(each).zfill(width) for each in numbers[: _MOST_ADDRESSES + 1]]


def _saved(use: Use, address: str) -> None:
    """What is fetched is kept under the last name of its address, unless an option names it."""
    named = any(option.role and option.role.kind == "write" for option, _ in use.parsed.values)
    _, scheme, rest = address.partition("://")
    path = (rest if scheme else address).partition("?")[0]
    if "placed" in use.tags and "/" in path:
        _placed(use, path)
        return
    name = path.rpartition("/")[2] if "/" in path else ""
    if name and not named and "into" not in use.tags:
        use.emit(Act.WRITE, "is written", known(name))


def _placed(use: Use, path: str) -> None:
    """`wget -x`: in folders named as the host and those of the address, or some of these less."""
    parts = path.strip("/").split("/")[:_MOST_FOLDERS]
    folder = next((v for o, v in use.parsed.values if o.role and o.role.kind == "into"), known("."))
    for at in range(len(parts)):
        reason = IN_DOUBT if at else "is written"
        use.emit(Act.WRITE, reason, join(folder, known("/".join(parts[at:]))))


def is_remote(value: Value) -> bool:
    """Whether the word names another machine (`host:path`, `rsync://…`)."""
    text = value.texts[0].text
    return "://" in text or bool(_REMOTE.match(text) and not _DRIVE.match(text))


def is_afar(value: Value) -> bool:
    """Whether it is a file that an editor opens elsewhere (`scp://host/file`, `/ssh:host:file`)."""
    return any(_AFAR.match(each.text) for each in value.texts)


def sent_to(use: Use, value: Value) -> None:
    """Files go to another machine."""
    use.send(Value(value.texts, from_data=True), "sends files to another machine")


_OWN_FILE: Final = re.compile(r"(?:[^@/:]*@)?(?:localhost|127(?:\.\d+){1,3}|\[::1\]):(.+)")
"""`[USER@]localhost:PATH`: a file of this machine, from the home folder on."""


def source(use: Use, value: Value) -> None:
    """A file here, with all below it, or one on another machine."""
    if is_remote(value):
        use.send(value, "fetches from another machine")
        for each in value.texts:
            found = _OWN_FILE.match(each.text)
            if found is not None:
                path = found[1] if found[1].startswith(("/", "~")) else f"~/{found[1]}"
                use.emit(Act.READ, "is copied", known(path), recursive="recursive" in use.tags)
    else:
        use.emit(Act.READ, "is copied", value, recursive="recursive" in use.tags)
        if "takes" in use.tags and "dry" not in use.tags:
            use.emit(Act.DELETE, "is moved away", value, recursive=True)


def gone(use: Use, value: Value) -> None:
    """What is removed with all below it, on another machine or here."""
    if is_remote(value):
        use.send(value, "removes files of another machine")
    else:
        use.emit(Act.DELETE, "is removed", value, recursive=True)


_WORDS: Final = re.compile(r"(?:%.|[^% ])+", re.DOTALL)
"""Words of `ext::`, parted by blanks but those behind a percent sign."""
_ESCAPED: Final = re.compile(r"%(.)", re.DOTALL)


def _unescaped(found: "re.Match[str]") -> str:
    """`% ` is a blank within a word, `%%` a percent sign; `%S`, `%G` and the like are filled in."""
    return {" ": " ", "%": "%"}.get(found[1], "git")


def repository(use: Use, value: Value) -> None:
    """A repository: an address, `host:path`, a folder, or git's `ext::COMMAND`."""
    for each in value.texts:
        text = each.text
        if "kept" in use.tags and "::" in text.partition("/")[0]:
            use.emit(Act.WRITE, "git runs what stands there", known(".git/config"))
        if text.startswith("ext::"):
            words = _WORDS.findall(text[5:])
            use.script(known(shlex.join(_ESCAPED.sub(_unescaped, each) for each in words)))
        elif text.startswith("fd::"):
            use.unknown("talks to an open descriptor")
        elif "::" in text.partition("/")[0]:
            use.unknown("runs a helper that the address names")
        elif text[:5].lower() == "file:" or "://" in text or "@" in text.partition("/")[0]:
            url(use, Value((each,), value.from_data))
        elif _REMOTE.match(text) or HOLE in text:
            use.send(Value((each,), value.from_data))
        elif text.startswith(("/", ".", "~")) or "/" in text:
            use.emit(Act.READ, "is read as a repository", Value((each,)), recursive=False)


def data(use: Use, value: Value) -> None:
    """Data that is sent: as it is, or `@FILE`; `name@FILE` where the tag says so.

    There a name ends at the first `=` or `@`: `note=mail a@b` is text.
    """
    text = value.texts[0].text
    name, at, path = text.partition("@")
    named = "encoded" in use.tags and "=" not in name
    if at and (not name or named) and path and path != "-":
        use.emit(Act.READ, SENT, known(path))


def template(use: Use, value: Value) -> None:
    """`curl -w`: what is printed, or `@FILE` with it; `%output{FILE}` writes."""
    data(use, value)
    for each in value.texts:
        for found in re.finditer(r"%output\{(?:>>)?([^}]*)", each.text):
            use.emit(Act.WRITE, "is written", known(found[1]))


def cookies(use: Use, value: Value) -> None:
    """`curl -b`: `NAME=VALUE…`, or a file of them."""
    if "=" not in value.texts[0].text and value.only:
        use.emit(Act.READ, SENT, value)


def form(use: Use, value: Value) -> None:
    """`NAME=@FILE;type=…` or `NAME=<FILE`."""
    text = value.texts[0].text
    name, equals, content = text.partition("=")
    if not equals and name[:1] in {"@", "<"}:
        content = name
    if content[:1] in {"@", "<"}:
        for path in content[1:].partition(";")[0].split(","):
            if path and path != "-":
                use.emit(Act.READ, SENT, known(path.strip('"')))


def field_of(use: Use, value: Value) -> None:
    """`NAME=VALUE`, `NAME@FILE`, `NAME=@FILE`, `NAME:=@FILE`."""
    text = value.texts[0].text
    found = re.match(r"[^=@:]*(?::=@|=@|:@|==@|@)(.+)", text)
    if found and found[1] != "-":
        use.emit(Act.READ, SENT, known(found[1].partition(";")[0]))


def field_file(use: Use, value: Value) -> None:
    """`[NAME=]FILE`."""
    name, equals, path = value.texts[0].text.partition("=")
    use.emit(Act.READ, SENT, known(path if equals else name))


def data_file(use: Use, value: Value) -> None:
    """`file://FILE`; all else is data."""
    text = value.texts[0].text
    if text.startswith(("file://", "fileb://")):
        use.emit(Act.READ, SENT, known(text.partition("://")[2]))


_OWN_SCREENS: Final = frozenset({"", "unix", "localhost", "127.0.0.1", "[::1]", HOLE})
_FILES_OF_SOCAT: Final = frozenset(
    {
        "file",
        "open",
        "gopen",
        "create",
        "creat",
        "unix",
        "unix-connect",
        "unix-listen",
        "unix-client",
    }
)
_RUNS_OF_SOCAT: Final = frozenset({"exec", "system", "shell", "cmd", "sh-c"})
_NET_OF_SOCAT: Final = re.compile(
    r"(?:tcp|udp|sctp|openssl|ssl|socks|proxy|dtls|ip|vsock|wss?|l-ws|autoreconnect|ws-)",
    re.IGNORECASE,
)


def socket(use: Use, value: Value) -> None:
    """An address of socat; a program at one end and the network at the other is a remote shell."""
    words = [each.texts[0].text for each in use.parsed.operands]
    text = value.texts[0].text
    for half in text.split("!!"):
        kind, _, rest = half.partition(":")
        kind = kind.lower()
        if kind in _RUNS_OF_SOCAT:
            use.script(known(rest.partition(",")[0].strip("'\"")))
            if any(_NET_OF_SOCAT.match(each) for each in words):
                use.emit(Act.REMOTE_SHELL, "ties a program to the network")
        elif kind in _FILES_OF_SOCAT or (not rest and "/" in kind):
            path = rest or half
            path = path.partition(",")[0]
            use.emit(Act.READ, "is passed on", known(path))
            use.emit(Act.WRITE, "may be written", known(path))
        elif _NET_OF_SOCAT.match(kind):
            pieces = rest.lstrip("/").split(":")
            use.send(known(pieces[0]) if "listen" not in kind and pieces[0] else None)


def display(use: Use, value: Value) -> None:
    """`HOST:NUMBER`: the screen of another machine; a terminal that it shows hands it a shell."""
    for each in value.texts:
        place = each.text.rpartition(":")[0].rpartition("/")[2]
        if place not in _OWN_SCREENS:
            use.send(known(place))
            program = use.look.table.find(use.base)
            if program is not None and "terminal" in program.tags:
                use.emit(Act.REMOTE_SHELL, "hands a terminal to the network")


def reverse(use: Use, value: Value) -> None:
    """A program whose input and output go to the network (`nc -e`)."""
    use.emit(Act.REMOTE_SHELL, "hands a program to the network")
    use.script(value)
