"""Builtins that set variables: `declare` and its kin, `read`, `set`, `shift`, `mapfile`."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from supervisor.policy.bash.invocation import Stdin
from supervisor.policy.bash.shell.algebra import DATA, EMPTY, alone, join, literal, mapped, union
from supervisor.policy.bash.shell.arithmetic import evaluated
from supervisor.policy.bash.shell.assignments import assigned_specially
from supervisor.policy.bash.shell.options import options_of
from supervisor.policy.bash.shell.printf import formatted
from supervisor.policy.bash.value import HOLE, MOST_TEXTS, UNKNOWN, Text, Value

if TYPE_CHECKING:
    from supervisor.policy.bash.shell.machine import Work

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PAIR: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]]*\])?(\+?)=", re.DOTALL)
DEFAULT_IFS: Final = " \t\n"
_DIGITS: Final = 4


def declare(  # noqa: C901 - what options and forms there are
    shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]
) -> None:
    """`declare`, `typeset`, `local`, `export`, `readonly`."""
    name = alone(argv[0])
    options, place = options_of(argv)
    if name == "export" and "n" in options:
        return
    here = name == "local" or (name in ("declare", "typeset") and "g" not in options)
    for word in argv[place:]:
        if "i" in options:
            shell.hidden(word)
        for each in word.texts:
            match = _PAIR.match(each.text)
            variable = match[1] if match is not None else each.text
            if _NAME.fullmatch(variable) is None:
                shell.hidden(Value((each,)))
                if name == "export" and word.from_data:
                    shell.doubt("variables that can't be known are set")
                continue
            if here and shell.locals:
                shell.locals[-1].setdefault(variable, shell.scope.variables.get(variable))
            if match is not None:
                value = Value((Text(each.text[match.end() :]),), word.from_data)
                _declared(shell, match, value, options, several=len(word.texts) > 1)
            elif name == "local" and shell.locals:
                shell.scope.assign(variable, EMPTY)
            if name == "export" or "x" in options:
                shell.scope.export(variable)


def _declared(
    shell: "Work", match: re.Match[str], value: Value, options: Mapping[str, Value], *,
    several: bool,
) -> None:  # fmt: skip
    """One `name=value` of a declaration; arrays have been kept where they were read."""
    variable = match[1]
    assigned_specially(shell, variable, value)
    if match[2] or variable in shell.scope.arrays:
        return
    if "n" in options:
        value = UNKNOWN
    elif "i" in options:
        value = evaluated(shell, value)
    elif "l" in options or "u" in options:
        value = mapped(value, str.lower if "l" in options else str.upper)
    before = shell.scope.variables.get(variable)
    if match[3] and value.texts[0].text:
        # The word of `declare x+=y` has the whole value already if it was read as an assignment.
        value = union((value, join((before or DATA, value))))
    if several and before is not None:
        value = union((before, value))
    shell.scope.assign(variable, value)


def unset(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`unset`."""
    _found, place = options_of(argv)
    for word in argv[place:]:
        shell.hidden(word)
        if word.only is not None and _NAME.fullmatch(word.only):
            shell.scope.forget(word.only)


