import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.gateway.access import Budget, ModelAccess
from supervisor.gateway.admission import (
    HEADER_PREFIXES,
    HEADERS,
    MAX_BODY,
    MAX_DEPTH,
    Admitted,
    Asked,
    admit,
    passing_headers,
)
from supervisor.gateway.refusal import Refused

NOTHING = Budget(None, None)
CLOSED = ModelAccess(models=("claude-*",), server_tools=False, budget=NOTHING)
OPEN = ModelAccess(models=("claude-*",), server_tools=True, budget=NOTHING)
BETA = [("beta", "true")]


def body(**fields: Any) -> Any:
    return {"model": "claude-sonnet-5-5", "messages": [], **fields}


def user(*blocks: Any) -> Any:
    return body(messages=[{"role": "user", "content": list(blocks)}])


def ask(
    content: Any = None,
    *,
    terms: ModelAccess = CLOSED,
    method: str = "POST",
    path: str = "/v1/messages",
    query: Any = BETA,
    raw: bytes | None = None,
) -> Admitted | Refused:
    data = raw if raw is not None else json.dumps(body() if content is None else content).encode()
    return admit(Asked(method, path, query, [("accept", "application/json")], data), terms)


REAL = json.loads((Path(__file__).parent / "cli_2_1_332_request.json").read_text())


def test_the_request_of_the_real_cli_passes_unchanged() -> None:
    raw = json.dumps(REAL).encode()
    verdict = ask(raw=raw)
    assert isinstance(verdict, Admitted), verdict
    assert verdict.body == raw
    assert (verdict.model, verdict.stream) == ("claude-opus-5-5", True)
    assert verdict.path == "/v1/messages?beta=true"


def test_counting_tokens_passes() -> None:
    assert isinstance(ask(path="/v1/messages/count_tokens", query=[]), Admitted)


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        ("GET", "/v1/messages", []),
        ("PUT", "/v1/messages", []),
        ("POST", "/v1/messages/", []),
        ("POST", "/v1/messages/batches", []),
        ("POST", "/v1/files", []),
        ("POST", "/v1/../v1/messages", []),
        ("POST", "//v1/messages", []),
        ("POST", "/v1/%6dessages", []),
        ("POST", "http://elsewhere/v1/messages", []),
        ("GET", "/v1/models", []),
        ("POST", "/v1/complete", []),
        ("POST", "/v1/messages", [("beta", "false")]),
        ("POST", "/v1/messages", [("beta", "true"), ("beta", "true")]),
        ("POST", "/v1/messages", [("other", "1")]),
    ],
)
def test_only_the_two_routes_of_the_messages_api_pass(method: Any, path: Any, query: Any) -> None:
    assert isinstance(ask(method=method, path=path, query=query), Refused)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"nonsense",
        b"[]",
        b'"text"',
        b"null",
        b'{"model": "claude-x"',
        b'{"model": "claude-x", "n": NaN}',
        b'{"model": "claude-x", "n": Infinity}',
        b'\xff{"model": "claude-x"}',
        '{"model": "claude-x"}'.encode("utf-16"),
        b'{"model": "claude-a", "model": "claude-b"}',
        b'{"model": "claude-a", "metadata": {"a": 1, "a": 2}}',
        b'{"messages": []}',
        b'{"model": ""}',
        b'{"model": ["claude-x"]}',
    ],
)
def test_what_is_not_one_plain_json_object_with_a_model_is_refused(raw: Any) -> None:
    verdict = ask(raw=raw)
    assert isinstance(verdict, Refused)
    assert verdict.status == 400


def nested(depth: Any) -> Any:
    return b'{"model": "claude-x", "metadata": ' + b"[" * depth + b"]" * depth + b"}"


def test_depth_is_bounded() -> None:
    assert isinstance(ask(raw=nested(MAX_DEPTH - 1)), Admitted)
    assert isinstance(ask(raw=nested(MAX_DEPTH)), Refused)
    assert isinstance(ask(raw=nested(5_000_000)), Refused)


def test_the_number_of_values_is_bounded_while_long_text_is_not() -> None:
    many = b'{"model": "claude-x", "metadata": [' + b"[]," * 600_000 + b"[]]}"
    text = json.dumps(user({"type": "text", "text": '[{"a", ' * 600_000})).encode()
    assert isinstance(ask(raw=many), Refused)
    assert isinstance(ask(raw=text), Admitted)


def test_size_is_bounded() -> None:
    verdict = ask(raw=b" " * (MAX_BODY + 1))
    assert isinstance(verdict, Refused)
    assert (verdict.status, verdict.error_type) == (413, "request_too_large")


