"""Whatever goes wrong is a problem document that says what happened and what to do."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from supervisor.errors import StorageBusy
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.http import speak

MEMBERS = {"type", "title", "status", "detail", "instance", "code"}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The API on a port."""
    async with api_world(tmp_path) as made:
        yield made


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, object]:
    """The document, after a look at what each must have."""
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    said = answer.json()
    assert said.keys() >= MEMBERS
    assert said["status"] == status
    assert said["code"] == code
    assert isinstance(said, dict)
    return said


async def test_a_route_that_is_none(world: ApiWorld) -> None:
    async with world.client() as client:
        said = problem(await client.get("/api/nowhere"), 404, "not_found")
        assert said["instance"] == "/api/nowhere"
        problem(await client.get("/nowhere"), 404, "not_found")
        problem(await client.get("/api/workspaces/"), 404, "not_found")


async def test_a_method_that_is_none_names_those_that_are(world: ApiWorld) -> None:
    async with world.client() as client:
        session = await world.session()
        answer = await client.post(f"/api/sessions/{session}/trust", json={})
        problem(answer, 405, "method_not_allowed")
        assert answer.headers["allow"] == "GET, HEAD, OPTIONS, PUT"
        for method in ("TRACE", "PROPFIND"):
            problem(await client.request(method, "/api/health"), 405, "method_not_allowed")


async def test_options_tells_the_methods(world: ApiWorld) -> None:
    async with world.client() as client:
        answer = await client.options("/api/chat")
        assert answer.status_code == 204
        assert answer.headers["allow"] == "OPTIONS, POST"
        assert "access-control-allow-origin" not in answer.headers
        document = await client.options("/api/openapi.json")
        assert document.headers["allow"] == "GET, HEAD, OPTIONS"
        # The document is made for those who ask for it, and is not needed to tell a method.
        made: Any = world.inner.openapi
        assert made.cache_info().currsize == 0
        assert (await client.get("/api/openapi.json")).json()["info"]["title"] == "Trustfloor"
        assert made.cache_info().currsize == 1


async def test_each_field_that_is_wrong_is_named_and_no_value_repeated(world: ApiWorld) -> None:
    body = {"message": 5, "trustLevel": "my-secret-word", "colour": "my-secret-word"}
    async with world.client() as client:
        answer = await client.post("/api/chat", json=body)
    said = problem(answer, 422, "invalid_request")
    assert {each["field"] for each in said["errors"]} == {"message", "trustLevel", "colour"}  # type: ignore[attr-defined]
    assert "my-secret-word" not in answer.text


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),
        (b'{"message": ' + b"1" * 5000 + b"}", 400),
        (b'"text"', 422),
        (b"null", 422),
        (b"", 422),
        (b"[]", 422),
        (b'{"message": "\\ud800"}', 422),
        (b'{"message": 1}', 422),
        (b'{"message": "m", "sessionId": 5}', 422),
    ],
)
async def test_a_body_that_is_none_is_refused_and_starts_nothing(
    world: ApiWorld, body: bytes, status: int
) -> None:
    async with world.client() as client:
        headers = {"Content-Type": "application/json"}
        answer = await client.post("/api/chat", content=body, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert world.turns.asked == []


async def test_an_error_of_ours_keeps_its_status_code_and_remedy(world: ApiWorld) -> None:
    world.turns.fails_with = StorageBusy("another holds the database", remedy="try again")
    async with world.client() as client:
        said = problem(await client.post("/api/chat", json={"message": "m"}), 503, "storage_busy")
    assert said["detail"] == "another holds the database"
    assert said["remedy"] == "try again"
    assert said["retryable"] is True


async def test_what_nobody_foresaw_has_an_incident_id_and_no_insides(
    world: ApiWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.turns.fails_with = ZeroDivisionError("insides of the machine")
    async with world.client() as client:
        for path in ("/api/chat", "/api/chat/stream"):
            answer = await client.post(path, json={"message": "m"})
            said = problem(answer, 500, "internal_error")
            assert "insides" not in answer.text
            assert "ZeroDivisionError" not in answer.text
            assert str(said["incident"]) in caplog.text
        assert "insides of the machine" in caplog.text


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("GET /api/health HTTP/1.1\r\n\r\n", "bad_host"),
        ("GET /api/health HTTP/1.0\r\n\r\n", "bad_host"),
        ("GET /api/health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", "bad_host"),
        ("GET /api/health HTTP/1.1\r\nHost: a b\r\n\r\n", "bad_host"),
        ("nonsense\r\n\r\n", "malformed_request"),
        ("GET /api/\x7f HTTP/1.1\r\nHost: localhost\r\n\r\n", "malformed_request"),
        ("GET /api/health HTTP/1.1\r\nHost : localhost\r\n\r\n", "malformed_request"),
        ("GET /api/health HTTP/1.1\r\nHost: localhost\r\nA: \0\r\n\r\n", "malformed_request"),
        (
            "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
            "malformed_request",
        ),
    ],
    ids=lambda value: ascii(value)[:60],
)
async def test_what_the_http_server_itself_refuses_is_a_problem_too(
    world: ApiWorld, sent: str, code: str
) -> None:
    answer = await speak(world.at.port, sent.encode())
    lines = (line.partition(": ") for line in answer.head.decode().strip().split("\r\n")[1:])
    headers = {name: value for name, _, value in lines}
    problem(httpx.Response(answer.status, headers=headers, content=answer.body), 400, code)
