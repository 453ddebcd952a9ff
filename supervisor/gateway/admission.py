"""Which requests pass to the model's API, and which of their headers: pure, and closed by default.

Everything that isn't known to be harmless is left out. A sandbox has no network, so nothing in a
request may make the API itself fetch, run or remember something on its behalf: unknown fields and
unknown kinds of content are refused, not passed on (checked against what CLI 2.1.332 sends).
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NoReturn

from supervisor.gateway.access import ModelAccess

MAX_BODY = 32 * 1024 * 1024  # the API's own limit
MAX_DEPTH = 64
MAX_VALUES = 200_000  # a body of 32 MiB could otherwise become a gigabyte of empty lists
MAX_HEADER = 8 * 1024

MESSAGES = "/v1/messages"
COUNT_TOKENS = "/v1/messages/count_tokens"

HEADERS = frozenset(
    {
        "accept",
        "anthropic-version",
        "anthropic-beta",
        "user-agent",
        "x-app",
        "x-claude-code-session-id",
    }
)
HEADER_PREFIXES = ("x-stainless-",)

FIELDS = frozenset(
    {
        "model", "messages", "system", "tools", "tool_choice", "metadata", "max_tokens", "stream",
        "thinking", "temperature", "top_p", "top_k", "stop_sequences", "service_tier", "speed",
        "inference_geo", "context_management", "output_config", "output_format", "diagnostics",
        "cache_control", "fallbacks",
    }
)  # fmt: skip
"""What a body may hold without server tools: none of these reaches beyond the model itself."""

BLOCKS = frozenset(
    {
        "image", "document", "tool_result", "search_result",
        "text", "thinking", "redacted_thinking", "tool_use", "tool_reference", "compaction",
        "fallback", "mid_conv_system",
    }
)  # fmt: skip
"""Content that is only read by the model, once all it holds comes from the request itself."""

SOURCES = frozenset({"base64", "text", "content"})
"""Where an image or document may come from: the request itself."""

_ELSEWHERE = frozenset({"url", "file"})
_FREE = frozenset({"input"})
"""Fields of a `tool_use` that are data whatever they look like."""
_JSON = "application/json"
_MEDIA_TYPE = re.compile(r"application/json(\s*;\s*charset=\"?utf-8\"?)?\s*\Z", re.IGNORECASE)

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came over a door; `path` is without its query and not decoded."""

    method: str
    path: str
    query: Sequence[tuple[str, str]]
    headers: Iterable[tuple[str, str]]
    body: bytes


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that may pass: what to send on, to which path, with these headers and no others."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    model: str
    stream: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that may not pass, as the API would say it; the message holds nothing secret."""

    status: int
    error_type: str
    message: str


class _Refusal(Exception):
    def __init__(self, status: int, error_type: str, message: str) -> None:
        super().__init__(message)
        self.verdict = Refused(status, error_type, message)


def admit(asked: Asked, access: ModelAccess) -> Admitted | Refused:
    """Judge one request of a turn that has this access."""
    headers = list(asked.headers)
    try:
        _check_route(asked.method, asked.path, asked.query)
        _check_media_type(headers)
        parsed = _parse(asked.body)
        model = _check_models(parsed, access.models)
        if not access.server_tools:
            _check_reach(parsed)
    except _Refusal as refusal:
        return refusal.verdict
    return Admitted(
        path=asked.path + ("?beta=true" if asked.query else ""),
        # What was judged as JSON is read as JSON: no other reading is left to the API.
        headers={**passing_headers(headers), "content-type": _JSON},
        body=asked.body,
        model=model,
        stream=parsed.get("stream") is True,
    )


def passing_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers that are sent on, in lower case; credentials are never among them."""
    return {
        name.lower(): value
        for name, value in headers
        if (name.lower() in HEADERS or name.lower().startswith(HEADER_PREFIXES))
        and len(value) <= MAX_HEADER
    }


def _malformed(message: str) -> NoReturn:
    raise _Refusal(400, "invalid_request_error", message)


def _forbidden(message: str) -> NoReturn:
    # 403: the CLI gives up at once, where a 400 makes it try five times with fewer features
    raise _Refusal(403, "permission_error", message)


def _check_route(method: str, path: str, query: Sequence[tuple[str, str]]) -> None:
    if path not in (MESSAGES, COUNT_TOKENS):
        raise _Refusal(404, "not_found_error", "the gateway serves only the Messages API")
    if method != "POST":
        raise _Refusal(405, "invalid_request_error", "the Messages API takes only POST")
    if list(query) not in ([], [("beta", "true")]):
        _malformed("the gateway knows no query but beta=true")


def _check_media_type(headers: Iterable[tuple[str, str]]) -> None:
    for name, value in headers:
        if name.lower() == "content-type" and _MEDIA_TYPE.match(value.strip()) is None:
            raise _Refusal(415, "invalid_request_error", f"the gateway takes only {_JSON}")


def _parse(body: bytes) -> Mapping[str, Any]:
    if len(body) > MAX_BODY:
        raise _Refusal(413, "request_too_large", "the body is larger than 32 MiB")
    _check_size(body)
    try:
        parsed = json.loads(body.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):  # ValueError: also what isn't UTF-8
        _malformed("the body is not JSON")
    if not isinstance(parsed, dict):
        _malformed("the body is not a JSON object")
    _check_depth(parsed)
    return parsed


