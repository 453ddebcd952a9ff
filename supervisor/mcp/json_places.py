"""Where the members of a JSON object stand in its text, so that one can be changed and no other.

What isn't changed stays byte for byte as the person wrote it: order, indentation, numbers.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

DEEPEST: Final = 64
"""Objects and lists within each other."""
_BLANK: Final = " \t\r\n"


class NotJson(ValueError):
    """The text isn't JSON, or not of the form that is read; `at` is the place, as an offset."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what = what
        self.at = at


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an object. `at` is its key's offset, `value_at` and `end` its value's."""

    key: str
    value: Any
    at: int
    value_at: int
    end: int


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object in a text; `opens` and `closes` are the offsets of its braces."""

    text: str
    opens: int
    closes: int
    members: tuple[Member, ...]

    def member(self, key: str) -> Member | None:
        """The member of this name."""
        return next((each for each in self.members if each.key == key), None)

    def put(self, key: str, value: Mapping[str, Any]) -> str:
        """The whole text with this member set; a new one is the last."""
        there = self.member(key)
        style = _Style.of(self)
        if there is not None:
            told = style.value(value)
            return self.text[: there.value_at] + told + self.text[there.end :]
        told = f"{style.before}{json.dumps(key, ensure_ascii=False)}: {style.value(value)}"
        if not self.members:
            return self.text[: self.opens + 1] + told + style.after + self.text[self.closes :]
        end = self.members[-1].end
        return f"{self.text[:end]},{told}{self.text[end:]}"

    def without(self, key: str) -> str:
        """The whole text without this member, which must be there."""
        keys = [each.key for each in self.members]
        place = keys.index(key)
        gone = self.members[place]
        if place > 0:
            return self.text[: self.members[place - 1].end] + self.text[gone.end :]
        if len(keys) > 1:
            return self.text[: gone.at] + self.text[self.members[1].at :]
        return self.text[: self.opens + 1] + self.text[self.closes :]


@dataclass(frozen=True, slots=True)
class _Style:
    """How the object is laid out: what stands before a member, and after the last one."""

    before: str
    after: str
    step: str | None
    """One level of indentation; None: all on one line."""

    @classmethod
    def of(cls, found: JsonObject) -> "_Style":
        text = found.text
        newline = "\r\n" if "\r\n" in text else "\n"
        if found.members:
            lead = text[found.opens + 1 : found.members[0].at]
            if "\n" not in lead:
                return cls(" ", "", None)
            inner = lead.rpartition("\n")[2]
            closing = text[found.members[-1].end : found.closes]
            outer = closing.rpartition("\n")[2] if "\n" in closing else ""
            step = inner.removeprefix(outer) if inner.startswith(outer) and inner != outer else "  "
            return cls(newline + inner, newline + outer, step)
        line = text[: found.opens].rpartition("\n")[2]
        outer = line[: len(line) - len(line.lstrip())]
        step = "\t" if outer.startswith("\t") else "  "
        return cls(newline + outer + step, newline + outer, step)

    def value(self, value: Mapping[str, Any]) -> str:
        told = json.dumps(value, ensure_ascii=False, indent=self.step)
        return told if self.step is None else told.replace("\n", self.before)


def read_object(text: str, at: int = 0, *, alone: bool = True) -> JsonObject:
    """The object that begins at this offset, behind blanks. Raises NotJson.

    `alone`: nothing may follow it. A key that comes twice is refused: one of the two would be lost.
    """
    opens = _skip(text, at)
    if text[opens : opens + 1] != "{":
        raise NotJson("a JSON object is expected", opens)
    members: dict[str, Member] = {}
    here = _skip(text, opens + 1)
    while text[here : here + 1] != "}":
        if members:
            if text[here : here + 1] != ",":
                raise NotJson("a comma or a closing brace is expected", here)
            here = _skip(text, here + 1)
        if text[here : here + 1] != '"':
            raise NotJson("a name in double quotes is expected", here)
        key, after = _value(text, here)
        colon = _skip(text, after)
        if text[colon : colon + 1] != ":":
            raise NotJson("a colon is expected", colon)
        value_at = _skip(text, colon + 1)
        value, end = _value(text, value_at)
        if key in members:
            raise NotJson(f"the name {key!r} comes twice", here)
        members[key] = Member(key, value, here, value_at, end)
        here = _skip(text, end)
    behind = _skip(text, here + 1)
    if alone and behind != len(text):
        raise NotJson("nothing is expected behind the object", behind)
    return JsonObject(text, opens, here, tuple(members.values()))


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
        _bounded(value, at)
    except json.JSONDecodeError as error:
        raise NotJson(error.msg.lower(), error.pos) from None
    except RecursionError:
        raise NotJson("it is nested too deeply", at) from None
    except ValueError as error:
        raise NotJson(str(error), at) from None
    return value, end


def _bounded(value: Any, at: int, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise NotJson("it is nested too deeply", at)
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in below:
        _bounded(each, at, depth + 1)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)
