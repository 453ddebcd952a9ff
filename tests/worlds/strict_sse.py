"""A parser of server-sent events by the letter of the HTML standard, fed any pieces of bytes.

Written for the tests, apart from what our client uses, so that one doesn't excuse the other.
"""

import codecs
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Message:
    """One dispatched event."""

    id: str
    event: str
    data: str


class StrictParser:
    """Lines end with CR LF, LF or CR and nothing else; an event without data isn't dispatched."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("strict").decode
        self._line = ""
        self._after_cr = False
        self._data: list[str] = []
        self._event = ""
        self._id = ""
        self.comments = 0

    def feed(self, piece: bytes) -> list[Message]:
        messages: list[Message] = []
        text = self._decode(piece)
        if not text:
            return messages
        if self._after_cr:
            text = text.removeprefix("\n")
        self._after_cr = text.endswith("\r") if text else False
        *lines, self._line = re.split("\r\n|\r|\n", self._line + text)
        for line in lines:
            self._take(line, messages)
        return messages

    def _take(self, line: str, messages: list[Message]) -> None:
        if not line:
            if self._data:
                messages.append(Message(self._id, self._event or "message", "\n".join(self._data)))
            self._data, self._event = [], ""
            return
        if line.startswith(":"):
            self.comments += 1
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
            case "event":
                self._event = value
            case "id":
                self._id = value
            case "retry":
                assert value.isdecimal()
            case _:
                raise AssertionError(f"unknown field {name!r}")
