"""Invariant 17: what has expired, was revoked or comes of such a thing opens nothing any more.

Each attack has its control: the same request by one who may.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from supervisor.access.codes import MOST_CODES
from supervisor.access.holder import OWNER, NotAllowed, Scope
from supervisor.access.keeper import Keeper, Record
from supervisor.access.logins import MOST_LOGINS
from supervisor.clock import Clock, Instant
from supervisor.storage.access import AccessStore
from supervisor.storage.database import Database
from supervisor.storage.timestamp import SystemClock
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.callers import client, token


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as made:
        yield made


async def unrecorded(*_: object) -> None:
    """No audit log."""


def a_keeper(
    db: Database, clock: Clock | None = None, *, owner: str = "owner", record: Record = unrecorded
) -> Keeper:
    """One that knows nothing yet, whose owner has this token."""
    return Keeper(owner, AccessStore(db), record, clock or SystemClock())


async def test_what_was_revoked_opens_nothing_nor_does_what_it_made(world: ApiWorld) -> None:
    token_id, secret = await token(world)
    async with client(world, secret) as http, client(world, TOKEN) as owner:
        child = (await http.post("/api/tokens", json={"name": "x", "scopes": ["chat"]})).json()[
            "token"
        ]
        code = (await http.post("/api/logins/codes", json={})).json()["code"]
        async with client(world, child) as made, client(world) as browser:
            assert (await made.get("/api/me")).status_code == 200
            login = await browser.post("/api/login", json={"code": code})
            assert login.status_code == 200
            page = {"X-CSRF-Token": login.json()["csrfToken"]}
            assert (await browser.get("/api/me", headers=page)).status_code == 200
            gone = await owner.request("DELETE", f"/api/tokens/{token_id}", json={})
            assert gone.json()["revokedAt"] is not None
            for each in (http, made, browser):
                assert (await each.get("/api/me")).status_code == 401


async def test_what_has_expired_opens_nothing(tmp_path: Path) -> None:
    now = [1_000_000.0]

    class Stands:
        def now(self) -> Instant:
            return Instant(now[0])

    async with Database(tmp_path / "access.db", "access") as db:
        keeper = a_keeper(db, Stands())
        _, secret = await keeper.make_token(OWNER, "x", [Scope.CHAT], None, 60)
        code, _ = await keeper.make_code(OWNER)
        assert keeper.bearer(secret) is not None
        now[0] += 59.9
        assert keeper.bearer(secret) is not None
        now[0] += 0.2
        assert keeper.bearer(secret) is None
        now[0] += 300
        assert await keeper.redeem(code) is None
        code, _ = await keeper.make_code(OWNER)
        made = await keeper.redeem(code)
        assert made is not None
        assert await keeper.login(made.cookie) is not None
        for _ in range(13):  # used each day: up to its last day
            now[0] += 11 * 3600
            assert await keeper.login(made.cookie) is not None
        now[0] += 3 * 86_400
        assert await keeper.login(made.cookie) is None


async def test_a_restart_forgets_none_and_brings_none_back(tmp_path: Path) -> None:
    class Stands:
        def now(self) -> Instant:
            return Instant(1_000_000.0)

    async with Database(tmp_path / "access.db", "access") as db:
        keeper = a_keeper(db, Stands())
        _, kept = await keeper.make_token(OWNER, "kept", [Scope.CHAT], ["a"], None)
        row, revoked = await keeper.make_token(OWNER, "revoked", [Scope.CHAT], None, None)
        await keeper.revoke(OWNER, row.id)
        code, _ = await keeper.make_code(OWNER)
        made = await keeper.redeem(code)
        assert made is not None
    stored = (tmp_path / "access.db").read_bytes()
    assert not any(
        each.encode() in stored for each in (kept, revoked, made.cookie, made.page_secret, code)
    )
    async with Database(tmp_path / "access.db", "access") as db:
        keeper = a_keeper(db, Stands())
        await keeper.load()
        found = keeper.bearer(kept)
        assert found is not None
        assert found.workspaces == {"a"}
        assert keeper.bearer(revoked) is None
        assert await keeper.login(made.cookie) is not None
        assert await keeper.redeem(code) is None


async def test_what_descends_from_a_token_ends_with_it_however_it_came_about(
    tmp_path: Path,
) -> None:
    failing: list[str] = []

    async def record(_: str, __: None, ___: None, body: Any) -> None:
        if failing and body["what"] == "token_revoked":
            raise OSError(failing.pop())

    async with Database(tmp_path / "access.db", "access") as db:
        keeper = a_keeper(db, record=record)
        first, secret = await keeper.make_token(OWNER, "a", list(Scope), None, None)
        holder = keeper.bearer(secret)
        assert holder is not None
        code, _ = await keeper.make_code(holder)
        login = await keeper.redeem(code)
        assert login is not None
        _, child = await keeper.make_token(login.holder, "b", [Scope.CHAT], None, None)
        code, _ = await keeper.make_code(login.holder)
        second = await keeper.redeem(code)
        assert second is not None
        waiting, _ = await keeper.make_code(second.holder)
        failing.append("the disk is full")
        with pytest.raises(OSError, match="full"):
            await keeper.revoke(OWNER, first.id)
        assert keeper.bearer(child) is not None, "the control: it was cut off in the middle"
        await keeper.revoke(OWNER, first.id)
        assert keeper.bearer(secret) is None
        assert keeper.bearer(child) is None
        assert await keeper.login(login.cookie) is None
        assert await keeper.login(second.cookie) is None
        assert await keeper.redeem(waiting) is None


async def test_what_a_login_made_ends_with_it(tmp_path: Path) -> None:
    async with Database(tmp_path / "access.db", "access") as db:
        keeper = a_keeper(db)
        code, _ = await keeper.make_code(OWNER)
        login = await keeper.redeem(code)
        assert login is not None
        _, child = await keeper.make_token(login.holder, "b", [Scope.CHAT], None, None)
        await keeper.log_out(OWNER, login.holder.id)
        assert keeper.bearer(child) is None
        with pytest.raises(NotAllowed):
            await keeper.make_token(login.holder, "c", [Scope.CHAT], None, None)


async def test_what_was_made_with_an_owners_token_that_was_replaced_has_ended(
    tmp_path: Path,
) -> None:
    async with Database(tmp_path / "access.db", "access") as db:
        keeper = a_keeper(db)
        _, secret = await keeper.make_token(OWNER, "a", [Scope.CHAT], None, None)
        code, _ = await keeper.make_code(OWNER)
        login = await keeper.redeem(code)
        assert login is not None
        for owner, counts in (("owner", True), ("another", False), ("owner", False)):
            again = a_keeper(db, owner=owner)
            await again.load()
            assert (again.bearer(secret) is not None) == counts
            assert (await again.login(login.cookie) is not None) == counts


async def test_logins_and_codes_are_bounded_by_the_token_that_they_come_of(tmp_path: Path) -> None:
    async with Database(tmp_path / "access.db", "access") as db:
        keeper = a_keeper(db)
        _, secret = await keeper.make_token(OWNER, "a", [Scope.CHAT], None, None)
        maker = keeper.bearer(secret)
        assert maker is not None
        owners, _ = await keeper.make_code(OWNER)
        for _ in range(MOST_LOGINS + 30):
            code, _ = await keeper.make_code(maker)
            made = await keeper.redeem(code)
            assert made is not None
            assert made.holder.payer == maker.payer
        assert len(keeper.logins()) == MOST_LOGINS
        codes = [(await keeper.make_code(maker))[0] for _ in range(MOST_CODES + 1)]
        assert await keeper.redeem(codes[0]) is None
        assert await keeper.redeem(owners) is not None, "nobody pushes out another's code"


async def test_a_body_that_comes_after_its_token_has_ended_changes_nothing(world: ApiWorld) -> None:
    token_id, secret = await token(world)
    body = b'{"name": "late", "scopes": ["admin"]}'
    lines = (
        "POST /api/tokens HTTP/1.1",
        f"Host: localhost:{world.at.port}",
        f"Authorization: Bearer {secret}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    for revoked, status in ((False, b" 201 "), (True, b" 401 ")):
        reader, writer = await asyncio.open_connection("127.0.0.1", world.at.port)
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body[:5])
        await writer.drain()
        async with client(world, TOKEN) as owner:
            await owner.get("/api/me")  # the head was read before this was answered
            if revoked:
                await owner.request("DELETE", f"/api/tokens/{token_id}", json={})
        writer.write(body[5:])
        await writer.drain()
        assert status in await reader.readline()
        writer.close()
        await writer.wait_closed()
    assert [row.name for row in world.parts.keeper.tokens()].count("late") == 1
