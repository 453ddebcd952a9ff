"""Builtins that set variables: `declare` and its kin, `read`, `set`, `shift`, `mapfile`."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from supervisor.policy.bash.invocation import Stdin
from supervisor.policy.bash.shell.algebra import (
    DATA,
    EMPTY,
    alone,
    hinted,
    join,
    literal,
    mapped,
    of,
    union,
)
from supervisor.policy.bash.shell.arithmetic import evaluated
from supervisor.policy.bash.shell.assignments import assigned_specially
from supervisor.policy.bash.shell.hints import NETWORK, connects, lines_in, wholes
from supervisor.policy.bash.shell.options import options_of
from supervisor.policy.bash.shell.printf import formatted
from supervisor.policy.bash.value import HOLE, MOST_TEXTS, UNKNOWN, Text, Value

if TYPE_CHECKING:
    from supervisor.policy.bash.shell.machine import Work

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLACE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?")
_PAIR: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]]*\])?(\+?)=", re.DOTALL)
DEFAULT_IFS: Final = " \t\n"
_UNKNOWN_NAME: Final = "variables that can't be known are set"
_DIGITS: Final = 4
_MOST_LINES: Final = 512


def declare(  # noqa: C901, PLR0912 - what options and forms there are
    shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]
) -> None:
    """`declare`, `typeset`, `local`, `export`, `readonly`."""
    name = alone(argv[0])
    options, place = options_of(argv)
    if name == "export" and "n" in options:
        return
    if "f" in options and "p" not in options:
        if name == "export" or "x" in options:
            for word in argv[place:]:
                shell.scope.export_function(word.only or "")
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
                if HOLE in variable.partition("=")[0] and "p" not in options:
                    shell.doubt(_UNKNOWN_NAME)
                continue
            if "n" in options:
                target = each.text[match.end() :] if match is not None else ""
                shell.hidden(Value((Text(target),)))
                shell.scope.refer(variable, Value((Text(target),)))
                continue
            shaping = "".join(letter for letter in "lui" if letter in options)
            if here and shell.locals:
                shell.locals[-1].setdefault(variable, shell.scope.variables.get(variable))
            if match is not None:
                value = Value((Text(each.text[match.end() :]),), word.from_data)
                _declared(shell, match, value, options, several=len(word.texts) > 1)
            elif name == "local" and shell.locals:
                shell.scope.assign(variable, EMPTY)
            if name == "readonly" or "r" in options:
                shaping += "r"
            if shaping:
                shell.scope.shapes = {**shell.scope.shapes, variable: shaping}
            if name == "export" or "x" in options:
                shell.scope.export(variable)


def _declared(
    shell: "Work", match: re.Match[str], value: Value, options: Mapping[str, Value], *,
    several: bool,
) -> None:  # fmt: skip
    """One `name=value` of a declaration; arrays have been kept where they were read."""
    variable = match[1]
    assigned_specially(shell, variable, value)
    if match[2]:
        shell.hidden(Value((Text(match[2]),)))
        return
    if variable in shell.scope.arrays:
        return
    only = alone(value) or ""
    if ("a" in options or "A" in options) and only[:1] == "(" and only[-1] == ")":
        shell.text(literal(f"{variable}={only}"), "declare")
        return
    if "i" in options:
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
    options, place = options_of(argv)
    for word in argv[place:]:
        shell.hidden(word)
        if word.only is not None and _NAME.fullmatch(word.only):
            scope = shell.scope
            scope.forget(word.only if "n" in options else scope.resolved(word.only))


def set_options(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`set`: positional parameters, and whether globs are expanded."""
    place = 1
    while place < len(argv):
        text = argv[place].only
        if text is None or text[:1] not in ("-", "+") or text in ("-", "+"):
            break
        place += 1
        if text == "--":
            _set_positional(shell, argv[place:], known=True)
            return
        if "f" in text[1:]:
            shell.scope.globbing = text[0] == "+"
        if "a" in text[1:] and "o" not in text:
            shell.scope.exports_all = text[0] == "-"
        if text[-1] == "o" and place < len(argv):
            if argv[place].only == "noglob":
                shell.scope.globbing = text[0] == "+"
            elif argv[place].only == "allexport":
                shell.scope.exports_all = text[0] == "-"
            place += 1
    if place < len(argv):
        known = not any(each.many for value in argv[place:] for each in value.texts)
        _set_positional(shell, argv[place:], known=known)


