"""Invariant 17 through the console's cookie: forms on other pages, and every stream there is.

The field's reports S23 to S25 again, with what a browser has instead of a token.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from supervisor.access.holder import OWNER, Scope
from supervisor.api.access import COOKIE
from supervisor.api.scopes import DEMANDS
from supervisor.ids import new_session_id
from supervisor.storage.session import SessionCreate
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.callers import CHANGING, browser, client, filled, status
from tests.worlds.waiting import SOON


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as made:
        yield made


def streams(world: ApiWorld, session: str) -> list[str]:
    """Every stream of the document that is read, for a session that there is."""
    found = [
        filled(f"GET {path}", session)[1]
        for path, item in world.openapi["paths"].items()
        if "text/event-stream"
        in item.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
    ]
    assert len(found) >= 3
    return found


async def test_a_form_with_the_consoles_cookie_changes_nothing(world: ApiWorld) -> None:
    routes = [filled(route) for route in DEMANDS if route.split()[0] in CHANGING]
    async with browser(world) as (http, csrf):
        before = (await http.get("/api/chat/sessions")).json()
        for method, path in routes:
            for kind in ("text/plain", "application/x-www-form-urlencoded", "text/json"):
                for origin in (world.at.url, "https://evil.example", "null"):
                    headers = {"Content-Type": kind, "Origin": origin}
                    sent = await status(
                        http, method, path, headers=headers, content=b'{"message":"go"}'
                    )
                    assert sent == (415 if origin == world.at.url else 403), (method, path, headers)
        assert not world.turns.asked
        assert not world.turns.aborted
        assert world.parts.keeper.tokens() == []
        assert (await http.get("/api/chat/sessions")).json() == before
        own = {"Origin": world.at.url, "X-CSRF-Token": csrf}
        good = await http.post("/api/tokens", json={"name": "x", "scopes": ["chat"]}, headers=own)
        assert good.status_code == 201  # the control: our own page


async def test_a_rebound_name_does_not_even_look_at_the_cookie(world: ApiWorld) -> None:
    async with browser(world) as (http, csrf):
        cookie = f"{COOKIE}={http.cookies[COOKIE]}"
    host = {"Host": f"evil.example:{world.at.port}"}
    async with httpx.AsyncClient(base_url=world.at.url, trust_env=False) as page:
        for route in DEMANDS:
            method, path = filled(route)
            body = b"{}" if method in CHANGING else None
            typed = {**host, "Content-Type": "application/json"} if body else host
            with_it, without = [
                await page.request(method, path, headers={**typed, **more}, content=body)
                for more in ({"Cookie": cookie, "X-CSRF-Token": csrf}, {})
            ]
            assert with_it.status_code == without.status_code == 421, route
            assert with_it.content == without.content
            assert "set-cookie" not in with_it.headers


async def test_no_stream_opens_for_what_does_not_count(world: ApiWorld) -> None:
    session = await world.session()
    keeper = world.parts.keeper
    row, revoked = await keeper.make_token(OWNER, "revoked", list(Scope), None, None)
    await keeper.revoke(OWNER, row.id)
    _, expired = await keeper.make_token(OWNER, "expired", list(Scope), None, 0.001)
    await asyncio.sleep(0.002)
    async with (
        browser(world) as (http, csrf),
        httpx.AsyncClient(base_url=world.at.url, trust_env=False) as nobody,
    ):
        page = {"X-CSRF-Token": csrf}
        for path in streams(world, session):
            for secret in ("wrong", revoked, expired):
                answer = await nobody.get(path, headers={"Authorization": f"Bearer {secret}"})
                assert answer.status_code == 401, path
                assert b"event:" not in answer.content
                assert "access-control-allow-origin" not in answer.headers
            for evil in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
                assert await status(http, "GET", path, headers={**page, **evil}) == 403
            assert await status(http, "GET", path) == 403  # the cookie alone, of another port
            assert await status(nobody, "GET", f"{path}?token={TOKEN}") == 401
            assert await status(http, "GET", path, headers=page) == 200  # the control: our page


async def test_every_stream_ends_soon_after_its_token(world: ApiWorld) -> None:
    session = await world.session()
    keeper = world.parts.keeper
    row, secret = await keeper.make_token(OWNER, "x", list(Scope), None, None)
    async with client(world, secret) as http, contextlib.AsyncExitStack() as stack:
        opened = []
        for path in streams(world, session):
            stream = await stack.enter_async_context(http.stream("GET", path))
            assert stream.status_code == 200
            opened.append(stream)
        await keeper.revoke(OWNER, row.id)
        async with asyncio.timeout(SOON):
            for stream in opened:
                async for _ in stream.aiter_bytes():
                    pass


async def test_no_stream_of_another_workspace_opens(world: ApiWorld) -> None:
    workspaces = world.parts.workspaces
    await workspaces.put("ours", name=None, folder="", floor=TrustLevel.FULL)
    session = new_session_id()
    await world.sessions.create_session(
        SessionCreate(id=session, trust_level=TrustLevel.SANDBOXED, workspace="default")
    )
    limited = await world.parts.keeper.make_token(OWNER, "x", list(Scope), ["ours"], None)
    async with client(world, limited[1]) as http, client(world, TOKEN) as owner:
        for path in streams(world, session):
            if session in path:
                assert await status(http, "GET", path) == 404, path
                assert await status(owner, "GET", path) == 200, path
