"""Invariant 17: no web page, no stranger's name, no missing token reaches a handler of the API.

Every attack is made on every route that the OpenAPI document names, event streams included, and has
its control beside it: the same request with the one thing put right, or with the door taken off.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from supervisor.api.intake import UPLOADS
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.callers import CHANGING, everything_logged
from tests.worlds.http import speak, status_of
from tests.worlds.played_turns import done, text

EVIL_ORIGINS = (
    "https://evil.example",
    "http://evil.example",
    "null",
    "http://localhost:1",
    "http://localhost.evil.example:{port}",
    "http://127.0.0.1.evil.example:{port}",
    "http://localhost:{port}@evil.example",
    "https://localhost:{port}",
    "file://",
)
EVIL_HOSTS = (
    "evil.example:{port}",
    "evil.example",
    "localhost.evil.example",
    "localhost.evil.example:{port}",
    "127.0.0.1.evil.example:{port}",
    "evil.example.localhost:{port}",
    "localhost:1",
    "localhost.:{port}",
    "user@localhost:{port}",
    "localhost:{port}:{port}",
    "localhost:{port}, evil.example",
    "2130706433:{port}",
    "0.0.0.0:{port}",
    "other.box.example",
    "",
)
GOOD_HOSTS = (
    "localhost:{port}",
    "LOCALHOST:{port}",
    "127.0.0.1:{port}",
    "[::1]:{port}",
    "localhost",
    "box.example",
    "Box.Example:443",
)
FOREIGN_TYPES = (
    "text/plain",
    "text/plain;charset=UTF-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json, text/plain",
    "application/jsonp",
    "text/json",
    None,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The API on a port, with a session that has heard one turn."""
    async with api_world(tmp_path) as made:
        yield made