def _set_positional(shell: "Work", words: tuple[Value, ...], *, known: bool) -> None:
    """`set -- …`: of words whose number isn't known, what they may be."""
    shell.scope.positional = words if known else None
    if not known:
        hints = [each for value in words for each in value.texts if each.known]
        shell.scope.arrays["@"] = {"@": hinted(UNKNOWN, hints)}


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
        if HOLE in name.texts[0].text:
            shell.doubt(_UNKNOWN_NAME)
    stdin = _input(shell, options)
    text = stdin.text if stdin is not None else DATA
    ifs = alone(dict(shell.prefix).get("IFS") or shell.scope.get("IFS") or UNKNOWN)
    ifs = DEFAULT_IFS if ifs is None else ifs
    if connects(stdin.sources if stdin is not None else (), orders=shell.repeats):
        text = hinted(text, [NETWORK])
    lines = _lines(text, options, every=shell.repeats)
    if stdin is not None and stdin.secret:
        said = [options["a"]] if "a" in options else names
        shell.scope.secrets |= {each.only for each in said if each.only}
    if "a" in options and options["a"].only:
        _read_array(shell, options["a"].only, lines, text, ifs)
        return
    _consume(shell, stdin, options)
    for position, name in enumerate(names):
        if name.only is None or _PLACE.fullmatch(name.only) is None:
            continue
        if lines is None and stdin is not None and (only := text.only) is not None:
            rows = only.split("\n")
            value = of(_share(line, position, len(names), text, ifs).texts[0].text for line in rows)
        elif lines is None:
            value = hinted(DATA, _shares(text, position, len(names), ifs))
        else:
            found = [_share(line, position, len(names), text, ifs) for line in lines]
            value = union(found or [EMPTY])
        shell.scope.put(name.only, value)


def _consume(shell: "Work", stdin: Stdin | None, options: Mapping[str, Value]) -> None:
    """The next command reads what is left, where `read` has certainly taken the first line."""
    if stdin is None or shell.repeats or shell.conditional or {"u", "d", "n", "N"} & options.keys():
        return
    only = alone(stdin.text)
    if only is not None and "\n" in only:
        rest = literal(only.partition("\n")[2])
        shell.stdin = Stdin(Value(rest.texts, stdin.text.from_data), stdin.sources, stdin.path)


def _read_array(shell: "Work", name: str, lines: list[str] | None, text: Value, ifs: str) -> None:
    """`read -a`: the words of the line, if it is one that is known."""
    name = shell.scope.resolved(name)
    if lines is None or len(lines) != 1:
        shell.scope.fill_array(name, {"@": hinted(DATA, lines_in(text))})
        return
    count = min(len(lines[0]) + 1, _MOST_LINES)
    words = [_share(lines[0], position, count, text, ifs) for position in range(count)]
    while words and words[-1].only == "":
        words.pop()
    shell.scope.fill_array(name, {str(place): word for place, word in enumerate(words)})


def _lines(text: Value, options: Mapping[str, Value], *, every: bool) -> list[str] | None:
    """The lines that `read` may get: the first one, or in a loop any."""
    if any(each.text == HOLE for each in text.texts):
        return None
    mark = "\n"
    if "d" in options:
        given = alone(options["d"])
        if given is None:
            return None
        mark = given[:1] or HOLE
    size = options.get("N", options.get("n"))
    found: list[str] = []
    for each in text.texts:
        lines = [each.text] if "N" in options else each.text.split(mark)
        if len(lines) > 1 and not lines[-1]:
            lines.pop()
        if size is not None:
            only = alone(size)
            if only is None or not only.isdigit() or len(only) > _DIGITS or every:
                return None
            lines = [line[: int(only)] for line in lines]
        found += lines if every else lines[:1]
    return found if len(found) <= MOST_TEXTS else None


