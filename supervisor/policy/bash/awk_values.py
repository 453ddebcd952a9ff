"""Values in awk's programs: variables, the fields of a line that is known, texts put together."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import HOLE

Words = Sequence[tuple[str, str]]
"""The kinds and texts of a program's tokens."""

_LONGEST: Final = 4_096
_ENDS: Final = frozenset({";", "\n", "}"})
_SPRINTF: Final = ["sprintf", "("]
_CONVERSION: Final = re.compile(r"%[-+ #0-9.]*[a-zA-Z%]")
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def variables(use: Use) -> dict[str, str]:
    """What `-v NAME=VALUE` and operands like it set."""
    given = [value for option, value in use.parsed.values if "assigned" in option.tags]
    found: dict[str, str] = {}
    for each in (*given, *use.parsed.operands[1:]):
        set_one = _ASSIGNED.fullmatch(each.only or "")
        if set_one:
            found[set_one[1]] = set_one[2]
    return found


def expression(tokens: Words, at: int, names: Mapping[str, str], record: str | None = None) -> str:
    """A text with holes: what stands there, up to the end of the expression."""
    end, depth = at, 0
    while end < len(tokens):
        kind, text = tokens[end]
        if kind == "sign" and text == "(":
            depth += 1
        elif kind == "sign" and text == ")":
            if depth <= 1:
                break
            depth -= 1
        elif kind != "text" and (text in _ENDS or (text in {"|", ">", "<"} and not depth)):
            break
        end += 1
    start = at + (tokens[at : at + 1] == [("sign", "(")])
    if [text for _, text in tokens[start : start + 2]] == _SPRINTF and start + 2 < end:
        made = _formatted(tokens, start + 2, end, names, record)
    else:
        made = "".join(_pieces(tokens, at, end, names, record))
    return made if made and len(made) <= _LONGEST else HOLE


def printed(
    tokens: Words, start: int, end: int, names: Mapping[str, str], record: str | None
) -> str:
    """What `print` with these tokens prints; the line itself without any."""
    if start >= end:
        return HOLE if record is None else record
    if start and tokens[start - 1][1] == "printf" and tokens[start][0] == "text":
        return _formatted(tokens, start, end, names, record)
    return "".join(_pieces(tokens, start, end, names, record)) or HOLE


def _formatted(
    tokens: Words, start: int, end: int, names: Mapping[str, str], record: str | None
) -> str:
    """What `printf FORMAT, …` prints; the format is a text."""
    if tokens[start][0] != "text":
        return HOLE
    given = _groups(tokens, start + 2, end) if start + 2 < end else []
    texts = ["".join(_pieces(tokens, first, last, names, record)) for first, last in given]
    return formatted(tokens[start][1], texts)


def formatted(text: str, values: Sequence[str]) -> str:
    """A format (`%s`) with values in the places of its conversions."""
    left = iter(values)
    return _CONVERSION.sub(lambda found: "%" if found[0] == "%%" else next(left, ""), text)


def _groups(tokens: Words, start: int, end: int) -> list[tuple[int, int]]:
    """The places between commas."""
    commas = [at for at in range(start, end) if tokens[at] == ("sign", ",")]
    return list(zip([start, *(each + 1 for each in commas)], [*commas, end], strict=True))


def _pieces(
    tokens: Words, start: int, end: int, names: Mapping[str, str], record: str | None
) -> list[str]:
    pieces = []
    at = start
    while at < end:
        kind, text = tokens[at]
        if kind == "text":
            pieces.append(text)
        elif text == "$" and at + 1 < end and tokens[at + 1][0] == "number":
            pieces.append(_field(record, tokens[at + 1][1]))
            at += 1
        elif kind == "sign" and text == ",":
            pieces.append(" ")
        elif not (kind == "sign" and text in "()"):
            pieces.append(names.get(text, HOLE))
        at += 1
    return pieces


def _field(record: str | None, number: str) -> str:
    if record is None or not number.isdigit():
        return HOLE
    if number == "0":
        return record
    fields = record.split()
    return fields[int(number) - 1] if 0 < int(number) <= len(fields) else ""
