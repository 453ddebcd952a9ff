"""Those who call an API: by a token, by a browser's login, by nothing; and what is logged of it."""

import io
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any

import httpx

from supervisor.access.holder import OWNER, Scope
from tests.worlds.api import ApiWorld
from tests.worlds.http import PLAIN
from tests.worlds.waiting import A_WHILE

CHANGING = {"POST", "PUT", "PATCH", "DELETE"}
"""The methods that change something."""

_PLACES = ("request_id", "grant_id", "token_id", "login_id", "slug", "filename", "name")


def client(world: ApiWorld, secret: str | None = None, **headers: str) -> httpx.AsyncClient:
    """One who comes with this token, or with none."""
    auth = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    return httpx.AsyncClient(
        base_url=world.at.url,
        headers={**auth, **headers},
        timeout=A_WHILE,
        trust_env=False,
        verify=PLAIN,
    )


async def logged_in(world: ApiWorld) -> tuple[httpx.AsyncClient, str]:
    """A browser that has logged in, and what its own page sends along with changes."""
    code, _ = await world.parts.keeper.make_code(OWNER)
    browser = client(world)
    answer = await browser.post("/api/login", json={"code": code})
    assert answer.status_code == 200, answer.text
    return browser, answer.json()["csrfToken"]


@asynccontextmanager
async def browser(world: ApiWorld) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    """The same, closed when the block ends."""
    http, csrf = await logged_in(world)
    async with aclosing(http):
        yield http, csrf


async def status(http: httpx.AsyncClient, method: str, path: str, **more: Any) -> int:
    """The status of a request, without waiting for a stream's end."""
    async with http.stream(method, path, **more) as answer:
        return answer.status_code


async def asked(http: httpx.AsyncClient, method: str, path: str, **more: Any) -> int:
    """The same, with a body where the method wants one."""
    body: dict[str, Any] = {"json": {}} if method in CHANGING else {}
    return await status(http, method, path, **{**body, **more})


def filled(route: str, session: str = "none") -> tuple[str, str]:
    """The method and the path of a route, for this session; all else in it names nothing."""
    method, _, path = route.partition(" ")
    for name in _PLACES:
        path = path.replace(f"{{{name}}}", "none")
    return method, path.replace("{path}", "none.md").replace("{session_id}", session)


@contextmanager
def everything_logged() -> Iterator[io.StringIO]:
    """What the process would write as its log, at the most talkative level."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.addFilter(lambda record: not record.name.startswith(("httpx", "httpcore")))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield written
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


async def token(
    world: ApiWorld,
    *scopes: Scope,
    workspaces: list[str] | None = None,
    expires_in: float | None = None,
) -> tuple[str, str]:
    """A token's id and its secret."""
    row, secret = await world.parts.keeper.make_token(
        OWNER, "made by the test", scopes or tuple(Scope), workspaces, expires_in
    )
    return row.id, secret
