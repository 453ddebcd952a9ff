"""What of a request the API itself would run, fetch or look up: refused without server tools.

A sandbox has no network, so nothing may make the API reach out on its behalf. Closed by default:
unknown fields and unknown kinds of content are refused, not passed on (checked against what CLI
2.1.332 sends).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from supervisor.gateway.refusal import forbidden, malformed, shown

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


def check_reach(body: Mapping[str, Any]) -> None:
    """Refuse whatever the API itself would run, fetch or look up."""
    for name in body.keys() - FIELDS:
        forbidden(f"the field {shown(name)} can't pass without server tools")
    for tool in _items(body.get("tools")):
        _check_tool(tool)
    _check_content(body.get("system"))
    for message in _items(body.get("messages")):
        if not isinstance(message, dict):
            malformed("messages: each must be an object")
        _check_fields(message)


def _check_tool(tool: Any) -> None:
    if not isinstance(tool, dict):
        malformed("tools: each must be an object")
    if tool.get("type", "custom") not in ("custom", None):
        forbidden(f"the tool type {shown(tool['type'])} is run by the API: no server tools here")


def _check_content(content: Any) -> None:
    if content is None or isinstance(content, str):
        return
    for block in _items(content):
        if isinstance(block, str):
            continue
        if not isinstance(block, dict):
            malformed("content: each block must be an object")
        _check_block(block)


def _check_block(block: Mapping[str, Any]) -> None:
    if "file_id" in block:
        forbidden("content by file_id can't pass without server tools")
    kind = block.get("type")
    if kind in ("image", "document") or ("source" in block and kind != "search_result"):
        _check_source(block.get("source"))
    if kind in ("tool_addition", "tool_removal"):
        _check_tool_change(block.get("tool"))
        block = {name: value for name, value in block.items() if name != "tool"}
    elif not _is_one_of(kind, BLOCKS):
        forbidden(f"content of type {shown(kind)} can't pass without server tools")
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
            forbidden("content by file_id can't pass without server tools")
        else:
            _check_other(value)


def _check_other(value: Any) -> None:
    if isinstance(value, dict):
        if _is_one_of(value.get("type"), _ELSEWHERE):
            forbidden("content from elsewhere (a URL, a file id) can't pass without server tools")
        _check_fields(value)
    elif isinstance(value, list):
        for each in value:
            _check_other(each)


def _is_one_of(kind: Any, kinds: frozenset[str]) -> bool:
    return isinstance(kind, str) and kind in kinds


def _check_source(source: Any) -> None:
    if not isinstance(source, dict) or not _is_one_of(source.get("type"), SOURCES):
        forbidden("content from elsewhere (a URL, a file id) can't pass without server tools")
    _check_fields(source)


def _check_tool_change(tool: Any) -> None:
    """Tools that are added in the middle of a conversation obey the rule of those at its start."""
    match tool:
        case {"type": "tool_reference"}:
            return
        case {"type": "tool_definition", "definition": definition}:
            _check_tool(definition)
        case _:
            forbidden("this change of tools can't pass without server tools")


def _items(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list):
        malformed("a list was expected")
    return value
