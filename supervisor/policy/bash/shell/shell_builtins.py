"""The shell's own commands: what each changes in the shell, and which of its words are commands."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from supervisor.policy.bash.invocation import Stdin
from supervisor.policy.bash.shell.algebra import DATA, hinted, join, literal
from supervisor.policy.bash.shell.arithmetic import evaluated
from supervisor.policy.bash.shell.folders import change_folder, pop_folder, push_folder
from supervisor.policy.bash.shell.hints import wholes
from supervisor.policy.bash.shell.options import options_of
from supervisor.policy.bash.shell.shell_variables import (
    declare,
    getopts,
    mapfile,
    printf,
    read,
    set_options,
    shift,
    unset,
)
from supervisor.policy.bash.value import HOLE, UNKNOWN, Text, Value

if TYPE_CHECKING:
    from supervisor.policy.bash.shell.machine import Work

DESCRIPTOR: Final = re.compile(r"/(?:dev|proc/self)/fd/([0-9]+)")
"""The path of an open descriptor."""

Given = Mapping[int, Stdin]
Handler = Callable[["Work", tuple[Value, ...], Given], None]

BUILTINS: Final = frozenset(
    {".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen",
     "complete", "compopt", "continue", "declare", "dirs", "disown", "echo", "enable", "eval",
     "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs",
     "kill", "let", "local", "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read",
     "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test",
     "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait"}
)  # fmt: skip
"""What bash does itself."""


def _command(argv: tuple[Value, ...]) -> int:
    options, place = options_of(argv)
    return 0 if "v" in options or "V" in options or place >= len(argv) else place


def _exec(argv: tuple[Value, ...]) -> int:
    _, place = options_of(argv, "a")
    return place if place < len(argv) else 0


PREFIXES: Final[Mapping[str | None, Callable[[tuple[Value, ...]], int]]] = {
    "command": _command, "builtin": _command, "exec": _exec,
}  # fmt: skip
"""Builtins that run the rest of their words: how many words to leave out."""


def _eval(shell: "Work", argv: tuple[Value, ...], _: Given) -> None:
    words = argv[2:] if len(argv) > 1 and argv[1].only == "--" else argv[1:]
    joined: list[Value] = []
    for word in words:
        joined += [literal(" "), word]
    if joined:
        shell.text(join(joined[1:]), "eval")


def _source(shell: "Work", argv: tuple[Value, ...], given: Given) -> None:
    place = 2 if argv[2:] and argv[1].only == "--" else 1
    if len(argv) <= place:
        return
    stdin = given.get(place)
    if stdin is None and argv[place].only in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        stdin = shell.stdin or Stdin(DATA)
    if stdin is None and (opened := DESCRIPTOR.fullmatch(argv[place].only or "")):
        stdin = shell.scope.files.get(opened[1])
    if stdin is None and (held := shell.scope.held_by(argv[place].only or "")) is not None:
        told = held.result
        stdin = Stdin(told if told.known else hinted(DATA, wholes(told)))
    if stdin is None:
        shell.altered = True
    else:
        kept = shell.scope.positional
        if len(argv) > place + 1:
            shell.scope.positional = argv[place + 1 :]
        shell.text(stdin.text, "source")
        shell.scope.positional = kept


_ENDS: Final = frozenset({"EXIT", "0"})


def _is_later(shell: "Work", text: str) -> bool:
    """Whether it is the name of a function that isn't there yet."""
    return text.isidentifier() and text not in shell.scope.functions


def _trap(shell: "Work", argv: tuple[Value, ...], _: Given) -> None:
    options, place = options_of(argv)
    if options or len(argv) <= place + 1 or argv[place].only in ("-", ""):
        return
    shell.altered = True
    shell.aside(argv[place], "trap")
    later = any("$" in each.text or _is_later(shell, each.text) for each in argv[place].texts)
    if later and any(each.only in _ENDS for each in argv[place + 1 :]):
        shell.at_exit.append(argv[place])


def _text_option(letters: str, taking: str) -> Handler:
    def handler(shell: "Work", argv: tuple[Value, ...], _: Given) -> None:
        options, _place = options_of(argv, taking)
        if "W" in options:
            shell.hidden(options["W"])
        for letter in letters:
            if letter in options:
                shell.aside(options[letter], argv[0].only or "the shell")

    return handler


def _bind(shell: "Work", argv: tuple[Value, ...], _: Given) -> None:
    options, _place = options_of(argv, "fxuqmr")
    text = options["x"].only if "x" in options else None
    if "x" in options:
        shell.aside(literal(text.partition(":")[2]) if text is not None else UNKNOWN, "bind")


def _alias(shell: "Work", argv: tuple[Value, ...], _: Given) -> None:
    for word in argv[1:]:
        for each in word.texts:
            name, equals, text = each.text.partition("=")
            if equals:
                shell.scope.aliases[name] = Value((Text(text),), word.from_data)
            elif HOLE in each.text:
                shell.doubt("an alias that can't be known")


def _unalias(shell: "Work", argv: tuple[Value, ...], _: Given) -> None:
    for word in argv[1:]:
        if word.only == "-a":
            shell.scope.aliases.clear()
        shell.scope.aliases.pop(word.only or "", None)


def _let(shell: "Work", argv: tuple[Value, ...], _: Given) -> None:
    for word in argv[1:]:
        evaluated(shell, word)


def _test(shell: "Work", argv: tuple[Value, ...], _: Given) -> None:
    for place, word in enumerate(argv[:-1]):
        if word.only in ("-v", "-R"):
            shell.hidden(argv[place + 1])


def _enable(shell: "Work", argv: tuple[Value, ...], _: Given) -> None:
    options, _place = options_of(argv, "f")
    if "f" in options:
        shell.doubt("a library is loaded into the shell")


def _hash(shell: "Work", argv: tuple[Value, ...], _: Given) -> None:
    options, place = options_of(argv, "p")
    if "p" not in options:
        return
    for word in argv[place:]:
        if word.only is not None and options["p"].only is not None:
            shell.scope.aliases[word.only] = options["p"]
        else:
            shell.doubt("a program gets another one's name")


def _wait(shell: "Work", argv: tuple[Value, ...], _: Given) -> None:
    options, _place = options_of(argv, "p")
    if "p" in options:
        shell.hidden(options["p"])


HANDLERS: Final[Mapping[str | None, Handler]] = {
    "eval": _eval, "source": _source, ".": _source, "trap": _trap, "alias": _alias,
    "unalias": _unalias, "export": declare, "declare": declare, "typeset": declare,
    "local": declare, "readonly": declare, "unset": unset, "set": set_options, "shift": shift,
    "read": read, "mapfile": mapfile, "readarray": mapfile, "getopts": getopts,
    "printf": printf, "wait": _wait, "let": _let, "test": _test, "[": _test, "enable": _enable,
    "hash": _hash,
    "complete": _text_option("C", "oAGWFCXPS"), "compgen": _text_option("C", "oAGWFCXPS"),
    "bind": _bind, "cd": change_folder, "pushd": push_folder, "popd": pop_folder,
}  # fmt: skip
