"""The gateway between an agent and the model's API: what passes, what it costs, what is told."""

import asyncio
import gzip
import io
import json
import logging
import socket
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from pydantic import SecretStr

from supervisor.gateway.access import Budget
from supervisor.gateway.door import Gateway
from supervisor.gateway.proxy import Upstream
from supervisor.ids import new_session_id, new_turn_id
from tests.worlds.model import (
    BOUNDED,
    JSON,
    KEY_CANARY,
    access,
    ask,
    client,
    door_to,
    recorder,
    request_body,
    scripted,
    steps,
)

DIRTY = {
    "x-api-key": "client-key",
    "authorization": "Bearer client-token",
    "cookie": "c=client-cookie",
    "proxy-authorization": "client-proxy",
    "x-forwarded-for": "client-address",
    "anthropic-beta": "some-beta",
    "x-claude-code-session-id": "said-by-the-client",
}


async def test_the_key_is_added_and_the_clients_credentials_are_dropped(tmp_path: Path) -> None:
    async with (
        recorder(tmp_path) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock"),
        client(tmp_path / "door.sock") as http,
        http.post("/v1/messages", json=request_body(), headers=DIRTY) as answer,
    ):
        assert answer.status == 200
        assert KEY_CANARY not in str(answer.headers) + await answer.text()
    (got,) = upstream.headers
    assert got["x-api-key"] == KEY_CANARY
    assert got["anthropic-beta"] == "some-beta"
    assert got["accept-encoding"] == "identity"
    for name in ("authorization", "cookie", "proxy-authorization", "x-forwarded-for"):
        assert name not in got
    assert "client-" not in str({k: v for k, v in got.items() if k != "x-claude-code-session-id"})


