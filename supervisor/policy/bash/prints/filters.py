"""What programs print that pass their input on, changed a little: sed, grep, fold and the like."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

_LONGEST_LINE: Final = 256
_LONGEST_EXPRESSION: Final = 128
_MOST_LINES: Final = 64
_MOST_STEPS: Final = 1_000_000
_MOST_COMMANDS: Final = 32
_ADDRESS: Final = re.compile(
    r"\s*(?:(?:\d+|\$|/(?:[^/\\]|\\.)*/I?)(?:,(?:\d+|\$|/(?:[^/\\]|\\.)*/I?))?)?\s*!?"
)
_QUANTIFIERS: Final = re.compile(r"(?<!\\)[*+?]|(?<!\\)\{")
_REPEATED_GROUP: Final = re.compile(r"\)[*+?{]")
_TEXT: Final = re.compile(r"([aic])\s*\\?\n?\s*([^\n]*)")
_OPTIONS_WITH_VALUE: Final = frozenset({"-l", "--line-length"})
JOINS: Final = frozenset({"paste", "column", "fmt", "xargs", "pr", "par"})
"""Programs that put lines behind one another."""


def joined_lines(text: str) -> str:
    """All lines in one."""
    return " ".join(text.split())


def sed_scripts(words: Sequence[str]) -> tuple[list[str], bool]:
    """The scripts in the words of `sed`, and whether their expressions are extended ones."""
    scripts: list[str] = []
    extended = any(re.fullmatch(r"-[nszu]*[Er]\w*|--regexp-extended", each) for each in words)
    rest: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif word == "--expression" or re.fullmatch(r"-[nErszu]*e", word):
            scripts.extend(words[at : at + 1])
            at += 1
        elif word in _OPTIONS_WITH_VALUE:
            at += 1
        elif word[:1] != "-":
            rest.append(word)
    return (scripts or rest[:1]), extended


def sed(words: Sequence[str], text: str | None) -> Iterator[str]:
    """What `sed` may print: the input as its scripts change it, and the texts that they put in."""
    scripts, extended = sed_scripts(words)
    commands = _commands("\n".join(scripts))
    put: list[str] = []
    work = _Work()
    lines = (text or "").split("\n")[:_MOST_LINES] if text is not None else []
    for kind, first, second in commands:
        if kind in {"a", "i", "c"}:
            put.append(first)
        elif kind == "y":
            table = str.maketrans(dict(zip(first, second, strict=False)))
            lines = [each.translate(table) for each in lines]
        else:
            if text is None and not re.search(r"\\\d|(?<!\\)&", second):
                put.append(_plain(second))
            lines = _substituted(lines, first, second, work, extended=extended)
    if lines:
        yield "\n".join(lines)
    if put:
        yield "\n".join(put)


def _commands(script: str) -> list[tuple[str, str, str]]:
    """`s`, `y`, `a`, `i` and `c` of a script, with their texts."""
    found: list[tuple[str, str, str]] = []
    at = 0
    while at < len(script) and len(found) < _MOST_COMMANDS:
        address = _ADDRESS.match(script, at)
        start = address.end() if address else at
        letter, mark = script[start : start + 1], script[start + 1 : start + 2]
        text = _TEXT.match(script, start)
        if letter in {"s", "y"} and mark and not mark.isalnum() and mark not in {" ", "\n", "\\"}:
            pieces, end = _parted(script, start + 2, mark)
            if len(pieces) == 2:  # noqa: PLR2004 - what is found, and what is put there
                found.append((letter, pieces[0], pieces[1]))
            at = end
        elif text is not None:
            found.append((text[1], text[2], ""))
            at = text.end()
        else:
            at = start
        ends = [
            each
            for each in (script.find(";", at), script.find("\n", at), script.find("}", at))
            if each >= 0
        ]
        at = min(ends, default=len(script)) + 1
    return found


def _parted(script: str, at: int, mark: str) -> tuple[list[str], int]:
    pieces: list[str] = []
    piece = ""
    while at < len(script) and len(pieces) < 2:  # noqa: PLR2004 - as above
        sign = script[at]
        if sign == "\\" and at + 1 < len(script):
            piece += mark if script[at + 1] == mark else script[at : at + 2]
            at += 2
            continue
        if sign == mark:
            pieces.append(piece)
            piece = ""
        else:
            piece += sign
        at += 1
    return pieces, at


def _plain(put: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), put)


def compiled(expression: str, *, extended: bool) -> "re.Pattern[str] | None":
    """An expression of sed or grep as ours, if it can't take long."""
    if not extended:
        expression = re.sub(
            r"\\([(){}+?|])|([(){}+?|])",
            lambda found: found[1] or f"\\{found[2]}",
            expression,
        )
    few = len(_QUANTIFIERS.findall(expression)) <= 2  # noqa: PLR2004 - more may take long
    if not few or len(expression) > _LONGEST_EXPRESSION or _REPEATED_GROUP.search(expression):
        return None
    for name, ours in (("[:space:]", r"\s"), ("[:alpha:]", "a-zA-Z"), ("[:digit:]", r"\d")):
        expression = expression.replace(name, ours)
    try:
        return re.compile(expression)
    except (re.error, OverflowError):
        return None


class _Work:
    """How much may still be matched, so that it can't take long: counted, not timed."""

    def __init__(self) -> None:
        self.left = _MOST_STEPS

    def allows(self, pattern: "re.Pattern[str]", line: str) -> bool:
        """Whether an expression may be held against a line, as slow as it can be."""
        steps = (len(line) + 1) ** (1 + len(_QUANTIFIERS.findall(pattern.pattern)))
        if steps > self.left or len(line) > _LONGEST_LINE:
            return False
        self.left -= steps
        return True


def _substituted(
    lines: list[str], find: str, put: str, work: _Work, *, extended: bool
) -> list[str]:
    pattern = compiled(find, extended=extended)
    if pattern is None or len(put) > _LONGEST_LINE:
        return lines

    def filled(found: "re.Match[str]") -> str:
        def one(sign: "re.Match[str]") -> str:
            if sign[0] == "&":
                return found[0]
            if sign[1].isdigit():
                number = int(sign[1])
                return (found[number] or "") if number <= (pattern.groups if pattern else 0) else ""
            return {"n": "\n", "t": "\t"}.get(sign[1], sign[1])

        return re.sub(r"\\(.)|&", one, put)

    return [pattern.sub(filled, each) if work.allows(pattern, each) else each for each in lines]


def grep(words: Sequence[str], text: str) -> str:
    """What `grep` may let pass of its input; `-o`: only what fits."""
    options = [each for each in words if each[:1] == "-" and each != "-"]
    letters = "".join(each[1:] for each in options if not each.startswith("--"))
    rest = [each for each in words if each[:1] != "-"]
    pattern = None
    if rest and "F" not in letters:
        pattern = compiled(rest[0], extended=bool(set("EP") & set(letters)))
    elif rest:
        pattern = re.compile(re.escape(rest[0]))
    if pattern is None:
        return text
    if "i" in letters:
        pattern = re.compile(pattern.pattern, re.IGNORECASE)
    found: list[str] = []
    work = _Work()
    for line in text.split("\n")[:_MOST_LINES]:
        if not work.allows(pattern, line):
            found.append(line)
            continue
        hit = pattern.search(line)
        if (hit is None) == ("v" in letters):
            found.append(hit[0] if hit is not None and "o" in letters else line)
    return "\n".join(found)
