"""Invariant 17: a login is good for our own page only, and for no longer than it lasts.

Each attack has its control: the same request by one who may.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.access.holder import OWNER
from supervisor.api.access import COOKIE
from supervisor.api.scopes import DEMANDS
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.callers import CHANGING, asked, client, filled, logged_in
from tests.worlds.waiting import SOON


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as made:
        yield made


async def test_a_code_is_good_once_and_each_login_has_a_cookie_of_its_own(world: ApiWorld) -> None:
    code, _ = await world.parts.keeper.make_code(OWNER)
    planted = {COOKIE: "tfl_planted-by-somebody"}
    async with client(world) as http:
        http.cookies.update(planted)
        first = await http.post("/api/login", json={"code": code.lower()})
        assert first.status_code == 200
        cookie = first.headers["set-cookie"]
        assert "planted" not in cookie
        for said in ("HttpOnly", "SameSite=strict", "Path=/"):
            assert said in cookie
        again = await http.post("/api/login", json={"code": code})
        assert (again.status_code, again.json()["code"]) == (401, "wrong_code")
    other, _ = await world.parts.keeper.make_code(OWNER)
    async with client(world) as http:
        second = await http.post("/api/login", json={"code": other})
        assert second.headers["set-cookie"].split(";")[0] != cookie.split(";")[0]
    async with client(world, Cookie=f"{COOKIE}=tfl_planted-by-somebody") as http:
        assert (await http.get("/api/me")).status_code == 401


async def test_a_stolen_cookie_changes_nothing_from_elsewhere(world: ApiWorld) -> None:
    browser, csrf = await logged_in(world)
    own = {"Origin": world.at.url, "X-CSRF-Token": csrf}
    attacks: list[dict[str, str]] = [
        {},
        {"Origin": world.at.url},
        {"X-CSRF-Token": csrf},
        {**own, "X-CSRF-Token": "0" * 64},
        {**own, "X-CSRF-Token": ""},
        {**own, "Origin": "https://evil.example"},
        {**own, "Origin": "null"},
        {**own, "Sec-Fetch-Site": "cross-site"},
        {**own, "Sec-Fetch-Site": "same-site"},
    ]
    changing = [r for r in DEMANDS if r.split()[0] in CHANGING]
    async with contextlib.aclosing(browser):
        for route in changing:
            for headers in attacks:
                method, path = filled(route, "none")
                assert await asked(browser, method, path, headers=headers) == 403, (
                    route,
                    headers,
                )
        assert not world.turns.asked
        assert world.parts.keeper.tokens() == []
        assert (
            await asked(browser, "GET", "/api/me", headers={"Sec-Fetch-Site": "same-site"}) == 403
        )
        body = {"name": "x", "scopes": ["chat"]}
        good = await browser.post("/api/tokens", json=body, headers=own)
        assert good.status_code == 201


async def test_after_its_end_a_cookie_opens_nothing_and_its_streams_end(world: ApiWorld) -> None:
    browser, csrf = await logged_in(world)
    own = {"Origin": world.at.url, "X-CSRF-Token": csrf}
    async with contextlib.aclosing(browser):
        stolen = f"{COOKIE}={browser.cookies[COOKIE]}"
        async with client(world, Cookie=stolen, **{"X-CSRF-Token": csrf}) as thief:
            async with thief.stream("GET", "/api/events/stream") as stream:
                heard = stream.aiter_bytes()
                await anext(heard)
                ended = await browser.post("/api/logout", json={}, headers=own)
                assert ended.status_code == 200
                async with asyncio.timeout(SOON):
                    async for _ in heard:
                        pass
            assert (await thief.get("/api/me")).status_code == 401


async def test_a_wrong_token_beside_a_cookie_is_no_login_and_a_planted_one_hinders_none(
    world: ApiWorld,
) -> None:
    browser, csrf = await logged_in(world)
    page = {"X-CSRF-Token": csrf}
    async with contextlib.aclosing(browser):
        cookie = f"{COOKIE}={browser.cookies[COOKIE]}"
    for headers in (
        {"Cookie": cookie, "Authorization": "Bearer wrong"},
        {"Cookie": cookie, "Authorization": "Basic eDp5"},
        {"Cookie": cookie.upper()},
    ):
        async with client(world, **page, **headers) as http:
            assert (await http.get("/api/me")).status_code == 401, headers
    for good in (cookie, f"{COOKIE}=planted; {cookie}", f"{cookie}; {COOKIE}=planted"):
        async with client(world, Cookie=good, **page) as http:
            assert (await http.get("/api/me")).status_code == 200