def _check_size(body: bytes) -> None:
    """Bound the number of values before they are made; stops as soon as it is known."""
    if _signs(body, 0, len(body)) <= MAX_VALUES:
        return
    count = end = 0
    for text in _STRING.finditer(body):  # what looks like structure inside of text is none
        count += 1 + _signs(body, end, text.start())
        if count > 2 * MAX_VALUES:  # a value may come with a key, so with two texts
            break
        end = text.end()
    if count + _signs(body, end, len(body)) > 2 * MAX_VALUES:
        _malformed(f"the body has more than {MAX_VALUES} values")


def _signs(body: bytes, start: int, end: int) -> int:
    return sum(body.count(sign, start, end) for sign in (b",", b"[", b"{"))


def _check_depth(parsed: Mapping[str, Any]) -> None:
    level: list[Any] = [parsed]
    for _ in range(MAX_DEPTH):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
    if level:
        _malformed(f"the body is nested deeper than {MAX_DEPTH} levels")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; refused with a key twice, as the API might then read another value than we did."""
    found = dict(pairs)
    if len(found) != len(pairs):
        _malformed("the body has an object with the same key twice")
    return found


def _no_constant(_name: str) -> NoReturn:
    raise ValueError


def _check_models(body: Mapping[str, Any], globs: Sequence[str]) -> str:
    model = body.get("model")
    if not isinstance(model, str) or not model:
        _malformed("model: a string is required")
    wanted: list[Any] = [model]
    if "fallbacks" in body:  # the API would go on with one of these by itself
        fallbacks = body["fallbacks"]
        if not isinstance(fallbacks, list):
            _forbidden("fallbacks: only a list of allowed models can pass")
        for fallback in fallbacks:
            if isinstance(fallback, dict) and fallback.keys() - {"model", "max_tokens"}:
                _forbidden("fallbacks: only a list of allowed models can pass")
            wanted.append(fallback.get("model") if isinstance(fallback, dict) else fallback)
    for name in wanted:
        if not isinstance(name, str) or not any(fnmatchcase(name, glob) for glob in globs):
            raise _Refusal(404, "not_found_error", f"the model {_shown(name)} is not allowed here")
    return model


def _check_reach(body: Mapping[str, Any]) -> None:
    """Refuse whatever the API itself would run, fetch or look up."""
    for name in body.keys() - FIELDS:
        _forbidden(f"the field {_shown(name)} can't pass without server tools")
    for tool in _items(body.get("tools")):
        _check_tool(tool)
    _check_content(body.get("system"))
    for message in _items(body.get("messages")):
        if not isinstance(message, dict):
            _malformed("messages: each must be an object")
        _check_fields(message)


def _check_tool(tool: Any) -> None:
    if not isinstance(tool, dict):
        _malformed("tools: each must be an object")
    if tool.get("type", "custom") not in ("custom", None):
        _forbidden(f"the tool type {_shown(tool['type'])} is run by the API: no server tools here")


def _check_content(content: Any) -> None:
    if content is None or isinstance(content, str):
        return
    for block in _items(content):
        if isinstance(block, str):
            continue
        if not isinstance(block, dict):
            _malformed("content: each block must be an object")
        _check_block(block)


def _check_block(block: Mapping[str, Any]) -> None:
    if "file_id" in block:
        _forbidden("content by file_id can't pass without server tools")
    kind = block.get("type")
    if kind in ("image", "document") or ("source" in block and kind != "search_result"):
        _check_source(block.get("source"))
    if kind in ("tool_addition", "tool_removal"):
        _check_tool_change(block.get("tool"))
        block = {name: value for name, value in block.items() if name != "tool"}
    elif not _is_one_of(kind, BLOCKS):
        _forbidden(f"content of type {_shown(kind)} can't pass without server tools")
    free = _FREE if kind == "tool_use" else frozenset[str]()
    _check_fields({name: value for name, value in block.items() if name not in free})


def _check_fields(fields: Mapping[str, Any]) -> None:
    """Whatever a thing is called, what it holds comes from the request itself, at any depth."""
    for name, value in fields.items():
        if name == "content":
            _check_content(value)
        elif name == "source" and not isinstance(value, str):  # a search result's is its name
            _check_source(value)
        elif name == "file_id" and value is not None:
            _forbidden("content by file_id can't pass without server tools")
        else:
            _check_other(value)


def _check_other(value: Any) -> None:
    if isinstance(value, dict):
        if _is_one_of(value.get("type"), _ELSEWHERE):
            _forbidden("content from elsewhere (a URL, a file id) can't pass without server tools")
        _check_fields(value)
    elif isinstance(value, list):
        for each in value:
            _check_other(each)


def _is_one_of(kind: Any, kinds: frozenset[str]) -> bool:
    return isinstance(kind, str) and kind in kinds


def _check_source(source: Any) -> None:
    if not isinstance(source, dict) or not _is_one_of(source.get("type"), SOURCES):
        _forbidden("content from elsewhere (a URL, a file id) can't pass without server tools")
    _check_fields(source)


def _check_tool_change(tool: Any) -> None:
    """Tools that are added in the middle of a conversation obey the rule of those at its start."""
    match tool:
        case {"type": "tool_reference"}:
            return
        case {"type": "tool_definition", "definition": definition}:
            _check_tool(definition)
        case _:
            _forbidden("this change of tools can't pass without server tools")


def _items(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list):
        _malformed("a list was expected")
    return value


def _shown(value: Any) -> str:
    """A hostile value, short and in printable ASCII."""
    return ascii(value if isinstance(value, str) else type(value).__name__)[:80]
