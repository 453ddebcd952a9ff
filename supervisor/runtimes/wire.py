"""The filter between a CLI process and the SDK: a hostile line in, an admitted frame out.

Above: `transport.py`, which hands admitted control frames to the SDK and the rest to
`translate.py`. Below: any cage's channel. Everything read here is untrusted (invariant 7): lines
are bounded, JSON is bounded in depth, frame types are a closed set, the session is pinned, and a
control frame counts only in the direction and for the request it belongs to.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from supervisor.ids import SessionId
from supervisor.runtimes.admitted import (
    Admitted,
    Astray,
    Content,
    Control,
    FarCancelled,
    FarMessage,
    Mirror,
)
from supervisor.runtimes.frame_shapes import FAR, MAX_DEPTH, has_shape, is_name, is_too_deep, parse
from supervisor.runtimes.mirrored import Mirrored
from supervisor.runtimes.objections import Objections

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
MAX_OPEN_REQUESTS: Final = 256
MAX_MIRROR_BYTES: Final = 128 * 1024 * 1024
"""Of all transcript frames of a turn together."""
MAX_CONTROL_BYTES: Final = 128 * 1024 * 1024
"""Of all control requests of a turn together: each may be kept, shown and stored."""
MAX_OPEN_BYTES: Final = 32 * 1024 * 1024
"""Of the control requests that are open at once."""
MAX_CONTENT_BYTES: Final = 256 * 1024 * 1024
MAX_VALUES: Final = 512 * 1024
"""Of one line, by its brackets and commas: two bytes of JSON can become eighty of memory."""

_CONTENT_TYPES = frozenset({"system", "assistant", "user", "stream_event", "result"})
_IGNORED_TYPES = frozenset({"keep_alive", "rate_limit_event", "tool_progress", "auth_status"})
_REQUEST_SUBTYPES = frozenset({"hook_callback", "can_use_tool"})
_BEGINS = ("system", "init")
_NO_OBJECT = "a line that is no JSON object"
_FRAMES = re.compile(rb"^[ \t\r\v\f]*\{[^\n]*", re.MULTILINE)
"""Lines that may be JSON objects: what else comes by the million is left out unread."""


class Wire:
    """Frames one process's output. Sans I/O: feed it bytes, take what was admitted.

    `projects` is the folder, as the process sees it, under which its transcripts must lie, `far`
    are the servers that it may send messages to. `resumes` says that it was given an earlier
    conversation.
    """

    def __init__(
        self,
        session_id: SessionId,
        projects: str,
        far: frozenset[str] = frozenset(),
        *,
        resumes: bool = False,
    ) -> None:
        self._session_id = session_id
        self._resumes = resumes
        self._has_begun = False
        self._far = far
        self._to_far: set[str] = set()
        self._pending = bytearray()
        self._skipping = False
        self._ours: set[str] = set()
        self._theirs: dict[str, int] = {}
        self._control_bytes = 0
        self._mirrored_bytes = 0
        self._content_bytes = 0
        self._entries = Mirrored(session_id, projects)
        self._objections = Objections()
        self._object = self._objections.to

    @property
    def is_owed_an_answer(self) -> bool:
        """Whether the process has not answered something that we asked it."""
        return bool(self._ours)

    @property
    def is_amid_a_line(self) -> bool:
        """Whether a line was begun that has no end yet."""
        return bool(self._pending) or self._skipping

    def sent(self, line: str) -> None:
        """Note a line that goes to the process, so that only answers to it are admitted."""
        try:
            frame = orjson.loads(line)
        except orjson.JSONDecodeError:
            return
        kind = frame.get("type")
        if kind == "control_request":
            self._ours.add(str(frame.get("request_id")))
        elif kind == "control_response":
            request_id = str(frame.get("response", {}).get("request_id"))
            self._theirs.pop(request_id, None)
            self._to_far.discard(request_id)

    def feed(self, chunk: bytes) -> Iterator[Admitted]:
        """Take in a piece of output; give what it completed. Raises Flooded."""
        first = chunk.find(b"\n")
        if first >= 0 and (self._pending or self._skipping):
            yield from self._ended(chunk[:first])
            chunk = chunk[first + 1 :]
        last = chunk.rfind(b"\n")
        if last >= 0:
            yield from self._lines(chunk[:last])
        rest = chunk[last + 1 :]
        if rest and not self._skipping:
            self._pending += rest
            if len(self._pending) > MAX_LINE_BYTES:
                self._pending.clear()
                self._skipping = True
                yield from self._object("line_too_long", f"a line above {MAX_LINE_BYTES} bytes")

    def finish(self) -> Iterator[Admitted]:
        """After the output closed: the line without an end, and a count of what was left out."""
        if self._pending:
            yield from self._ended(b"")
        yield from self._objections.summary()

    def _ended(self, rest: bytes) -> Iterator[Admitted]:
        """The line that was begun in an earlier piece."""
        if self._skipping:
            self._skipping = False
            return
        self._pending += rest
        piece = bytes(self._pending)
        self._pending.clear()
        yield from self._line(piece)

    def _lines(self, lines: bytes) -> Iterator[Admitted]:
        """Whole lines. What can't be a frame is counted for all of them together."""
        if len(lines) > MAX_LINE_BYTES:
            for line in lines.split(b"\n"):
                yield from self._line(line)
            return
        frames = _FRAMES.findall(lines)
        if len(frames) <= lines.count(b"\n"):
            pieces = lines.split(b"\n")
            said = sum(map(bool, map(bytes.strip, pieces)))
            yield from self._objections.blank(len(pieces) - said)
            yield from self._objections.unread("not_json", _NO_OBJECT, said - len(frames))
        for line in frames:
            yield from self._line(line)

    def _line(self, line: bytes) -> Iterator[Admitted]:
        line = line.strip()
        if not line:
            return
        if len(line) > MAX_LINE_BYTES:
            yield from self._object("line_too_long", f"a line above {MAX_LINE_BYTES} bytes")
            return
        if sum(map(line.count, (b",", b"[", b"{"))) > MAX_VALUES:
            yield from self._object("too_many_values", f"JSON of more than {MAX_VALUES} values")
            return
        frame = parse(line)
        if frame is None:
            yield from self._object("not_json", _NO_OBJECT)
        elif is_too_deep(frame):
            yield from self._object("too_deep", f"JSON nested deeper than {MAX_DEPTH}")
        else:
            yield from self._frame(frame, len(line))

    def _frame(self, frame: dict[str, Any], size: int) -> Iterator[Admitted]:
        kind = str(frame.get("type"))
        if kind in _CONTENT_TYPES:
            yield from self._content(frame, size)
        elif kind == "control_request":
            yield from self._request(frame, size)
        elif kind == "control_response":
            yield from self._answer(frame)
        elif kind == "control_cancel_request":
            yield from self._cancellation(frame)
        elif kind == "transcript_mirror":
            yield from self._mirror(frame, size)
        elif kind not in _IGNORED_TYPES:
            yield from self._object("unknown_frame", "a frame of an unknown type")

    def _content(self, frame: dict[str, Any], size: int) -> Iterator[Admitted]:
        if frame.get("session_id") not in (self._session_id, None):
            if self._resumes and not self._has_begun and _begins(frame):
                # What it says from now on is all in another's name, its result as well.
                yield Astray()
            yield from self._object("foreign_session", "a frame that names another session")
            return
        # Once it goes on from ours, it isn't the program itself that says otherwise.
        self._has_begun = self._has_begun or _begins(frame)
        self._content_bytes += size
        if self._content_bytes > MAX_CONTENT_BYTES and frame.get("type") != "result":
            yield from self._object("output_too_long", "output beyond the turn's limit")
            return
        yield Content(frame, size)

    def _answer(self, frame: dict[str, Any]) -> Iterator[Admitted]:
        response = frame.get("response")
        request_id = response.get("request_id") if isinstance(response, dict) else None
        if isinstance(request_id, str) and request_id in self._ours:
            self._ours.discard(request_id)
            yield Control(frame)
        else:
            yield from self._object("unasked_answer", "an answer to nothing we asked")

    def _cancellation(self, frame: dict[str, Any]) -> Iterator[Admitted]:
        request_id = frame.get("request_id")
        if isinstance(request_id, str) and request_id in self._theirs:
            del self._theirs[request_id]
            if request_id in self._to_far:
                self._to_far.discard(request_id)
                yield FarCancelled(request_id)
            else:
                yield Control(frame)

    def _request(self, frame: dict[str, Any], size: int) -> Iterator[Admitted]:
        request, request_id = frame.get("request"), frame.get("request_id")
        if not isinstance(request, dict) or not is_name(request_id):
            yield from self._object("bad_request", "a control request without its parts")
        elif not self._is_taken(request):
            yield from self._object("request_not_allowed", "a control request of another kind")
        elif request_id in self._theirs or not self._has_room(size):
            yield from self._object("too_many_requests", "a control request beyond the limit")
        elif not has_shape(request):
            yield from self._object("bad_request", "a control request without its parts")
        else:
            self._theirs[request_id] = size
            self._control_bytes += size
            if request["subtype"] == FAR:
                self._to_far.add(request_id)
                yield FarMessage(request_id, request["server_name"], request["message"])
            else:
                yield Control(frame)

    def _is_taken(self, request: Mapping[str, Any]) -> bool:
        """Whether requests of this kind are admitted at all."""
        subtype = str(request.get("subtype"))
        if subtype == FAR:
            server = request.get("server_name")
            return isinstance(server, str) and server in self._far
        return subtype in _REQUEST_SUBTYPES

    def _has_room(self, size: int) -> bool:
        return (
            len(self._theirs) < MAX_OPEN_REQUESTS
            and sum(self._theirs.values()) + size <= MAX_OPEN_BYTES
            and self._control_bytes + size <= MAX_CONTROL_BYTES
        )

    def _mirror(self, frame: dict[str, Any], size: int) -> Iterator[Admitted]:
        entries, path = frame.get("entries"), frame.get("filePath")
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            yield from self._object("bad_transcript", "a transcript frame without entries")
            return
        named, subagent = self._entries.whose(path)
        if not named or any(
            entry.get("sessionId") not in (self._session_id, None) for entry in entries
        ):
            yield from self._object("foreign_transcript", "a transcript of another session")
            return
        self._mirrored_bytes += size
        if self._mirrored_bytes > MAX_MIRROR_BYTES or self._entries.is_full:
            yield from self._object("transcript_too_long", "transcript beyond the turn's limit")
            return
        if not self._entries.has_room_for(subagent):
            yield from self._object("too_many_subagents", "a transcript beyond the limit")
            return
        kept = tuple(entry for entry in entries if self._entries.takes(entry, subagent))
        if len(kept) < len(entries):
            yield from self._object("bad_entry", "a transcript entry in a form of its own")
        if kept:
            yield Mirror(kept, subagent)


def _begins(frame: Mapping[str, Any]) -> bool:
    return (frame.get("type"), frame.get("subtype")) == _BEGINS
