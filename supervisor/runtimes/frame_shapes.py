"""A line of a CLI process as a frame: JSON, bounded in depth, its requests of the right form."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

import orjson

MAX_DEPTH: Final = 100
MAX_NAME_CHARS: Final = 256
"""Of a tool's name, and of every id."""
FAR: Final = "mcp_message"
_LONE_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def parse(line: bytes) -> dict[str, Any] | None:
    """The JSON object that a line is, with half characters replaced; None: it is none."""
    try:
        frame = orjson.loads(line)
    except orjson.JSONDecodeError:
        # JavaScript escapes half of a character where a string was cut; orjson won't have it.
        if b"\\u" not in line:
            return None
        try:
            replaced = _escape_lone_surrogates(json.loads(line, parse_constant=_refuse))
            frame = orjson.loads(replaced)
        except (ValueError, RecursionError):
            return None
    return frame if isinstance(frame, dict) else None


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


def _escape_lone_surrogates(value: object) -> str:
    return _LONE_SURROGATES.sub("\N{REPLACEMENT CHARACTER}", json.dumps(value, ensure_ascii=False))


def is_too_deep(frame: object) -> bool:
    """Whether it is nested deeper than `MAX_DEPTH`."""
    level: list[object] = [frame]
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for each in level:
            if isinstance(each, dict):
                below.extend(v for v in each.values() if isinstance(v, dict | list))
            elif isinstance(each, list):
                below.extend(v for v in each if isinstance(v, dict | list))
        if not below:
            return False
        level = below
    return True


def has_shape(request: Mapping[str, Any]) -> bool:
    """Whether a control request has what its kind takes, of the right types and lengths."""
    if request.get("subtype") == FAR:
        return isinstance(request.get("message"), dict)
    if request.get("subtype") == "can_use_tool":
        return (
            is_name(request.get("tool_name"))
            and isinstance(request.get("input"), dict)
            and _is_name_or_none(request.get("tool_use_id"))
        )
    hook_input = request.get("input")
    return (
        is_name(request.get("callback_id"))
        and isinstance(hook_input, dict)
        and is_name(hook_input.get("tool_name"))
        and isinstance(hook_input.get("tool_input"), dict)
        and _is_name_or_none(hook_input.get("agent_id"))
        and _is_name_or_none(hook_input.get("agent_type"))
        and _is_name_or_none(request.get("tool_use_id"))
    )


def is_name(value: object) -> TypeGuard[str]:
    """Whether it is a text that is short enough for a name or an id."""
    return isinstance(value, str) and len(value) <= MAX_NAME_CHARS


def _is_name_or_none(value: object) -> bool:
    return value is None or is_name(value)
