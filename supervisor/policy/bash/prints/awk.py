"""What programs of awk may print: their own texts, and the lines of a known input."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from supervisor.policy.bash.awk import tokens_of
from supervisor.policy.bash.awk_values import expression, printed
from supervisor.policy.bash.value import HOLE

_ENDS: Final = frozenset({";", "\n", "}"})
_REDIRECTS: Final = frozenset({">", ">>", "|", "|&"})
_MOST_RECORDS: Final = 8
_MOST_TOKENS: Final = 500
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def awk(words: Sequence[str], text: str | None) -> Iterator[str]:
    """What `awk` may print, once for each line of its input that is known."""
    code, names = _parted(words)
    if code is None:
        return
    tokens = tokens_of(code)[:_MOST_TOKENS]
    prints = [
        at
        for at, (kind, word) in enumerate(tokens)
        if kind == "name" and word in {"print", "printf"}
    ]
    records: list[str | None] = [None] if text is None else list(text.splitlines()[:_MOST_RECORDS])
    lines: list[str] = []
    for record in records or [None]:
        held = dict(names)
        for at, (kind, word) in enumerate(tokens):
            if kind == "name" and tokens[at + 1 : at + 2] == [("sign", "=")]:
                held[word] = expression(tokens, at + 2, held, record)
        for at in prints:
            made = printed(tokens, at + 1, _end(tokens, at + 1), held, record)
            lines.append(made)
    told = "\n".join(each for each in lines if each.strip(HOLE))
    if told:
        yield told
    if text is not None:
        yield text  # a pattern without an action, or what `sub` leaves as it is
        yield from _changed(code, text)


def _parted(words: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    names: dict[str, str] = {}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word in {"-v", "--assign", "-F", "-f"}:
            found = _ASSIGNED.fullmatch(words[at]) if at < len(words) else None
            if found and word != "-F":
                names[found[1]] = found[2]
            at += 1
        elif word.startswith("-v") and (found := _ASSIGNED.fullmatch(word[2:])):
            names[found[1]] = found[2]
        elif word[:1] != "-" or word == "-":
            for each in words[at:]:
                if found := _ASSIGNED.fullmatch(each):
                    names[found[1]] = found[2]
            return word, names
    return None, names


def _end(tokens: Sequence[tuple[str, str]], at: int) -> int:
    depth = 0
    while at < len(tokens):
        kind, word = tokens[at]
        if kind != "text":
            depth += (word == "(") - (word == ")")
            if word in _ENDS or (depth <= 0 and word in _REDIRECTS):
                break
        at += 1
    return at


_SUB: Final = re.compile(r"g?sub\(\s*(?:/([^/]*)/|\"([^\"]*)\")\s*,\s*\"([^\"]*)\"")


def _changed(code: str, text: str) -> Iterator[str]:
    """`sub(FIND, PUT)` on the lines, where FIND is plain."""
    changed = text
    for found in _SUB.finditer(code):
        find = found[1] or found[2] or ""
        if find and re.fullmatch(r"[\w /.:-]+", find):
            changed = changed.replace(find, found[3])
    if changed != text:
        yield changed
