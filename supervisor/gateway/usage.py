"""Reads what a request used out of its answer as it passes by, without holding back a byte.

The answer comes from the model's API, yet what is cut short by the client never gets to its final
count. So that leaving early is no way around a budget, such a request is charged what was seen of
it, estimated on the high side.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from supervisor.gateway.budget import Usage

BYTES_PER_TOKEN = 3  # fewer than English prose has, so an estimate errs upwards
MAX_LINE = 4 * 1024 * 1024
MAX_BODY = 64 * 1024 * 1024

_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}


class StreamMeter:
    """Meters a server-sent event stream: `message_start` and the cumulative `message_delta`."""

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False
        self._usage: Usage | None = None
        self._final = False
        self._seen = 0

    def feed(self, chunk: bytes) -> None:
        """Look at the next bytes of the stream."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if self._skipping:
                self._skipping = False
                continue
            self._line(line)
        if len(self._rest) > MAX_LINE:
            self._seen += len(self._rest)
            self._rest, self._skipping = b"", True

    def result(self, prompt_bytes: int) -> Usage:
        """The API's own counts; what is missing of them is estimated from the bytes seen."""
        usage = self._usage or Usage(input_tokens=_tokens(prompt_bytes))
        if self._final:
            return usage
        return replace(usage, output_tokens=max(usage.output_tokens, _tokens(self._seen)))

    def _line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return
        event = _parse(line[5:])
        match event.get("type"):
            case "message_start":
                self._usage = _merge(self._usage or Usage(), _mapping(event, "message"))
            case "message_delta":
                self._usage = _merge(self._usage or Usage(), event)
                self._final = self._final or "output_tokens" in _mapping(event, "usage")
            case "content_block_delta":
                delta = _mapping(event, "delta")
                self._seen += sum(len(v) for v in delta.values() if isinstance(v, str))


class BodyMeter:
    """Meters an answer that is one JSON object."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Keep the next bytes of the body, up to a limit."""
        self._size += len(chunk)
        if self._size <= MAX_BODY:
            self._chunks.append(chunk)

    def result(self, prompt_bytes: int) -> Usage:
        """The API's own counts, or an estimate if the body never became whole."""
        answer = _parse(b"".join(self._chunks))
        if "usage" in answer:
            return _merge(Usage(), answer)
        return Usage(input_tokens=_tokens(prompt_bytes), output_tokens=_tokens(self._size))


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)


def _parse(data: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _mapping(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _count(parent: Mapping[str, Any], key: str) -> int | None:
    value = parent.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _merge(known: Usage, message: Mapping[str, Any]) -> Usage:
    """The counts of a message laid over those known; they are cumulative, so the newest stands."""
    said = _mapping(message, "usage")
    new: dict[str, Any] = {}
    for theirs, ours in _COUNTS.items():
        if (count := _count(said, theirs)) is not None:
            new[ours] = count
    an_hour = _count(_mapping(said, "cache_creation"), "ephemeral_1h_input_tokens")
    if an_hour is not None:
        new["cache_write_1h_tokens"] = an_hour
    searches = _count(_mapping(said, "server_tool_use"), "web_search_requests")
    if searches is not None:
        new["web_searches"] = searches
    if "speed" in said:
        new["fast"] = said["speed"] == "fast"
    if "inference_geo" in said:
        new["us_only"] = said["inference_geo"] == "us"
    return replace(known, **new)