@pytest.mark.parametrize("model", ["gpt-1", "Claude-sonnet", "xclaude-sonnet", "claude"])
def test_a_model_that_no_glob_names_is_refused(model: Any) -> None:
    verdict = ask(body(model=model))
    assert isinstance(verdict, Refused)
    assert (verdict.status, verdict.error_type) == (404, "not_found_error")


@pytest.mark.parametrize("terms", [CLOSED, OPEN])
@pytest.mark.parametrize(
    "fallbacks", ["default", [{"model": "gpt-1"}], [{}], ["gpt-1"], [{"model": "claude-x", "t": 1}]]
)
def test_a_fallback_is_no_way_to_a_model_that_is_not_allowed(fallbacks: Any, terms: Any) -> None:
    assert isinstance(ask(body(fallbacks=fallbacks), terms=terms), Refused)
    assert isinstance(ask(body(fallbacks=[{"model": "claude-x"}]), terms=terms), Admitted)


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


B64 = {"type": "base64", "media_type": "image/png", "data": "AA=="}
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


@pytest.mark.parametrize(
    "content",
    [
        body(messages=[1]),
        body(messages={}),
        body(messages=[{"role": "user", "content": 1}]),
        body(messages=[{"role": "user", "content": [1]}]),
        body(tools=[1]),
        body(tools={}),
        body(system=3),
        user({"type": "image", "source": 1}),
        user({"type": ["text"]}),
    ],
)
def test_wrong_shapes_are_refused_and_never_fail(content: Any) -> None:
    assert isinstance(ask(content), Refused)


def test_a_refusal_quotes_a_hostile_name_short_and_in_ascii() -> None:
    verdict = ask(body(model="\x1b[31m\u202e" + "x" * 10_000))
    assert isinstance(verdict, Refused)
    assert verdict.message.isascii()
    assert verdict.message.isprintable()
    assert len(verdict.message) < 200


@pytest.mark.parametrize(
    "types",
    [
        ["text/plain"],
        ["application/x-www-form-urlencoded"],
        ["multipart/form-data; boundary=x"],
        ["application/jsonp"],
        ["application/json; charset=utf-16"],
        ["application/json, text/plain"],
        [""],
        ["application/json", "text/plain"],
    ],
)
@pytest.mark.parametrize("terms", [CLOSED, OPEN])
def test_a_body_that_the_api_might_read_in_another_way_is_refused(types: Any, terms: Any) -> None:
    headers = [("Content-Type", each) for each in types]
    verdict = admit(
        Asked("POST", "/v1/messages", BETA, headers, json.dumps(body()).encode()), terms
    )
    assert isinstance(verdict, Refused)
    assert verdict.status == 415


@pytest.mark.parametrize(
    "given_type", [None, "application/json", "Application/JSON; charset=UTF-8"]
)
def test_what_is_sent_on_is_called_json(given_type: Any) -> None:
    headers = [("Content-Type", given_type)] if given_type else []
    verdict = admit(
        Asked("POST", "/v1/messages", BETA, headers, json.dumps(body()).encode()), CLOSED
    )
    assert isinstance(verdict, Admitted)
    assert verdict.headers["content-type"] == "application/json"


CREDENTIALS = ["x-api-key", "Authorization", "COOKIE", "Proxy-Authorization", "X-Forwarded-For"]


@pytest.mark.parametrize("name", CREDENTIALS)
def test_a_credential_of_the_client_never_passes(name: Any) -> None:
    assert passing_headers([(name, "secret"), ("Accept", "a")]) == {"accept": "a"}


@given(
    st.lists(
        st.tuples(
            st.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=40)
            | st.sampled_from(sorted(HEADERS) + CREDENTIALS + ["X-Stainless-Lang"]),
            st.text(max_size=20),
        )
    )
)
def test_no_header_passes_that_is_not_on_the_list(headers: Any) -> None:
    for name in passing_headers(headers):
        assert name in HEADERS or name.startswith(HEADER_PREFIXES)
        assert name not in {c.lower() for c in CREDENTIALS}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "content", "source", "tool", "text", "file_id"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    st.fixed_dictionaries({"messages": json_values, "tools": json_values, "system": json_values})
)
def test_every_json_body_gets_a_verdict(fields: Any) -> None:
    assert isinstance(ask(body(**fields)), Admitted | Refused)


@given(json_values)
def test_a_url_source_is_found_beside_anything(other: Any) -> None:
    assert isinstance(
        ask(
            body(messages=[{"role": "user", "content": [other, {"type": "image", "source": URL}]}])
        ),
        Refused,
    )
