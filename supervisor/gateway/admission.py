"""Which requests pass to the model's API, and which of their headers: pure, and closed by default.

Everything that isn't known to be harmless is left out. What a request would have the API itself
do is judged in `reach.py`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NoReturn

from supervisor.gateway.access import ModelAccess
from supervisor.gateway.reach import check_reach
from supervisor.gateway.refusal import Refusal, Refused, forbidden, malformed, shown

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

_JSON = "application/json"
_MEDIA_TYPE = re.compile(r"application/json(\s*;\s*charset=\"?utf-8\"?)?\s*\Z", re.IGNORECASE)

_TEXT = re.compile(rb'"[^"]*"?')
"""A text of JSON without its escapes; one that isn't closed goes to the end."""


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


def admit(asked: Asked, access: ModelAccess) -> Admitted | Refused:
    """Judge one request of a turn that has this access."""
    headers = list(asked.headers)
    try:
        _check_route(asked.method, asked.path, asked.query)
        _check_media_type(headers)
        parsed = _parse(asked.body)
        model = _check_models(parsed, access.models)
        if not access.server_tools:
            check_reach(parsed)
    except Refusal as refusal:
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


def _check_route(method: str, path: str, query: Sequence[tuple[str, str]]) -> None:
    if path not in (MESSAGES, COUNT_TOKENS):
        raise Refusal(404, "not_found_error", "the gateway serves only the Messages API")
    if method != "POST":
        raise Refusal(405, "invalid_request_error", "the Messages API takes only POST")
    if list(query) not in ([], [("beta", "true")]):
        malformed("the gateway knows no query but beta=true")


def _check_media_type(headers: Iterable[tuple[str, str]]) -> None:
    for name, value in headers:
        if name.lower() == "content-type" and _MEDIA_TYPE.match(value.strip()) is None:
            raise Refusal(415, "invalid_request_error", f"the gateway takes only {_JSON}")


def _parse(body: bytes) -> Mapping[str, Any]:
    if len(body) > MAX_BODY:
        raise Refusal(413, "request_too_large", "the body is larger than 32 MiB")
    _check_size(body)
    try:
        parsed = json.loads(body.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):  # ValueError: also what isn't UTF-8
        malformed("the body is not JSON")
    if not isinstance(parsed, dict):
        malformed("the body is not a JSON object")
    _check_depth(parsed)
    return parsed


def _check_size(body: bytes) -> None:
    """Bound the number of values before they are made; stops as soon as it is known."""
    if _signs(body, 0, len(body)) <= MAX_VALUES:
        return
    body = body.replace(rb"\\", b"").replace(rb"\"", b"")  # now every quote begins or ends a text
    count = end = 0
    for text in _TEXT.finditer(body):  # what looks like structure inside of text is none
        count += 1 + _signs(body, end, text.start())
        if count > 2 * MAX_VALUES:  # a value may come with a key, so with two texts
            break
        end = text.end()
    if count + _signs(body, end, len(body)) > 2 * MAX_VALUES:
        malformed(f"the body has more than {MAX_VALUES} values")


def _signs(body: bytes, start: int, end: int) -> int:
    return sum(body.count(sign, start, end) for sign in (b",", b"[", b"{"))


def _check_depth(parsed: Mapping[str, Any]) -> None:
    level: list[Any] = [parsed]
    for _ in range(MAX_DEPTH):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
    if level:
        malformed(f"the body is nested deeper than {MAX_DEPTH} levels")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; refused with a key twice, as the API might then read another value than we did."""
    found = dict(pairs)
    if len(found) != len(pairs):
        malformed("the body has an object with the same key twice")
    return found


def _no_constant(_name: str) -> NoReturn:
    raise ValueError


def _check_models(body: Mapping[str, Any], globs: Sequence[str]) -> str:
    model = body.get("model")
    if not isinstance(model, str) or not model:
        malformed("model: a string is required")
    wanted: list[Any] = [model]
    if "fallbacks" in body:  # the API would go on with one of these by itself
        fallbacks = body["fallbacks"]
        if not isinstance(fallbacks, list):
            forbidden("fallbacks: only a list of allowed models can pass")
        for fallback in fallbacks:
            if isinstance(fallback, dict) and fallback.keys() - {"model", "max_tokens"}:
                forbidden("fallbacks: only a list of allowed models can pass")
            wanted.append(fallback.get("model") if isinstance(fallback, dict) else fallback)
    for name in wanted:
        if not isinstance(name, str) or not any(fnmatchcase(name, glob) for glob in globs):
            raise Refusal(404, "not_found_error", f"the model {shown(name)} is not allowed here")
    return model
