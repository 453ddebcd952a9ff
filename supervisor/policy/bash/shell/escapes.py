"""Backslash escapes: those of `$'…'`, and those of `printf` and `echo -e`.

Source: bash's manual, "ANSI-C Quoting", `printf` and `echo` under "Bash Builtins".
"""

import re
from typing import Final

_CODES: Final = range(0x110000)
_SURROGATES: Final = range(0xD800, 0xE000)
_SIMPLE: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ESCAPE: Final = re.compile(
    r"\\(?:x\{?([0-9A-Fa-f]{1,2})\}?|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})"
    r"|c(.)|(.))",
    re.DOTALL,
)
_ECHO: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|0([0-7]{0,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(c)|(.))",
    re.DOTALL,
)
_PRINTF: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(c)|(.))",
    re.DOTALL,
)


def _character(code: int) -> str:
    return chr(code) if code in _CODES and code not in _SURROGATES else "\ufffd"


def _bytes_joined(text: str) -> str:
    r"""Bytes written one by one (`\xc3\xa9`) are one character to whoever reads them."""
    if not any("\x80" <= each <= "\xff" for each in text):
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except (UnicodeDecodeError, UnicodeEncodeError):
        return text


def ansi_c(text: str) -> str:
    """What stands between `$'` and `'`, decoded; bash ends it at a NUL."""

    def replace(match: re.Match[str]) -> str:
        hexadecimal, octal, short, long, control, other = match.groups()
        if octal is not None:
            return _character(int(octal, 8) & 0xFF)
        number = hexadecimal or short or long
        if number is not None:
            return _character(int(number, 16))
        if control is not None:
            return chr(ord(control) & 0x1F) if control != "?" else "\x7f"
        return _SIMPLE.get(other, "\\" + other)

    if "\\" not in text:
        return text
    return _bytes_joined(_ESCAPE.sub(replace, text)).split("\0", 1)[0]


def _decoded(text: str, pattern: re.Pattern[str]) -> tuple[str, bool]:
    made: list[str] = []
    last = 0
    for match in pattern.finditer(text):
        made.append(text[last : match.start()])
        last = match.end()
        hexadecimal, octal, short, long, stop, other = match.groups()
        if stop is not None:
            return _bytes_joined("".join(made)), True
        if octal is not None:
            made.append(_character(int(octal or "0", 8) & 0xFF))
        elif other is not None:
            made.append(_SIMPLE[other] if other in _SIMPLE and other != "?" else "\\" + other)
        else:
            made.append(_character(int(hexadecimal or short or long, 16)))
    made.append(text[last:])
    return _bytes_joined("".join(made)), False


def echo_escapes(text: str) -> tuple[str, bool]:
    r"""`echo -e` and printf's `%b`: the text, and whether `\c` ended it."""
    return _decoded(text, _ECHO)


def printf_escapes(text: str) -> tuple[str, bool]:
    r"""The escapes in a format of `printf`: the text, and whether `\c` ended it."""
    return _decoded(text, _PRINTF)