def _shares(text: Value, position: int, count: int, ifs: str) -> Iterator[Text]:
    """What one of the names may get of lines that are only likely."""
    for each in text.texts if len(text.texts) > 1 else ():
        if each.text == HOLE:
            continue
        if each.pattern is not None:
            yield each
            continue
        for line in each.text.split("\n"):
            share = _share(line, position, count, text, ifs).texts[0]
            if share.text and share.known:
                yield Text(share.text)


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
    word = words[position] if position < len(words) else ""
    globbed = any(each.pattern is not None for each in text.texts) and not {*"*?["}.isdisjoint(word)
    return Value((Text(word, word if globbed else None),), text.from_data)


def _told_lines(value: Value) -> list[Text]:
    """The lines of what an input that can't be told may be."""
    texts = [each.text for each in wholes(value)]
    return [Text(line) for text in texts for line in text.splitlines()[:_MOST_LINES] if line]


def mapfile(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`mapfile`, also as `readarray`."""
    options, place = options_of(argv, "dnOsuCc")
    if "C" in options:
        shell.aside(options["C"], argv[0].only or "mapfile")
    name = argv[place].only if place < len(argv) else "MAPFILE"
    stdin = _input(shell, options)
    text = stdin.text.only if stdin is not None else None
    if name is None:
        shell.doubt(_UNKNOWN_NAME)
        return
    if stdin is not None and text is None and connects(stdin.sources, orders=True):
        stdin = Stdin(hinted(stdin.text, [NETWORK]), stdin.sources)
    name = shell.scope.resolved(name)
    if stdin is not None and stdin.secret:
        shell.scope.secrets |= {name}
    mark = (alone(options["d"]) if "d" in options else "\n") or HOLE
    if text is None:
        hints = [] if stdin is None else [*_told_lines(stdin.text), *lines_in(stdin.text)]
        shell.scope.fill_array(name, {"@": hinted(DATA, hints)})
        return
    kept = "" if "t" in options else mark
    lines = text.split(mark)[:-1] if text.endswith(mark) else text.split(mark)
    shell.scope.fill_array(
        name, {str(place): literal(line + kept) for place, line in enumerate(lines[:_MOST_LINES])}
    )


def getopts(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`getopts`."""
    name = argv[2].only if argv[2:] else None
    if not name:
        return
    letters = alone(argv[1])
    given = argv[3:] or shell.scope.positional
    shell.scope.assign(name, UNKNOWN if letters is None else of((*letters.replace(":", ""), "?")))
    if given is None:
        shell.scope.assign("OPTARG", UNKNOWN)
        return
    # Any of the words may be the argument, whole (`-f x`) or behind its letter (`-fx`).
    texts = [each.text for value in given for each in value.texts]
    found = dict.fromkeys(
        each[2:] if each[:1] == "-" and each[1:2] in (letters or "") else each for each in texts
    )
    shell.scope.assign("OPTARG", of(each for each in found if each))


def printf(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`printf -v`."""
    if not argv[2:] or argv[1].only != "-v":
        return
    shell.hidden(argv[2])
    name = argv[2].only
    if name is None or HOLE in name:
        shell.doubt(_UNKNOWN_NAME)
        return
    if _PLACE.fullmatch(name) is None:
        return
    texts = [each.only for each in argv[3:]]
    output = formatted([each for each in texts if each is not None]) if None not in texts else None
    hints = [each for value in argv[3:] for each in value.texts if each.known and each.text]
    shell.scope.put(name, literal(output) if output is not None else hinted(DATA, hints))