@pytest.fixture
async def doorless(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The same routes with the door taken off."""
    async with api_world(tmp_path, door=False) as made:
        yield made


OF_LOGINS = {"/api/login", "/api/logout"}
"""Routes that a token has nothing to do with; their controls are among the logins' tests."""


async def opened(world: ApiWorld) -> list[tuple[str, str]]:
    """Every route that a token opens."""
    return [each for each in await every_route(world) if each[1] not in OF_LOGINS]


async def every_route(world: ApiWorld) -> list[tuple[str, str]]:
    """Each method and path of the document, for a session that exists, and a path that doesn't."""
    session = await world.session()
    world.turns.script = [text("secret of the session"), done(session)]
    routes = [("GET", "/api/openapi.json"), ("GET", "/api/no-such-route")]
    for template, item in world.openapi["paths"].items():
        path = template.replace("{session_id}", session)
        path = path.replace("{request_id}", "req_1").replace("{slug}", "notes")
        path = path.replace("{grant_id}", "grt_1").replace("{filename}", "plan.md")
        path = path.replace("{path}", "agents/writer.md").replace("{name}", "notes")
        path = path.replace("{token_id}", "tok_1").replace("{login_id}", "log_1")
        assert "{" not in path, f"fill in the parameter of {template}"
        routes += [(method.upper(), path) for method in item]
    assert len(routes) > 15
    return routes


def request(  # noqa: PLR0917
    method: str,
    path: str,
    port: int,
    host: str | None = "localhost:{port}",
    headers: tuple[str, ...] = (),
    token: str | None = TOKEN,
    content_type: str | None = "application/json",
    body: bytes | None = None,
    version: str = "HTTP/1.1",
) -> bytes:
    """A request that is in order but for what the test says."""
    if body is None:
        body = _in_order(path.partition("?")[0]) if method in CHANGING else b""
    lines = [f"{method} {path} {version}"]
    if host is not None:
        lines.append(f"Host: {host.format(port=port)}")
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if method in CHANGING and content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    if body:
        lines.append(f"Content-Length: {len(body)}")
    lines += [header.format(port=port) for header in headers]
    lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def _in_order(path: str) -> bytes:
    """A body that the route takes, so that nothing but the door stands in the way."""
    if path.startswith("/api/workspaces"):
        return b'{"name": "Notes", "folder": "Notes"}'
    if path.endswith("/trust"):
        return b'{"trustLevel": "sandboxed"}'
    if path.endswith("/answer"):
        return b'{"answers": {"Which?": "this"}}'
    if path == "/api/login":
        return b'{"code": "none"}'
    if path == "/api/tokens":
        return b'{"name": "phone", "scopes": ["approve"]}'
    return b'{"message": "go"}' if path in {"/api/chat", "/api/chat/stream"} else b"{}"


def assert_nothing_happened(world: ApiWorld) -> None:
    assert world.turns.asked == []
    assert world.turns.aborted == []
    assert world.turns.floors_checked == 0


class TestARebindingPage:
    @pytest.mark.parametrize("host", EVIL_HOSTS)
    async def test_reaches_no_route_under_a_foreign_host(self, world: ApiWorld, host: str) -> None:
        port = world.at.port
        for method, path in await every_route(world):
            answer = await speak(port, request(method, path, port, host=host))
            assert answer.status in {400, 421}, (method, path)
            assert b"secret" not in answer.body
            # judged before the login: the answer is the same without a token
            bare = await status_of(port, request(method, path, port, host=host, token=None))
            assert bare == answer.status
        assert_nothing_happened(world)

    async def test_reaches_no_route_with_two_hosts_or_none_or_a_whole_address(
        self, world: ApiWorld
    ) -> None:
        port = world.at.port
        for method, path in await every_route(world):
            for attack in (
                request(method, path, port, headers=("Host: evil.example",)),
                request(method, path, port, headers=("Host: localhost:{port}",)),
                request(method, path, port, host=None),
                request(method, path, port, host=None, version="HTTP/1.0"),
                request(method, f"http://localhost:{port}{path}", port),
                request(method, f"http://evil.example{path}", port),
            ):
                assert await status_of(port, attack) == 400, attack
        assert_nothing_happened(world)

    @pytest.mark.parametrize("host", GOOD_HOSTS)
    async def test_control_our_own_names_are_answered_on_every_route(
        self, world: ApiWorld, host: str
    ) -> None:
        port = world.at.port
        for method, path in await opened(world):
            status = await status_of(port, request(method, path, port, host=host))
            assert status not in {400, 401, 403, 415, 421}, (method, path)
        assert world.turns.asked

    async def test_control_without_the_door_the_rebound_name_starts_a_turn(
        self, doorless: ApiWorld
    ) -> None:
        port = doorless.at.port
        await every_route(doorless)
        attack = request("POST", "/api/chat/stream", port, host="evil.example:{port}", token=None)
        assert (await speak(port, attack)).status == 200
        assert doorless.turns.asked


class TestAnotherPage:
    @pytest.mark.parametrize("origin", EVIL_ORIGINS)
    async def test_reaches_no_route_from_its_origin(self, world: ApiWorld, origin: str) -> None:
        port = world.at.port
        for method, path in await every_route(world):
            attack = request(method, path, port, headers=(f"Origin: {origin}",))
            answer = await speak(port, attack)
            assert answer.status == 403, (method, path)
            assert b"secret" not in answer.body
            assert b"access-control-" not in answer.head.lower()
        assert_nothing_happened(world)

    async def test_gets_no_leave_from_a_preflight(self, world: ApiWorld) -> None:
        port = world.at.port
        asks = ("Origin: https://evil.example", "Access-Control-Request-Method: POST")
        for _, path in await every_route(world):
            answer = await speak(port, request("OPTIONS", path, port, headers=asks, token=None))
            assert answer.status == 403
            assert b"access-control-" not in answer.head.lower()

    @pytest.mark.parametrize(
        "origin", ["http://localhost:{port}", "http://127.0.0.1:{port}", "https://box.example"]
    )
    async def test_control_our_own_pages_are_let_in(self, world: ApiWorld, origin: str) -> None:
        port = world.at.port
        for method, path in await opened(world):
            good = request(method, path, port, headers=(f"Origin: {origin}",))
            assert await status_of(port, good) != 403
        assert world.turns.asked

    async def test_control_without_the_door_another_page_starts_a_turn(
        self, doorless: ApiWorld
    ) -> None:
        port = doorless.at.port
        await every_route(doorless)
        origin = ("Origin: https://evil.example",)
        attack = request("POST", "/api/chat", port, headers=origin, token=None)
        assert (await speak(port, attack)).status == 200
        assert doorless.turns.asked


class TestAFormOnAPage:
    @pytest.mark.parametrize("content_type", FOREIGN_TYPES)
    async def test_changes_nothing_whatever_type_it_can_send(
        self, world: ApiWorld, content_type: str | None
    ) -> None:
        port = world.at.port
        for method, path in await every_route(world):
            if method not in CHANGING:
                continue
            if path in UPLOADS and (content_type or "").startswith("multipart/"):
                continue  # what a person's own program sends: with a token, as the next test has it
            attack = request(method, path, port, content_type=content_type)
            assert await status_of(port, attack) == 415, (method, path)
            empty = request(method, path, port, content_type=content_type, body=b"")
            assert await status_of(port, empty) == 415, (method, path)
        assert_nothing_happened(world)

    async def test_sends_no_upload_either(self, world: ApiWorld) -> None:
        kind = "multipart/form-data; boundary=x"
        for path in UPLOADS:
            form = request("POST", path, world.at.port, content_type=kind, token=None)
            assert await status_of(world.at.port, form) == 401, path
            origin = ("Origin: https://evil.example",)
            form = request("POST", path, world.at.port, content_type=kind, headers=origin)
            assert await status_of(world.at.port, form) == 403, path
        assert_nothing_happened(world)

    async def test_changes_nothing_by_get(self, world: ApiWorld) -> None:
        port = world.at.port
        routes = await every_route(world)
        readable = {path for method, path in routes if method == "GET"}
        for method, path in routes:
            if method in CHANGING and path not in readable:
                status = await status_of(port, request("GET", path, port))
                assert status in {404, 405}, path
        assert_nothing_happened(world)

    async def test_can_not_hide_a_body_behind_a_reading_method(self, world: ApiWorld) -> None:
        port = world.at.port
        typed = ("Content-Type: text/plain",)
        attack = request("GET", "/api/workspaces", port, headers=typed, body=b"{}")
        assert await status_of(port, attack) == 415

    async def test_can_not_hide_what_it_is_by_an_encoding(self, world: ApiWorld) -> None:
        port = world.at.port
        attack = request("POST", "/api/chat", port, headers=("Content-Encoding: gzip",))
        assert await status_of(port, attack) == 415
        assert_nothing_happened(world)

    async def test_control_json_is_taken(self, world: ApiWorld) -> None:
        port = world.at.port
        await every_route(world)
        for content_type in ("application/json", "Application/JSON; charset=UTF-8"):
            good = request("POST", "/api/chat", port, content_type=content_type)
            assert await status_of(port, good) == 200


class TestACallerWithoutTheToken:
    async def test_learns_and_does_nothing_on_any_route(self, world: ApiWorld) -> None:
        port = world.at.port
        wrong = (
            {"token": None},
            {"token": "wrong"},
            {"token": ""},
            {"token": TOKEN[:-1]},
            {"token": TOKEN + "x"},
            {"token": TOKEN.upper()},
            {"token": None, "headers": (f"Authorization: Basic {TOKEN}",)},
            {"token": None, "headers": (f"X-API-Key: {TOKEN}",)},
            {"token": None, "headers": (f"Cookie: token={TOKEN}",)},
            {"token": TOKEN, "headers": (f"Authorization: Bearer {TOKEN}",)},
            {"token": "\xff\xfe"},
        )
        for method, path in await opened(world):
            if path == "/api/health":
                continue
            for each in wrong:
                answer = await speak(port, request(method, path, port, **each))
                assert answer.status == 401, (method, path, each)
                assert b"www-authenticate: bearer" in answer.head.lower()
                assert b"event:" not in answer.body
                assert b"secret" not in answer.body
        assert_nothing_happened(world)

    async def test_can_not_put_the_token_into_the_address(self, world: ApiWorld) -> None:
        port = world.at.port
        for method, path in await every_route(world):
            if path == "/api/health":
                continue
            for name in ("token", "access_token", "api_key", "authorization"):
                attack = request(method, f"{path}?{name}={TOKEN}", port, token=None)
                assert await status_of(port, attack) == 401

    async def test_can_not_tell_a_route_that_exists_from_one_that_does_not(
        self, world: ApiWorld
    ) -> None:
        port = world.at.port
        await every_route(world)
        bodies = {
            (await speak(port, request("GET", path, port, token=None))).body.replace(
                path.encode(), b"PATH"
            )
            for path in ("/api/no-such-route", "/api/workspaces", "/no", "/api/chat/session/1")
        }
        assert len(bodies) == 1

    async def test_may_read_health_and_nothing_else_of_it(self, world: ApiWorld) -> None:
        port = world.at.port
        for method, status in (("GET", 200), ("HEAD", 200), ("POST", 401), ("DELETE", 401)):
            attack = request(method, "/api/health", port, token=None)
            assert await status_of(port, attack) == status
        for path in ("/api/health/", "/api//health", "/api/health/../ready", "/api/healthz"):
            assert await status_of(port, request("GET", path, port, token=None)) == 401

    @pytest.mark.parametrize("method", ["GET", "HEAD", "TRACE"])
    async def test_learns_of_the_logins_path_that_it_has_no_such_method(
        self, world: ApiWorld, method: str
    ) -> None:
        async with httpx.AsyncClient(base_url=world.at.url, trust_env=False) as stranger:
            answer = await stranger.request(method, "/api/login")
        assert answer.status_code == 405
        assert "POST" in answer.headers["allow"]

    async def test_control_the_token_opens_every_route(self, world: ApiWorld) -> None:
        port = world.at.port
        for method, path in await opened(world):
            assert await status_of(port, request(method, path, port)) != 401

    async def test_control_without_the_door_no_token_is_needed(self, doorless: ApiWorld) -> None:
        port = doorless.at.port
        await every_route(doorless)
        attack = request("GET", "/api/chat/sessions", port, token=None)
        assert (await speak(port, attack)).status == 200


class TestABodyWithoutEnd:
    LIMIT = 16 * 1024 * 1024

    async def test_is_refused_by_what_it_declares(self, world: ApiWorld) -> None:
        port = world.at.port
        declared = (f"Content-Length: {self.LIMIT + 1}",)
        attack = request("POST", "/api/chat", port, headers=declared, body=b"")
        assert await status_of(port, attack) == 413
        assert_nothing_happened(world)

    async def test_is_refused_where_it_declares_nothing(self, world: ApiWorld) -> None:
        port = world.at.port
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        head = request("POST", "/api/chat", port, headers=("Transfer-Encoding: chunked",), body=b"")
        assert await status_of(port, head + chunk * (self.LIMIT // 0x10000 + 1)) == 413
        assert_nothing_happened(world)

    async def test_control_one_of_the_allowed_size_is_read(self, world: ApiWorld) -> None:
        port = world.at.port
        await every_route(world)
        body = b'{"message": "go"}'.ljust(self.LIMIT)
        assert await status_of(port, request("POST", "/api/chat", port, body=body)) == 200
        assert len(world.turns.asked) == 1


async def test_the_token_is_in_no_log_no_answer_and_no_database(
    world: ApiWorld, tmp_path: Path
) -> None:
    port = world.at.port
    world.turns.fails_with = RuntimeError("nobody foresaw this")
    said = b""
    with everything_logged() as log:
        for method, path in await every_route(world):
            for attack in (
                request(method, f"{path}?token={TOKEN}", port),
                request(method, path, port, token=TOKEN + "x"),
                request(method, path, port, host="evil.example"),
            ):
                if "/stream" in path and method == "GET":
                    assert await status_of(port, attack)
                    continue
                answer = await speak(port, attack)
                said += answer.head + answer.body
    assert TOKEN.encode() not in said
    assert "incident" in log.getvalue()
    assert TOKEN not in log.getvalue()
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or TOKEN.encode() not in file.read_bytes(), file