async def test_a_chunk_arrives_before_the_next_one_is_made(tmp_path: Path) -> None:
    arrived = asyncio.Event()

    async def one_by_one(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: 1\n\n")
        await asyncio.wait_for(arrived.wait(), BOUNDED)
        await response.write(b"data: 2\n\n")
        return response

    async with (
        recorder(tmp_path, one_by_one) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock"),
        client(tmp_path / "door.sock") as http,
        http.post("/v1/messages", json=request_body(stream=True)) as answer,
    ):
        assert await answer.content.readany() == b"data: 1\n\n"
        arrived.set()
        assert await answer.content.read() == b"data: 2\n\n"


async def test_spending_is_counted_from_streams_and_bodies(tmp_path: Path) -> None:
    usage = {"input_tokens": 30, "output_tokens": 4, "cache_read_input_tokens": 5}
    prompt = steps({"text": "x", "usage": usage})
    async with (
        scripted(tmp_path),
        door_to(tmp_path / "model.sock", tmp_path / "door.sock") as door,
        client(tmp_path / "door.sock") as http,
    ):
        assert door.first_request_at is None
        await ask(http, prompt=prompt)
        async with http.post("/v1/messages", json=request_body(prompt, stream=True)) as answer:
            await answer.read()
        async with http.post("/v1/messages/count_tokens", json=request_body()) as answer:
            assert answer.status == 200
        assert door.first_request_at is not None
    spent = door.spending
    assert (spent.input_tokens, spent.output_tokens, spent.cache_read_tokens) == (60, 8, 10)
    assert spent.requests == 2
    assert spent.cost_usd == pytest.approx((60 * 2 + 8 * 10 + 10 * 0.1) / 1e6)


async def test_a_used_up_budget_refuses_the_next_request(tmp_path: Path) -> None:
    terms = access(budget=Budget(tokens=15, cost_usd=None))
    async with (
        recorder(tmp_path) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock", terms) as door,
        client(tmp_path / "door.sock") as http,
    ):
        assert (await ask(http))[0] == 200
        status, error = await ask(http)
    assert (status, error["error"]["type"]) == (402, "billing_error")
    assert len(upstream.bodies) == 1
    assert door.over_budget
    assert [text.split(":")[0] for text in door.refusals] == ["billing_error"]


async def test_leaving_early_cancels_the_upstream_and_is_no_way_around_the_budget(
    tmp_path: Path,
) -> None:
    prompt = steps({"text": "x" * 3000, "chunks": 2, "stall_s": 3600})
    async with (
        scripted(tmp_path),
        door_to(tmp_path / "model.sock", tmp_path / "door.sock") as door,
        client(tmp_path / "door.sock") as http,
    ):
        answer = await http.post("/v1/messages", json=request_body(prompt, stream=True))
        seen = b""
        while b"text_delta" not in seen:
            seen += await answer.content.readany()
        answer.close()
    assert door.spending.requests == 1
    assert door.spending.input_tokens == 100
    assert door.spending.output_tokens >= 500


async def test_the_upstream_notices_that_the_client_left(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def endless(_request: web.Request) -> web.StreamResponse:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with (
        recorder(tmp_path, endless) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock") as door,
        client(tmp_path / "door.sock") as http,
    ):
        task = asyncio.create_task(http.post("/v1/messages", json=request_body()))
        await asyncio.wait_for(begun.wait(), BOUNDED)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.wait_for(upstream.left.wait(), BOUNDED)
    assert door.spending.requests == 1
    assert door.spending.input_tokens > 0


@pytest.mark.parametrize("status", [400, 413, 429, 500, 529])
async def test_errors_pass_through_with_their_headers(tmp_path: Path, status: int) -> None:
    error = {
        "status": status,
        "type": "some_error",
        "message": "as it was",
        "headers": {
            "retry-after": "7",
            "anthropic-ratelimit-requests-remaining": "0",
            "x-internal": "no",
            "set-cookie": "a=b",
        },
    }
    async with (
        scripted(tmp_path),
        door_to(tmp_path / "model.sock", tmp_path / "door.sock") as door,
        client(tmp_path / "door.sock") as http,
        http.post("/v1/messages", json=request_body(steps({"error": error}))) as answer,
    ):
        assert answer.status == status
        assert (await answer.json())["error"] == {"type": "some_error", "message": "as it was"}
        assert answer.headers["retry-after"] == "7"
        assert answer.headers["anthropic-ratelimit-requests-remaining"] == "0"
        assert "request-id" in answer.headers
        assert "x-internal" not in answer.headers
        assert "set-cookie" not in answer.headers
    assert door.spending.requests == 0


async def test_a_cut_upstream_is_a_cut_answer_and_bad_json_passes(tmp_path: Path) -> None:
    async with (
        scripted(tmp_path),
        door_to(tmp_path / "model.sock", tmp_path / "door.sock"),
        client(tmp_path / "door.sock") as http,
    ):
        cut = request_body(steps({"text": "abcdefgh", "cut": True}), stream=True)
        with pytest.raises(aiohttp.ClientPayloadError):
            async with http.post("/v1/messages", json=cut) as answer:
                await answer.read()
        bad = request_body(steps({"text": "abcdefgh", "bad_json": True}), stream=True)
        async with http.post("/v1/messages", json=bad) as answer:
            assert b'{"type": not json' in await answer.read()


async def echo_of_the_key(request: web.Request) -> web.StreamResponse:
    """A careless upstream: its errors quote what it was sent."""
    status = int(request.headers["user-agent"])
    headers = {"request-id": request.headers["x-api-key"], "location": "http://elsewhere/"}
    return web.Response(status=status, headers=headers, text=str(request.headers))


@pytest.mark.parametrize("status", [301, 400, 401, 403, 500])
async def test_no_error_of_the_upstream_shows_the_key(
    tmp_path: Path, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        recorder(tmp_path, echo_of_the_key) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock") as door,
        client(tmp_path / "door.sock") as http,
        http.post(
            "/v1/messages",
            json=request_body(),
            headers={"user-agent": str(status)},
            allow_redirects=False,
        ) as answer,
    ):
        assert upstream.headers[0]["x-api-key"] == KEY_CANARY  # the control: it was there to leak
        assert answer.status == (502 if status == 301 else status)
        assert KEY_CANARY not in await answer.text() + str(answer.headers)
    assert KEY_CANARY not in str(door.refusals) + repr(vars(door)) + caplog.text


async def test_an_unreachable_upstream_is_a_502_that_names_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        door_to(tmp_path / "nobody.sock", tmp_path / "door.sock") as door,
        client(tmp_path / "door.sock") as http,
    ):
        status, error = await ask(http)
    assert (status, error["type"], error["error"]["type"]) == (502, "error", "api_error")
    assert "nobody.sock" not in str(error)
    assert door.trouble == "it can't be reached: No such file or directory"
    assert door.spending.requests == 0
    assert KEY_CANARY not in caplog.text


def test_an_upstream_never_shows_its_key() -> None:
    upstream = Upstream("https://api.example", SecretStr(KEY_CANARY))
    assert KEY_CANARY not in repr(upstream) + str(upstream)


async def test_refused_requests_never_reach_the_upstream(tmp_path: Path) -> None:
    fetch = [{"type": "web_fetch_20250910", "name": "web_fetch"}]
    async with (
        recorder(tmp_path) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock", access("claude-*")) as door,
        client(tmp_path / "door.sock") as http,
    ):
        assert (await ask(http, model="other"))[0] == 404
        assert (await ask(http, tools=fetch))[0] == 403
        async with http.get("/v1/models") as answer:
            assert answer.status == 404
            assert (await answer.json())["type"] == "error"
        async with http.post("/v1/messages?other=1", json=request_body()) as answer:
            assert answer.status == 400
        async with http.post(
            "/v1/messages", data=io.BytesIO(b" " * (32 * 1024 * 1024 + 1))
        ) as answer:
            assert answer.status == 413
        assert (await ask(http))[0] == 200  # the control
    assert len(upstream.bodies) == 1
    kinds = [text.split(":")[0] for text in door.refusals]
    assert kinds == [
        "not_found_error",
        "permission_error",
        "not_found_error",
        "invalid_request_error",
        "request_too_large",
    ]


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_an_encoded_body_is_refused_unread_in_the_apis_shape(
    encoding: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A few bytes of one may unpack to gigabytes."""
    async with (
        recorder(tmp_path) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock", access("claude-*")),
        client(tmp_path / "door.sock") as http,
    ):
        headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
        bomb = gzip.compress(bytes(64 << 20)) if encoding == "gzip" else b"\x1f\x8bgarbage"
        asking = http.post("/v1/messages", data=bomb, headers=headers)
        async with asking as answer:
            assert answer.status == 415
            assert (await answer.json())["error"]["type"] == "invalid_request_error"
        assert (await ask(http))[0] == 200  # the control
    assert len(upstream.bodies) == 1
    assert "Traceback" not in caplog.text


async def test_what_has_no_route_is_refused_in_the_apis_shape(tmp_path: Path) -> None:
    async with (
        recorder(tmp_path) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock", access("claude-*")),
    ):
        reader, writer = await asyncio.open_unix_connection(tmp_path / "door.sock")
        writer.write(b"CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    assert b" 404 " in head.splitlines()[0]
    assert json.loads(body)["type"] == "error"
    assert not upstream.bodies


async def test_a_large_request_passes_whole(tmp_path: Path) -> None:
    text = "ä" * 3_000_000
    async with (
        recorder(tmp_path) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock"),
        client(tmp_path / "door.sock") as http,
    ):
        body = json.dumps(request_body(text), ensure_ascii=False).encode()
        async with http.post("/v1/messages", data=io.BytesIO(body), headers=JSON) as answer:
            assert answer.status == 200
    assert upstream.bodies == [body]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:{port}", "127.0.0.1:{port}: Connection refused"),
        ("https://user:hidden@127.0.0.1:{port}/x", "127.0.0.1:{port}: Connection refused"),
        ("https://name.invalid", "name.invalid:443: "),
    ],
)
async def test_why_an_api_can_not_be_reached_is_told_to_the_person_and_not_to_the_agent(
    tmp_path: Path, url: str, why: str
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        upstream = Upstream(url.format(port=port), SecretStr(KEY_CANARY))
        async with (
            Gateway(upstream) as gateway,
            gateway.open_door(
                session_id=new_session_id(),
                turn_id=new_turn_id(),
                access=access(),
                socket_path=tmp_path / "door.sock",
            ) as door,
            client(tmp_path / "door.sock") as http,
        ):
            status, error = await ask(http)
    assert status == 502
    assert error["error"]["message"] == "the model's API can't be reached"
    assert door.trouble is not None
    assert door.trouble.startswith(f"it can't be reached: {why.format(port=port)}")
    assert "hidden" not in door.trouble


async def test_trouble_is_over_with_the_next_answer(tmp_path: Path) -> None:
    answers = iter((529, 200))

    async def once_overloaded(request: web.Request) -> web.StreamResponse:
        return web.json_response({"usage": {}}, status=next(answers))

    async with (
        recorder(tmp_path, once_overloaded) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock") as door,
        client(tmp_path / "door.sock") as http,
    ):
        await ask(http)
        assert door.trouble == "it answered with status 529"
        await ask(http)
        assert door.trouble is None
