"""Takes the engine's attach stream apart: standard output and standard error, byte for byte.

The engine sends frames: a byte for the stream, three zeros, a length (big-endian, 4 bytes), the
payload. A frame may span reads and a read may hold many. Nothing is collected until a frame is
whole, so memory does not depend on what lengths are claimed.
"""

from dataclasses import dataclass
from typing import Final

HEADER: Final = 8
MAX_FRAME: Final = 1 << 24
"""Engines send 32 KiB; a claim of more than this is no stream of ours."""

_STDOUT: Final = 1
_STREAMS: Final = frozenset({1, 2, 3})  # 3: the engine's own complaints


class BadFrame(ValueError):
    """The stream is not of the engine's form: it can't be followed any further."""


@dataclass(frozen=True, slots=True)
class Output:
    """What one read held of each stream."""

    stdout: bytes
    stderr: bytes


class Demultiplexer:
    """Follows one attach stream from its first byte."""

    __slots__ = ("_header", "_is_stdout", "_left")

    def __init__(self) -> None:
        self._header = b""
        self._left = 0
        self._is_stdout = True

    def feed(self, data: bytes) -> Output:
        """What the next piece of the stream holds. Raises BadFrame; after that, feed no more."""
        stdout: list[memoryview] = []
        stderr: list[memoryview] = []
        view = memoryview(data)
        at, end = 0, len(data)
        while at < end:
            if self._left == 0:
                at = self._take_header(data, at)
                continue
            stop = min(at + self._left, end)
            (stdout if self._is_stdout else stderr).append(view[at:stop])
            self._left -= stop - at
            at = stop
        return Output(b"".join(stdout), b"".join(stderr))

    def _take_header(self, data: bytes, at: int) -> int:
        stop = at + HEADER - len(self._header)
        header = self._header + data[at:stop]
        if len(header) < HEADER:
            self._header = header
            return len(data)
        self._header = b""
        if header[0] not in _STREAMS or header[1:4] != b"\0\0\0":
            raise BadFrame(f"no frame begins with {header[:4].hex()}")
        length = int.from_bytes(header[4:], "big")
        if length > MAX_FRAME:
            raise BadFrame(f"a frame of {length} bytes is more than {MAX_FRAME}")
        self._is_stdout = header[0] == _STDOUT
        self._left = length
        return stop
