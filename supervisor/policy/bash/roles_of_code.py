"""The roles of a call's arguments in code → effects."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.places import join
from supervisor.policy.bash.use import NO_FILES, Use
from supervisor.policy.bash.value import HOLE, Text, Value, known

RUNS: Final = frozenset({"shell", "process", "words", "image"})
"""Roles of calls that run programs."""
_WITHOUT_ARGUMENTS: Final = frozenset(
    {"shell", "process", "image", "unknown", "reveal", "send", "variables"}
)
"""Roles that say something of a call that is given nothing."""
_TAKES_OUTSIDE: Final = RUNS | {"read", "write", "edit", "delete", "move", "mode", "link", "open"}
"""Roles whose argument may be any text that comes from outside."""
_MOST_OUTSIDE: Final = 16
_SECRET: Final = re.compile(r"key|token|secret|passw|credential|auth|cookie|private", re.IGNORECASE)
_FILES: Final[Mapping[str, tuple[tuple[Act, str], ...]]] = {
    "read": ((Act.READ, "is read by code"),),
    "write": ((Act.WRITE, "is written by code"),),
    "edit": ((Act.READ, "is read by code"), (Act.WRITE, "is written by code")),
    "delete": ((Act.DELETE, "is removed by code"),),
    "move": ((Act.READ, "is moved by code"), (Act.DELETE, "is moved by code")),
    "link": ((Act.LINK, "gets another name"),),
    "mode": ((Act.CHANGE_MODE, "gets other permissions"),),
    "list": ((Act.LIST, "is listed by code"),),
}


_REACHES: Final = frozenset({"http", "https", "ftp", "ftps", "tcp", "ssl", "tls", "udp"})
_WRAPS_FILES: Final = frozenset({"file", "glob", "compress.zlib", "compress.bzip2", "phar", "zip"})


def secret_name(name: str) -> bool:
    """Whether a variable's name says that it holds a secret."""
    return HOLE in name or bool(_SECRET.search(name))


def call_roles(
    use: Use,
    roles: Sequence[str],
    own: object,
    values: Sequence[object],
    named: Mapping[str, object],
) -> None:
    """What a call does by the roles of its arguments; `.role` is of its owner."""
    position = 0
    for each in roles:
        if each.startswith("."):
            _role(use, each[1:], own, values, named)
        else:
            rest = values[position:]
            if rest or each in _WITHOUT_ARGUMENTS:
                _role(use, each, rest[0] if rest else None, rest[1:], named)
            position += 1


def _role(
    use: Use, kind: str, given: object, rest: Sequence[object], named: Mapping[str, object]
) -> None:
    """What an argument means; one that can't be told may be any text that comes from outside."""
    one_role(use, kind, given, rest, named)
    if not use.outside or kind.rstrip("*?") not in _TAKES_OUTSIDE:
        return
    if not (_untold(given) or any(_untold(each) for each in rest)):
        return
    if given is None and kind in RUNS and len(use.outside) > 1:
        one_role(use, "process", list(use.outside), (), named)
    for text in use.outside[:_MOST_OUTSIDE]:
        filled = [_filled(each, text) for each in rest]
        one_role(use, kind, _filled(given, text), filled, named)


def _untold(value: object) -> bool:
    if isinstance(value, list):
        return any(_untold(each) for each in value)
    return value is None or (isinstance(value, str) and HOLE in value)


def _filled(value: object, text: str) -> object:
    """A value with the text where it has holes."""
    if isinstance(value, list):
        return [_filled(each, text) for each in value]
    if value is None:
        return text
    return value.replace(HOLE, text) if isinstance(value, str) else value


class Glob(str):
    """A text that stands for the files that it fits as a glob."""

    __slots__ = ()


def _value(given: object) -> Value:
    if isinstance(given, Glob):
        return Value((Text(given, given),))
    if isinstance(given, str):
        return known(given)
    return Value(known(HOLE).texts)


