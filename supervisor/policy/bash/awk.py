"""awk's programs: `system`, pipes, and files that are read and written."""

import re
from collections.abc import Mapping
from typing import Final

from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.use import NO_FILES, Use
from supervisor.policy.bash.value import HOLE, Value, known

_TOKEN: Final = re.compile(
    r'(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<comment>\#[^\n]*)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)'
    r"|(?P<sign>\|&|>>|\|\||==|!=|>=|<=|.)|(?P<space>\s+)",
    re.DOTALL,
)
_REGEX: Final = re.compile(r"/(?:[^/\\\n]|\\.)+/")
_OPERANDS: Final = frozenset({"text", "number", "name"})
_PRINTS: Final = frozenset({"print", "printf"})
_NO_NAMES: Final[Mapping[str, str]] = {}
_ENDS: Final = frozenset({";", "\n", "}"})


def awk(use: Use, code: str) -> None:  # noqa: C901 - one case a kind of word
    """What a program of awk runs, reads and writes."""
    tokens = _tokens(code)
    inet = any(kind == "text" and text.startswith("/inet") for kind, text in tokens)
    kinds = [each for each, _ in tokens]
    texts = [each for _, each in tokens]
    printing = False
    deep = 0
    names: dict[str, str] = {}
    for at, text in enumerate(texts):
        if kinds[at] == "name" and texts[at + 1 : at + 2] == ["="]:
            names[text] = _expression(tokens, at + 2, names)
        if text in _PRINTS and kinds[at] == "name":
            printing, deep = True, 0
        elif text in _ENDS and kinds[at] != "text":
            printing = False
        elif kinds[at] == "sign" and text in "()":
            deep += 1 if text == "(" else -1
        elif kinds[at] == "name" and text == "system":
            use.script(_value(_expression(tokens, at + 1, names)))
        elif kinds[at] == "name" and text == "getline":
            _getline(use, tokens, at, names)
            if inet and at > 1 and texts[at - 1].startswith("|") and kinds[at - 2] == "name":
                use.emit(Act.REMOTE_SHELL, "ties a program to the network")
        elif kinds[at] == "name" and text == "ENVIRON":
            _environment(use, texts, kinds, at)
        elif kinds[at] == "sign" and printing and deep == 0 and text in {">", ">>", "|", "|&"}:
            _output(use, text, _value(_expression(tokens, at + 1, names)))
    if re.search(r"@(load|include)\b", code):
        use.unknown("loads code into awk")


def _tokens(code: str) -> list[tuple[str, str]]:
    """Kinds and texts; a `/` starts a pattern where no operand stands before it."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(code):
        kind, text = found[-1] if found else ("", "")
        operand = (kind in _OPERANDS and text not in _PRINTS) or text in {")", "]"}
        each = _REGEX.match(code, at) if code[at] == "/" and not operand else None
        if each is not None:
            found.append(("number", "1"))
            at = each.end()
            continue
        each = _TOKEN.match(code, at)
        if each is None:
            break
        at = each.end()
        kind, text = str(each.lastgroup), each[0]
        if kind == "comment" or (text.isspace() and text != "\n"):
            continue
        if kind == "text":
            text = re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text[1:-1])
        found.append((kind, text))
    return found


def _expression(
    tokens: list[tuple[str, str]], at: int, names: Mapping[str, str] = _NO_NAMES
) -> str:
    """A text with holes: what stands there, up to the end of the expression."""
    pieces = []
    depth = 0
    while at < len(tokens):
        kind, text = tokens[at]
        if kind == "sign" and text == "(":
            depth += 1
        elif kind == "sign" and text == ")":
            if depth <= 1:
                break
            depth -= 1
        elif kind != "text" and (text in _ENDS or (text in {"|", ">", "<"} and not depth)):
            break
        else:
            pieces.append(text if kind == "text" else names.get(text, HOLE))
        at += 1
    return "".join(pieces) or HOLE


def _value(text: str) -> Value:
    return known(text)


def _output(use: Use, sign: str, value: Value) -> None:
    if sign.startswith("|"):
        use.script(value)
    elif value.texts[0].text.startswith("/inet"):
        host = re.match(r"/inet\d?/\w+/\d+/([^/]+)", value.texts[0].text)
        use.send(known(host[1] if host else HOLE))
    elif value.only not in NO_FILES:
        use.emit(Act.WRITE, "is written by awk", value)


def _getline(use: Use, tokens: list[tuple[str, str]], at: int, names: Mapping[str, str]) -> None:
    if at and tokens[at - 1][1] in {"|", "|&"} and at > 1:
        start = at - 2
        while start > 0 and tokens[start - 1][0] == "text":
            start -= 1
        text = "".join(
            each if kind == "text" else names.get(each, HOLE)
            for kind, each in tokens[start : at - 1]
        )
        if "/inet" in text:
            use.send(None)
        else:
            use.script(_value(text))
        return
    for place in range(at + 1, min(at + 4, len(tokens))):
        if tokens[place][1] == "<":
            value = _value(_expression(tokens, place + 1, names))
            if value.only not in {"-", *NO_FILES}:
                use.emit(Act.READ, "is read by awk", value)
            return


def _environment(use: Use, texts: list[str], kinds: list[str], at: int) -> None:
    named = at + 2 < len(texts) and texts[at + 1] == "[" and kinds[at + 2] == "text"
    if not named or re.search(r"key|token|secret|passw|cred", texts[at + 2], re.IGNORECASE):
        use.emit(Act.REVEAL, "prints the environment, which may hold secrets")
