"""The console's files as a browser gets them: which there are, as what, for how long, to whom."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from supervisor.console.site import FOLDER, POLICY, TYPES
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.http import speak

WITHIN = "start.js"
"""Stands in the page, and is no file of its own to a browser."""
FILES = sorted(
    path.relative_to(FOLDER).as_posix()
    for path in FOLDER.rglob("*")
    if path.is_file() and path.name != WITHIN
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The API on a port."""
    async with api_world(tmp_path) as made:
        yield made


@pytest.fixture
async def stranger(world: ApiWorld) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a token."""
    async with httpx.AsyncClient(base_url=world.at.url, trust_env=False) as client:
        yield client


async def root_of(client: httpx.AsyncClient) -> str:
    """Where the page says that its files are."""
    page = (await client.get("/")).text
    (root,) = set(re.findall(r'"(/console/[0-9a-f]{16}/)', page))
    return str(root)


async def test_every_file_is_served_as_what_it_is_with_the_strict_policy(
    stranger: httpx.AsyncClient,
) -> None:
    root = await root_of(stranger)
    for name in FILES:
        path = "/" if name == "index.html" else root + name
        answer = await stranger.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["content-type"] == TYPES[Path(name).suffix]
        policies = answer.headers.get_list("content-security-policy")
        assert [re.sub(r" 'sha256-[^']+'", "", policy) for policy in policies] == [POLICY]
        assert ("sha256-" in policies[0]) == (path == "/")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "set-cookie" not in answer.headers
        if name != "index.html":
            assert answer.content == (FOLDER / name).read_bytes()


async def test_the_page_is_asked_for_anew_and_its_files_are_kept_for_good(
    stranger: httpx.AsyncClient,
) -> None:
    page = await stranger.get("/")
    script = await stranger.get(f"{await root_of(stranger)}main.js")
    assert page.headers["cache-control"] == "no-cache"
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    for answer in (page, script):
        tag = answer.headers["etag"]
        assert re.fullmatch(r'"[0-9a-f]{32}"', tag)
        path = answer.request.url.path
        for known in (tag, f'"other", {tag}', f"W/{tag}", "*"):
            again = await stranger.get(path, headers={"If-None-Match": known})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == tag
        other = await stranger.get(path, headers={"If-None-Match": '"other"'})
        assert other.status_code == 200


async def test_head_tells_the_same_without_the_file(stranger: httpx.AsyncClient) -> None:
    for path in ("/", f"{await root_of(stranger)}main.js"):
        whole, head = await stranger.get(path), await stranger.head(path)
        assert head.status_code == 200
        assert head.content == b""
        for name in ("content-length", "content-type", "etag", "content-security-policy"):
            assert head.headers[name] == whole.headers[name]


@pytest.mark.parametrize(
    "path",
    [
        "../site.py",
        "%2e%2e/site.py",
        "..%2fsite.py",
        "views/../../site.py",
        "views/%2e%2e/main.js",
        "./main.js",
        "/main.js",
        "main.js/",
        "MAIN.JS",
        "views",
        "views/",
        "index.html",
        "start.js",
        "",
        "site.py",
    ],
)
async def test_no_other_path_leads_to_a_file(
    world: ApiWorld, stranger: httpx.AsyncClient, path: str
) -> None:
    root = await root_of(stranger)
    line = f"GET {root}{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    answer = await speak(world.at.port, f"{line}\r\n".encode())
    assert answer.status == 401, answer.head
    holder = f"{line}Authorization: Bearer {TOKEN}\r\n\r\n".encode()
    assert (await speak(world.at.port, holder)).status == 404


async def test_the_files_of_another_version_are_not_there(stranger: httpx.AsyncClient) -> None:
    assert (await stranger.get("/console/0123456789abcdef/main.js")).status_code == 401
    assert (await stranger.get("/console/main.js")).status_code == 401


async def test_a_foreign_name_or_page_gets_no_file_either(
    world: ApiWorld, stranger: httpx.AsyncClient
) -> None:
    for path in ("/", f"{await root_of(stranger)}main.js"):
        rebound = await stranger.get(path, headers={"Host": f"evil.example:{world.at.port}"})
        assert rebound.status_code == 421
        other = await stranger.get(path, headers={"Origin": "https://evil.example"})
        assert other.status_code == 403
        for method in ("POST", "PUT", "DELETE"):
            kind = {"Content-Type": "application/json"}
            assert (await stranger.request(method, path, headers=kind)).status_code == 401


async def test_answers_of_the_api_keep_their_own_policy(world: ApiWorld) -> None:
    async with world.client() as friend:
        answer = await friend.get("/api/workspaces")
    assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert answer.headers["cache-control"] == "no-store"