def one_role(  # noqa: C901, PLR0912 - one case a role
    use: Use, kind: str, given: object, rest: Sequence[object], named: Mapping[str, object]
) -> None:
    """What an argument of this role means."""
    if "=" in kind:
        name, _, kind = kind.partition("=")
        if name in named:
            one_role(use, kind, named[name], (), {})
        return
    if kind.endswith("?"):
        if isinstance(given, str):
            one_role(use, kind[:-1], given, rest, named)
        return
    deep = kind.endswith("*")
    kind = kind.removesuffix("*")
    if kind in _FILES:
        _files(use, kind, given, rest, deep=deep)
    elif kind == "cd":
        use.emit(Act.LIST, "is made the working folder", _value(given))
        use.cwd = join(use.cwd, _value(given))
    elif kind == "open":
        _open(use, given, rest, named)
    elif kind == "shell" and isinstance(given, list):
        _process(use, given, ())
    elif kind == "shell":
        use.script(_value(given))
    elif kind == "process":
        _process(use, given, rest)
    elif kind == "image":  # a file, and the words that its program gets, its own name first
        argv = rest[0] if rest and isinstance(rest[0], list) else list(rest)
        use.start([_value(each) for each in (given, *argv[1:])])
    elif kind == "words":
        words = [given, *rest]
        use.start([_value(each) for each in words])
    elif kind == "url":
        text = given if isinstance(given, str) else HOLE
        if text.startswith("file:"):
            use.emit(Act.READ, "is read by its address", known(re.sub(r"^file:(//)?", "", text)))
        else:
            use.send(_value(given))
    elif kind in {"host", "connect"}:
        host = given[0] if isinstance(given, list) and given else given
        use.send(_value(host))
    elif kind == "send":
        use.send(None)
    elif kind == "pid":
        text = str(given) if isinstance(given, (int, str)) else HOLE
        every = text in {"-1", "0-1"}
        use.emit(Act.SIGNAL, "signals all processes" if every else "is signalled", known(text),
                 severe=every)  # fmt: skip
    elif kind == "unknown":
        use.unknown("runs code that can't be read whole")
    elif kind == "reveal" or (
        kind in {"variable", "variables"} and (not isinstance(given, str) or secret_name(given))
    ):
        use.emit(Act.REVEAL, "prints the environment, which may hold secrets")


def _files(use: Use, kind: str, given: object, rest: Sequence[object], *, deep: bool) -> None:
    """A file, a list of them, or words as a shell's (`rm("-rf", "build")`)."""
    if isinstance(given, str) and given[:1] == "-" and rest:
        for each in rest:
            _files(use, kind, each, (), deep=deep or "r" in given.lower())
    elif isinstance(given, list) and given:
        for each in given:
            _files(use, kind, each, (), deep=deep)
    elif not isinstance(given, int):
        text = given if isinstance(given, str) else HOLE
        if "://" in text:
            text = given = _addressed(use, text)
        if kind == "write" and text and rest and isinstance(rest[0], str):
            use.look.kept.hold(join(use.cwd, known(text)), rest[0])
        if text and text not in NO_FILES:
            for act, reason in _FILES[kind]:
                use.emit(act, reason, _value(given), recursive=deep)


def _addressed(use: Use, text: str) -> str:
    """What a function for files opens by an address: the file, or nothing if a host is reached."""
    scheme, _, rest = text.partition("://")
    if scheme.lower() in _REACHES:
        use.send(known(text))
        return ""
    if scheme.lower() == "php":  # `php://filter/…/resource=FILE`, `php://stdin`
        return rest.partition("resource=")[2]
    return rest if scheme.lower() in _WRAPS_FILES else text


def _open(use: Use, given: object, rest: Sequence[object], named: Mapping[str, object]) -> None:
    if isinstance(given, int):
        return
    text = given if isinstance(given, str) else HOLE
    mode = named.get("mode", rest[0] if rest else "r")
    if text.startswith("|"):
        use.script(known(text[1:]))
        return
    known_mode = mode if isinstance(mode, str) else "r+"
    if "mode" not in named and not rest:
        found = re.match(r"\s*(\+?[<>]{1,2})\s*", text)
        if found:
            known_mode = {"<": "r", ">": "w", ">>": "a"}.get(found[1], "r+")
            text = text[found.end() :]
        elif text.rstrip().endswith("|"):
            use.script(known(text.rstrip()[:-1]))
            return
    if "://" in text:
        text = _addressed(use, text)
    if text in NO_FILES or not text:
        return
    value = _value(given) if isinstance(given, Glob) else known(text)
    if set("wax+>c") & set(known_mode):
        use.emit(Act.WRITE, "is written by code", value)
    if not set("wax>") & set(known_mode) or "+" in known_mode:
        use.emit(Act.READ, "is read by code", value)


def _process(use: Use, given: object, rest: Sequence[object]) -> None:
    words = given if isinstance(given, list) else None
    if words is None and rest and isinstance(rest[0], list):
        words = [given, *rest[0]]
    elif words is None and rest and isinstance(rest[0], str):
        words = [given, *rest]
    if words is None:
        use.script(_value(given))
    elif words:
        if words[1:2] == ["-c"] and not (isinstance(words[0], str) and words[0].strip(HOLE)):
            words = ["sh", *words[1:]]  # some shell
        use.start([_value(each) for each in words])
