import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.gateway.admission import (
    HEADER_PREFIXES,
    HEADERS,
    MAX_BODY,
    MAX_DEPTH,
    MAX_HEADER,
    Admitted,
    Asked,
    admit,
    passing_headers,
)
from supervisor.gateway.refusal import Refused
from tests.worlds.model_requests import BETA, CLOSED, JSON_VALUES, OPEN, ask, body, user

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
    at_the_limit = json.dumps(body()).encode().ljust(MAX_BODY)
    assert isinstance(ask(raw=at_the_limit), Admitted)
    verdict = ask(raw=at_the_limit + b" ")
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


def test_a_header_that_is_longer_than_any_of_the_clis_is_dropped() -> None:
    whole, longer = "x" * MAX_HEADER, "x" * (MAX_HEADER + 1)
    assert passing_headers([("accept", whole), ("x-app", longer)]) == {"accept": whole}


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


@given(
    st.fixed_dictionaries({"messages": JSON_VALUES, "tools": JSON_VALUES, "system": JSON_VALUES})
)
def test_every_json_body_gets_a_verdict(fields: Any) -> None:
    assert isinstance(ask(body(**fields)), Admitted | Refused)
