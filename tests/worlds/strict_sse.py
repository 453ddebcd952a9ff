"""A parser of server-sent events by the letter of the HTML standard, fed any pieces of bytes.

Written for the tests, apart from what our client uses, so that one doesn't excuse the other.
"""

import codecs
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
        for character in self._decode(piece):
            if character == "\n" and self._after_cr:
                self._after_cr = False
                continue
            self._after_cr = character == "\r"
            if character in "\r\n":
                line, self._line = self._line, ""
                self._take(line, messages)
            else:
                self._line += character
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
