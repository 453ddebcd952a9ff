"""What `printf` prints for a format and its arguments."""

import re
from typing import Final

from supervisor.policy.bash.shell.escapes import echo_escapes, printf_escapes
from supervisor.policy.bash.value import HOLE

_FORMAT: Final = re.compile(r"%([-+ #0']*)(\*|[0-9]+)?(?:\.(\*|[0-9]*))?([a-zA-Z%])", re.DOTALL)
_SAFE: Final = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")
_OCTAL: Final = re.compile(r"(?<!\\)\\([1-7][0-7]{0,2})")
_WIDEST: Final = 4
"""Digits of a width."""


def formatted(words: list[str]) -> str | None:
    """What `printf` prints for these words; None if it can't be told."""
    if words[:1] == ["--"]:
        words = words[1:]
    if not words or HOLE in words[0]:
        return None
    pattern, arguments = words[0], list(words[1:])
    made: list[str] = []
    while True:
        before = len(arguments)
        last = 0
        for match in _FORMAT.finditer(pattern):
            text, stopped = printf_escapes(pattern[last : match.start()])
            made.append(text)
            if stopped:
                return "".join(made)
            last = match.end()
            piece = _converted(match, arguments)
            if piece is None:
                return None
            made.append(piece)
        text, stopped = printf_escapes(pattern[last:])
        made.append(text)
        if stopped or not arguments or len(arguments) == before:
            return "".join(made)


def _converted(match: re.Match[str], arguments: list[str]) -> str | None:
    flags, width, precision, letter = match.groups()
    if letter == "%":
        return "%"
    if width == "*":
        width = arguments.pop(0) if arguments else "0"
    if precision == "*":
        precision = arguments.pop(0) if arguments else "0"
    argument = arguments.pop(0) if arguments else ""
    if not all(
        each is None or (len(each) <= _WIDEST and HOLE not in each) for each in (width, precision)
    ):
        return None
    if letter in "sbqc":
        return _text(letter, argument, flags, width, precision)
    return _number(letter, argument, flags, width, precision)


def _text(
    letter: str, argument: str, flags: str, width: str | None, precision: str | None
) -> str | None:
    text = argument[:1] if letter == "c" else argument
    if letter == "b":
        # Unlike `echo -e`, `%b` takes octal digits without a zero before them too.
        text, _ = echo_escapes(_OCTAL.sub(r"\\0\1", text))
    elif letter == "q" and not _SAFE.fullmatch(text):
        return None if text else "''"
    if not (width or "0").isdigit() or not (precision or "0").isdigit():
        return None
    if precision is not None:
        text = text[: int(precision or 0)]
    return text.ljust(int(width or 0)) if "-" in flags else text.rjust(int(width or 0))


def _number(
    letter: str, argument: str, flags: str, width: str | None, precision: str | None
) -> str | None:
    if letter not in "diouxX":
        return None
    kind = {"i": "d", "u": "d"}.get(letter, letter)
    dot = "." + precision if precision else ""
    try:
        quoted = argument[:1] in ("'", '"') and argument[1:]
        number = ord(argument[1]) if quoted else int(argument or "0", 0)
        return f"%{flags.replace(chr(39), '')}{width or ''}{dot}{kind}" % number
    except (ValueError, OverflowError, TypeError):
        return None
