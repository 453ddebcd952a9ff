"""sed's scripts: commands that run programs (`e`), and that read or write files (`r`, `w`)."""

import re
from functools import lru_cache
from typing import Final

from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.use import NO_FILES, Use
from supervisor.policy.bash.value import Text, Value, known

_ADDRESS: Final = re.compile(
    r"\s*(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/[IM]*|\\(?P<m>.)(?:(?!(?P=m))[^\\]|\\.)*(?P=m)[IM]*"
    r"|\+\d+|~\d+)[ \t]*"
)
_BETWEEN: Final = re.compile(r"[ \t\n;}]*")
_NEGATION: Final = re.compile(r"[ \t!]*")
_PLAIN: Final = re.compile(r"[=dDgGhHnNpPxz{}F]|[lqQ][ \d]*")
_LABEL: Final = re.compile(r"[:btT][^;\n]*|#[^\n]*|v[^;\n]*")
_TEXT: Final = re.compile(r"[aic](?:[^\\\n]|\\.)*", re.DOTALL)
_TO_END: Final = re.compile(r"([erRwW])([^\n]*)")
_FLAGS: Final = frozenset("gpiIeEmMwW0123456789 \t")
_PLACES: Final = {"^": "{put}{line}", "$": "{line}{put}"}
"""Where a text is put that is then run with the rest of the line."""
_MOST_LINES: Final = 8
_SPLIT: Final = {"s": 2, "y": 2}


def sed(use: Use, code: str) -> None:
    """What a script of sed runs, reads and writes."""
    at = 0
    while at < len(code):
        at = _command(use, code, _start(code, at))


def _start(code: str, at: int) -> int:
    """Where the command's letter is, behind its addresses."""
    at = _match(_BETWEEN, code, at)
    for _ in range(2):
        at = _match(_ADDRESS, code, at)
        if code[at : at + 1] != ",":
            break
        at += 1
    return _match(_NEGATION, code, at)


def _match(pattern: re.Pattern[str], code: str, at: int) -> int:
    found = pattern.match(code, at)
    return found.end() if found else at


def _command(use: Use, code: str, at: int) -> int:
    """Reads one command; returns where the next begins."""
    if at >= len(code):
        return at
    if code[at] in _SPLIT:
        return _substitute(use, code, at)
    for pattern in (_PLAIN, _LABEL, _TEXT):
        found = pattern.match(code, at)
        if found:
            return found.end()
    found = _TO_END.match(code, at)
    if found is None:
        use.unknown("is a script of sed that can't be read here")
        return len(code)
    letter, rest = found[1], found[2].strip()
    if letter == "e":
        if rest:
            use.script(Value((Text(rest),)))
        else:
            use.unknown("runs the text that it edits")
    else:
        _file(use, Act.READ if letter in "rR" else Act.WRITE, rest)
    return found.end()


def _file(use: Use, act: Act, name: str) -> None:
    if name and name not in NO_FILES:
        use.emit(act, "is read by sed" if act is Act.READ else "is written by sed", known(name))


@lru_cache(maxsize=256)
def _up_to(mark: str) -> re.Pattern[str]:
    """A piece of a command with the mark behind it; a backslash takes what follows along."""
    mark = re.escape(mark)
    return re.compile(rf"([^\\{mark}]*(?:\\.[^\\{mark}]*)*){mark}", re.DOTALL)


def _substitute(use: Use, code: str, at: int) -> int:
    """`s/FIND/PUT/FLAGS`, `y/FROM/TO/`."""
    letter, mark = code[at], code[at + 1 : at + 2]
    pieces: list[str] = []
    at += 2
    while len(pieces) < _SPLIT[letter]:
        found = _up_to(mark).match(code, at) if mark else None
        if found is None:
            at = len(code)
            break
        pieces.append(found[1])
        at = found.end()
    if letter == "y":
        return at
    evaluated = False
    while at < len(code) and code[at] in _FLAGS:
        if code[at] in "wW":
            end = code.find("\n", at)
            end = len(code) if end < 0 else end
            _file(use, Act.WRITE, code[at + 1 : end].strip())
            return end
        evaluated = evaluated or code[at] == "e"
        at += 1
    if evaluated:
        _evaluated(use, pieces[0] if pieces else "", pieces[-1] if pieces else "")
    return at


def _evaluated(use: Use, find: str, put: str) -> None:
    """`s///e` runs what the line has become: what is put in, and what was there."""
    if put and "&" not in put and not re.search(r"\\\d", put):
        use.script(known(put))
        stdin = use.invocation.stdin
        for each in stdin.text.texts[:_MOST_LINES] if stdin is not None and find in _PLACES else ():
            for line in each.text.strip("\n").split("\n")[:_MOST_LINES]:
                use.script(known(_PLACES[find].format(put=put, line=line)))
    use.unknown("runs the text that it edits")
