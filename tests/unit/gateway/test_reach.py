"""What the API would run or fetch by itself is no way around a sandbox without network."""

from typing import Any

import pytest
from hypothesis import given

from supervisor.gateway.admission import Admitted
from supervisor.gateway.refusal import Refused
from tests.worlds.model_requests import JSON_VALUES, OPEN, ask, body, user

B64 = {"type": "base64", "media_type": "image/png", "data": "AA=="}
URL = {"type": "url", "url": "https://evil.example/?secret"}
FILE = {"type": "file", "file_id": "file_1"}
FETCH = {"type": "web_fetch_20250910", "name": "web_fetch"}
REACHING = {
    "web search": body(tools=[{"type": "web_search_20250305", "name": "web_search"}]),
    "web fetch": body(tools=[FETCH]),
    "code execution": body(tools=[{"type": "code_execution_20250825", "name": "c"}]),
    "an unknown tool type": body(tools=[{"type": "new_20300101", "name": "c"}]),
    "remote MCP": body(mcp_servers=[{"type": "url", "url": "https://evil.example"}]),
    "no remote MCP even": body(mcp_servers=[]),
    "a container": body(container="c_1"),
    "a stored thread": body(thread={"id": "t"}),
    "an unknown field": body(brand_new=1),
    "an image by url": user({"type": "image", "source": URL}),
    "an image by file": user({"type": "image", "source": FILE}),
    "a document by url": user({"type": "document", "source": URL}),
    "a document without source": user({"type": "document"}),
    "an image in a document": user(
        {
            "type": "document",
            "source": {"type": "content", "content": [{"type": "image", "source": URL}]},
        }
    ),
    "an image in a tool result": user(
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source": URL}]}
    ),
    "an image in the system prompt": body(system=[{"type": "image", "source": URL}]),
    "an image of the assistant": body(
        messages=[{"role": "assistant", "content": [{"type": "image", "source": URL}]}]
    ),
    "a text with a source": user({"type": "text", "text": "x", "source": URL}),
    "an image by text": user({"type": "image", "source": "https://evil.example/"}),
    "an image in a system note": user(
        {"type": "mid_conv_system", "content": [{"type": "image", "source": URL}]}
    ),
    "an image in a compaction": user(
        {"type": "compaction", "content": [{"type": "document", "source": URL}]}
    ),
    "an image in thinking": user({"type": "thinking", "content": [{"type": "image"}]}),
    "an image three deep": user(
        {
            "type": "mid_conv_system",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [
                        {
                            "type": "document",
                            "source": {
                                "type": "content",
                                "content": [{"type": "image", "source": URL}],
                            },
                        }
                    ],
                }
            ],
        }
    ),
    "an image in a field nobody knows": user(
        {"type": "text", "text": "x", "brand_new": [{"deep": {"type": "image", "source": URL}}]}
    ),
    "a url in a field nobody knows": user({"type": "fallback", "brand_new": URL}),
    "a file in a field nobody knows": user({"type": "text", "text": "x", "new": {"file_id": "f"}}),
    "a source beside a message": body(messages=[{"role": "user", "content": "x", "source": URL}]),
    "an image in a fresh tool": user(
        {
            "type": "tool_removal",
            "tool": {"type": "tool_reference", "name": "B"},
            "content": [{"type": "image", "source": URL}],
        }
    ),
    "a source beside a tool's input": user(
        {"type": "tool_use", "id": "t", "name": "N", "input": {}, "source": URL}
    ),
    "a source of an odd type": user({"type": "image", "source": {"type": ["url"]}}),
    "a container upload": user({"type": "container_upload", "file_id": "f"}),
    "a server tool's call": user({"type": "server_tool_use", "name": "web_fetch", "input": {}}),
    "a remote MCP call": user({"type": "mcp_tool_use", "name": "x", "input": {}}),
    "an unknown block": user({"type": "brand_new"}),
    "a block without type": user({"text": "x"}),
    "a tool added in the middle": user(
        {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": FETCH}}
    ),
    "an unknown tool change": user({"type": "tool_addition", "tool": {"type": "url"}}),
}


@pytest.mark.parametrize("content", REACHING.values(), ids=REACHING.keys())
def test_what_the_api_would_run_or_fetch_is_refused_without_server_tools(
    content: Any,
) -> None:
    verdict = ask(content)
    assert isinstance(verdict, Refused)
    assert (verdict.status, verdict.error_type) == (403, "permission_error")


@pytest.mark.parametrize("content", REACHING.values(), ids=REACHING.keys())
def test_control_the_same_passes_with_server_tools(content: Any) -> None:
    assert isinstance(ask(content, terms=OPEN), Admitted)


HARMLESS = {
    "a text": user({"type": "text", "text": "https://evil.example", "cache_control": {}}),
    "a bare string": body(messages=[{"role": "user", "content": "hello"}], system="s"),
    "an image in the request": user({"type": "image", "source": B64}),
    "a document of text": user({"type": "document", "source": {"type": "text", "data": "x"}}),
    "thinking": body(
        messages=[
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "x", "signature": "s"},
                    {"type": "redacted_thinking", "data": "x"},
                ],
            }
        ]
    ),
    "a tool input that only looks like a source": body(
        messages=[
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "t", "name": "Write", "input": {"source": URL}}
                ],
            }
        ]
    ),
    "a system note": user({"type": "mid_conv_system", "content": "x"}),
    "a system note of blocks": user(
        {"type": "mid_conv_system", "content": [{"type": "text", "text": "x"}]}
    ),
    "a compaction": user({"type": "compaction", "content": "a summary"}),
    "an empty compaction": user({"type": "compaction", "content": None}),
    "a search result and its citation": user(
        {
            "type": "search_result",
            "source": "https://example.org/",
            "title": "t",
            "content": [{"type": "text", "text": "x"}],
            "citations": {"enabled": True},
        },
        {
            "type": "text",
            "text": "x",
            "citations": [
                {"type": "search_result_location", "source": "https://example.org/"},
                {"type": "char_location", "file_id": None, "document_index": 0},
            ],
        },
    ),
    "a tool reference": user(
        {
            "type": "tool_result",
            "tool_use_id": "t",
            "content": [{"type": "tool_reference", "tool_name": "Read"}],
        }
    ),
    "a tool result of text": user({"type": "tool_result", "tool_use_id": "t", "content": "x"}),
    "custom tools": body(
        tools=[
            {"name": "A", "input_schema": {"type": "url"}},
            {"type": "custom", "name": "B", "input_schema": {}, "defer_loading": True},
        ]
    ),
    "a custom tool added in the middle": user(
        {
            "type": "tool_addition",
            "tool": {"type": "tool_definition", "definition": {"name": "A", "input_schema": {}}},
        },
        {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "B"}},
    ),
}


@pytest.mark.parametrize("content", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_only_the_model_reads_passes(content: Any) -> None:
    verdict = ask(content)
    assert isinstance(verdict, Admitted), verdict


@given(JSON_VALUES)
def test_a_url_source_is_found_beside_anything(other: Any) -> None:
    assert isinstance(
        ask(
            body(messages=[{"role": "user", "content": [other, {"type": "image", "source": URL}]}])
        ),
        Refused,
    )
