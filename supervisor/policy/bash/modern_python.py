"""Python code in the spellings of 3.12 and later → the same for the parser that runs us."""

import re
from typing import Final

_PREFIX: Final = re.compile(r"(?<![\w])(?P<kind>[fFtT][rR]?|[rR][fFtT])(?P<mark>\"\"\"|'''|\"|')")
_TYPE: Final = re.compile(r"^(\s*)type\s+(\w+)(?:\[[^\]\n]*\])?\s*=", re.MULTILINE)
_GENERIC: Final = re.compile(r"^(\s*(?:async\s+)?(?:def|class)\s+\w+)\[[^\]\n]*\]", re.MULTILINE)
_EXCEPT: Final = re.compile(
    r"^(\s*except\*?)\s+((?:\w|\.)+(?:\s*,\s*(?:\w|\.)+)+)\s*:",
    re.MULTILINE,
)
_TEXT: Final = re.compile(
    r"\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL
)
_OPEN: Final = frozenset("([{")
_CLOSE: Final = frozenset(")]}")
_MOST: Final = 200
_DEEPEST: Final = 8


def older(code: str) -> str:
    """The code with each f-string as a sum, so that quotes may nest; without type parameters."""
    code = _TYPE.sub(r"\1\2 =", code)
    code = _GENERIC.sub(r"\1", code)
    code = _EXCEPT.sub(r"\1 (\2):", code)
    return _sums(code, 0)


def _sums(code: str, depth: int) -> str:
    pieces: list[str] = []
    at = 0
    for _ in range(_MOST):
        found = _PREFIX.search(code, at)
        plain = _TEXT.search(code, at)
        if found is None or depth > _DEEPEST:
            break
        if plain is not None and plain.start() < found.start() and plain.end() > found.start():
            pieces.append(code[at : plain.end()])  # the letter stands in a plain text
            at = plain.end()
            continue
        made, end = _formatted(code, found.end(), found["mark"], depth)
        pieces += [code[at : found.start()], made]
        at = end
    return "".join(pieces) + code[at:]


def _formatted(code: str, at: int, mark: str, depth: int) -> tuple[str, int]:
    """The sum that an f-string is, and where it ends."""
    parts: list[str] = []
    text = ""
    while at < len(code) and not code.startswith(mark, at):
        if code.startswith(("{{", "}}"), at):
            text += code[at]
            at += 2
        elif code[at] == "{":
            inner, at = _braced(code, at + 1)
            parts += [f"{mark}{text}{mark}", f"str({_sums(inner, depth + 1)})"]
            text = ""
        elif code[at] == "\\" and at + 1 < len(code):
            text += code[at : at + 2]
            at += 2
        else:
            text += code[at]
            at += 1
    parts.append(f"{mark}{text}{mark}")
    return f"({'+'.join(parts)})", at + len(mark)


def _braced(code: str, at: int) -> tuple[str, int]:
    """The expression in braces without its format, and where it ends."""
    start, end, depth = at, -1, 0
    while at < len(code):
        text = _TEXT.match(code, at)
        if text is not None:
            at = text.end()
            continue
        sign = code[at]
        if sign in _OPEN:
            depth += 1
        elif sign in _CLOSE:
            if depth == 0:
                break
            depth -= 1
        elif (
            depth == 0
            and end < 0
            and (sign == ":" or (sign == "!" and code[at + 1 : at + 2] != "="))
        ):
            end = at
        at += 1
    inner = code[start : end if end >= 0 else at].strip()
    return inner.removesuffix("=").strip() or "''", at + 1