def set_options(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`set`: positional parameters, and whether globs are expanded."""
    place = 1
    while place < len(argv):
        text = argv[place].only
        if text is None or text[:1] not in ("-", "+") or text in ("-", "+"):
            break
        place += 1
        if text == "--":
            shell.scope.positional = argv[place:]
            return
        if "f" in text[1:]:
            shell.scope.globbing = text[0] == "+"
        if text[-1] == "o" and place < len(argv):
            if argv[place].only == "noglob":
                shell.scope.globbing = text[0] == "+"
            place += 1
    if place < len(argv):
        known = not any(each.many for value in argv[place:] for each in value.texts)
        shell.scope.positional = argv[place:] if known else None


def shift(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`shift`."""
    text = argv[1].only if len(argv) > 1 else "1"
    if shell.scope.positional is None:
        return
    if shell.repeats or text is None or not text.isdigit() or len(text) > _DIGITS:
        shell.scope.positional = None
    else:
        shell.scope.positional = shell.scope.positional[int(text) :]


def _input(shell: "Work", options: Mapping[str, Value]) -> Stdin | None:
    if "u" in options:
        return shell.scope.files.get(options["u"].only or "")
    return shell.stdin


def read(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`read`: what its names get from a known input."""
    options, place = options_of(argv, "adinNptu")
    names = argv[place:] or (literal("REPLY"),)
    for name in names:
        shell.hidden(name)
    stdin = _input(shell, options)
    text = stdin.text if stdin is not None else DATA
    if "a" in options and options["a"].only:
        shell.scope.arrays[options["a"].only] = {"@": text}
        return
    ifs = alone(dict(shell.prefix).get("IFS") or shell.scope.get("IFS") or UNKNOWN)
    ifs = DEFAULT_IFS if ifs is None else ifs
    lines = _lines(shell, text) if not {"d", "n", "N"} & options.keys() else None
    for position, name in enumerate(names):
        if name.only is None or _NAME.fullmatch(name.only) is None:
            continue
        if lines is None:
            value = Value((Text(HOLE),), from_data=True)
        else:
            found = [_share(line, position, len(names), text, ifs) for line in lines]
            value = union(found or [EMPTY])
        shell.scope.assign(name.only, value)


def _lines(shell: "Work", text: Value) -> list[str] | None:
    """The lines that `read` may get: the first one, or in a loop any."""
    if any(each.text == HOLE for each in text.texts):
        return None
    found: list[str] = []
    for each in text.texts:
        lines = each.text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        found += lines if shell.repeats else lines[:1]
    return found if len(found) <= MOST_TEXTS else None


def _share(line: str, position: int, count: int, text: Value, ifs: str) -> Value:
    """The part of a line that one of the names gets."""
    blank = "".join(each for each in ifs if each in DEFAULT_IFS)
    line = line.strip(blank) if blank else line
    words = [line]
    if count > 1 and ifs:
        marks = re.escape(ifs)
        hard = re.escape("".join(each for each in ifs if each not in DEFAULT_IFS))
        gap = rf"[{re.escape(blank)}]*[{hard}][{re.escape(blank)}]*|" if hard and blank else ""
        words = re.split(rf"{gap}[{marks}]" + ("+" if not hard else ""), line, maxsplit=count - 1)
    return Value((Text(words[position] if position < len(words) else ""),), text.from_data)


def mapfile(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`mapfile`, also as `readarray`."""
    options, place = options_of(argv, "dnOsuCc")
    if "C" in options:
        shell.aside(options["C"], argv[0].only or "mapfile")
    name = argv[place].only if place < len(argv) else "MAPFILE"
    stdin = _input(shell, options)
    text = stdin.text.only if stdin is not None else None
    if name is None:
        return
    if text is None:
        shell.scope.arrays[name] = {"@": DATA}
        return
    kept = "" if "t" in options else "\n"
    lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
    shell.scope.arrays[name] = {
        str(place): literal(line + kept) for place, line in enumerate(lines[:MOST_TEXTS])
    }


def getopts(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`getopts`."""
    if argv[2:] and argv[2].only:
        shell.scope.assign(argv[2].only, UNKNOWN)
        shell.scope.assign("OPTARG", UNKNOWN)


def printf(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`printf -v`."""
    if not argv[2:] or argv[1].only != "-v":
        return
    shell.hidden(argv[2])
    name = argv[2].only
    if name is None or _NAME.fullmatch(name) is None:
        return
    texts = [each.only for each in argv[3:]]
    output = formatted([each for each in texts if each is not None]) if None not in texts else None
    shell.scope.assign(name, literal(output) if output is not None else DATA)
