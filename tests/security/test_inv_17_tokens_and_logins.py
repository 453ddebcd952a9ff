"""Invariant 17: a token opens what its scopes and workspaces say, a login only our own page.

Each attack has its control: the same request by one who may.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from supervisor.access.codes import MOST_CODES
from supervisor.access.holder import OWNER, NotAllowed, Scope
from supervisor.access.keeper import Keeper
from supervisor.access.logins import MOST_LOGINS
from supervisor.api.access import COOKIE
from supervisor.api.scopes import DEMANDS
from supervisor.clock import Instant
from supervisor.ids import SessionId, new_session_id
from supervisor.storage.access import AccessStore
from supervisor.storage.database import Database
from supervisor.storage.session import SessionCreate
from supervisor.storage.timestamp import SystemClock
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import TOKEN, ApiWorld, api_world, done, text
from tests.worlds.callers import CHANGING, asked, client, everything_logged, filled, logged_in
from tests.worlds.waiting import SOON, until


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as made:
        yield made


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


class TestScopes:
    async def test_a_token_opens_exactly_the_routes_of_its_scopes(self, world: ApiWorld) -> None:
        session = await world.session()
        world.turns.script = [text("x"), done(session)]
        for scope in Scope:
            _, secret = await token(world, scope)
            async with client(world, secret) as http:
                for route, demand in DEMANDS.items():
                    status = await asked(http, *filled(route, session))
                    if route == "POST /api/logout":
                        assert status == 403
                    elif scope in demand.scopes:
                        assert status not in {401, 403}, (scope, route)
                    else:
                        assert status == 403, (scope, route)

    async def test_a_token_makes_none_that_reaches_further_or_lasts_longer(
        self, world: ApiWorld
    ) -> None:
        _, secret = await token(world, Scope.ADMIN, expires_in=3600)
        async with client(world, secret) as http:
            more = await http.post("/api/tokens", json={"name": "x", "scopes": ["admin", "chat"]})
            assert (more.status_code, more.json()["where"]) == (403, "chat")
            kept = await http.post("/api/tokens", json={"name": "x", "scopes": ["admin"]})
            assert kept.status_code == 201
            assert kept.json()["expiresAt"] is not None
            longer = await http.post(
                "/api/tokens", json={"name": "x", "scopes": ["admin"], "expiresIn": 7200}
            )
            assert longer.json()["expiresAt"] == kept.json()["expiresAt"]

    async def test_what_was_revoked_opens_nothing_nor_does_what_it_made(
        self, world: ApiWorld
    ) -> None:
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

    async def test_what_has_expired_opens_nothing(self, tmp_path: Path) -> None:
        now = [1_000_000.0]

        class Stands:
            def now(self) -> Instant:
                return Instant(now[0])

        async def record(*_: object) -> None:
            pass

        async with Database(tmp_path / "access.db", "access") as db:
            keeper = Keeper("owner", AccessStore(db), record, Stands())
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

    async def test_a_restart_forgets_none_and_brings_none_back(self, tmp_path: Path) -> None:
        async def record(*_: object) -> None:
            pass

        class Clock:
            def now(self) -> Instant:
                return Instant(1_000_000.0)

        async with Database(tmp_path / "access.db", "access") as db:
            keeper = Keeper("owner", AccessStore(db), record, Clock())
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
            keeper = Keeper("owner", AccessStore(db), record, Clock())
            await keeper.load()
            found = keeper.bearer(kept)
            assert found is not None
            assert found.workspaces == {"a"}
            assert keeper.bearer(revoked) is None
            assert await keeper.login(made.cookie) is not None
            assert await keeper.redeem(code) is None

    async def test_what_descends_from_a_token_ends_with_it_however_it_came_about(
        self, tmp_path: Path
    ) -> None:
        failing: list[str] = []

        async def record(_: str, __: None, ___: None, body: Any) -> None:
            if failing and body["what"] == "token_revoked":
                raise OSError(failing.pop())

        async with Database(tmp_path / "access.db", "access") as db:
            keeper = Keeper("owner", AccessStore(db), record, SystemClock())
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

    async def test_what_a_login_made_ends_with_it(self, tmp_path: Path) -> None:
        async def record(*_: object) -> None:
            pass

        async with Database(tmp_path / "access.db", "access") as db:
            keeper = Keeper("owner", AccessStore(db), record, SystemClock())
            code, _ = await keeper.make_code(OWNER)
            login = await keeper.redeem(code)
            assert login is not None
            _, child = await keeper.make_token(login.holder, "b", [Scope.CHAT], None, None)
            await keeper.log_out(OWNER, login.holder.id)
            assert keeper.bearer(child) is None
            with pytest.raises(NotAllowed):
                await keeper.make_token(login.holder, "c", [Scope.CHAT], None, None)

    async def test_what_was_made_with_an_owners_token_that_was_replaced_has_ended(
        self, tmp_path: Path
    ) -> None:
        async def record(*_: object) -> None:
            pass

        async with Database(tmp_path / "access.db", "access") as db:
            keeper = Keeper("owner", AccessStore(db), record, SystemClock())
            _, secret = await keeper.make_token(OWNER, "a", [Scope.CHAT], None, None)
            code, _ = await keeper.make_code(OWNER)
            login = await keeper.redeem(code)
            assert login is not None
            for owner, counts in (("owner", True), ("another", False), ("owner", False)):
                again = Keeper(owner, AccessStore(db), record, SystemClock())
                await again.load()
                assert (again.bearer(secret) is not None) == counts
                assert (await again.login(login.cookie) is not None) == counts

    async def test_logins_and_codes_are_bounded_by_the_token_that_they_come_of(
        self, tmp_path: Path
    ) -> None:
        async def record(*_: object) -> None:
            pass

        async with Database(tmp_path / "access.db", "access") as db:
            keeper = Keeper("owner", AccessStore(db), record, SystemClock())
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

    async def test_a_body_that_comes_after_its_token_has_ended_changes_nothing(
        self, world: ApiWorld
    ) -> None:
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

    @pytest.mark.parametrize("tail", ["%0A", "%0a", "%0D", "%00", "%7F"])
    async def test_no_path_is_one_route_to_the_table_and_another_to_the_router(
        self, world: ApiWorld, tail: str
    ) -> None:
        session = await world.session()
        async with client(world, TOKEN) as http:
            for route in DEMANDS:
                method, path = filled(route, session)
                assert await asked(http, method, path + tail) == 400, route


class TestWorkspaces:
    @pytest.fixture
    async def others(self, world: ApiWorld) -> SessionId:
        """A session of a workspace that the limited token isn't for."""
        await world.parts.workspaces.put("theirs", name=None, folder="", floor=TrustLevel.FULL)
        await world.parts.workspaces.put("ours", name=None, folder="", floor=TrustLevel.FULL)
        session_id = new_session_id()
        await world.sessions.create_session(
            SessionCreate(id=session_id, trust_level=TrustLevel.SANDBOXED, workspace="theirs")
        )
        return session_id

    async def test_the_sessions_of_others_are_not_there(
        self, world: ApiWorld, others: SessionId
    ) -> None:
        _, secret = await token(world, workspaces=["ours"])
        routes = [route for route in DEMANDS if "{session_id}" in route]
        assert len(routes) > 8
        async with client(world, secret) as http:
            for route in routes:
                method, path = filled(route, others)
                body: Any = {"trustLevel": "full"} if path.endswith("/trust") else {}
                body = {"folders": []} if path.endswith("/contexts") else body
                more = {"json": body} if method in CHANGING else {}
                assert await asked(http, method, path, **more) == 404, route
            body = {"sessionId": others}
            assert await asked(http, "DELETE", "/api/chat/session", json=body) == 404
            message = {"message": "hello", "sessionId": others}
            for path in ("/api/chat", "/api/chat/stream"):
                assert await asked(http, "POST", path, json=message) == 404
                elsewhere = {"message": "hello", "workspace": "theirs"}
                assert await asked(http, "POST", path, json=elsewhere) == 404
                assert await asked(http, "POST", path, json={"message": "hello"}) == 404
            assert not world.turns.asked
            for path in ("/api/events", "/api/events/stream"):
                assert await asked(http, "GET", f"{path}?session={others}") == 404
            listed = (await http.get("/api/chat/sessions")).json()["sessions"]
            assert listed == []
            named = (await http.get("/api/chat/sessions?workspace=theirs")).json()["sessions"]
            assert named == []
            slugs = [w["slug"] for w in (await http.get("/api/workspaces")).json()["workspaces"]]
            assert slugs == ["ours"]
        async with client(world, TOKEN) as owner:
            assert len((await owner.get("/api/chat/sessions")).json()["sessions"]) == 1

    async def test_events_of_others_are_in_no_page_and_no_stream(
        self, world: ApiWorld, others: SessionId
    ) -> None:
        _, secret = await token(world, workspaces=["ours"])
        world.turns.script = [text("a secret of theirs"), done(others)]
        async with (
            client(world, secret) as http,
            client(world, TOKEN) as owner,
            http.stream("GET", "/api/events/stream?after=0&type=done") as stream,
        ):
            heard = stream.aiter_text()
            await anext(heard)
            message = {"message": "x", "sessionId": others}
            assert await asked(owner, "POST", "/api/chat", json=message) == 200
            page = (await http.get("/api/events?type=done&type=text")).json()
            assert page["events"] == []
            whole = (await owner.get("/api/events?type=done&type=text")).json()
            assert len(whole["events"]) == 2
            own = new_session_id()
            await world.sessions.create_session(
                SessionCreate(id=own, trust_level=TrustLevel.SANDBOXED, workspace="ours")
            )
            world.turns.script = [done(own, "of our own")]
            message = {"message": "x", "sessionId": own}
            assert await asked(http, "POST", "/api/chat", json=message) == 200
            seen = ""
            while "of our own" not in seen:
                seen += await anext(heard)
            assert others not in seen

    async def test_what_is_of_the_whole_vault_is_refused(self, world: ApiWorld) -> None:
        _, secret = await token(world, workspaces=["default"])
        async with client(world, secret) as http, client(world, TOKEN) as owner:
            for route, demand in DEMANDS.items():
                if not demand.whole:
                    continue
                method, path = filled(route, "none")
                assert await asked(http, method, path) == 403, route
                assert await asked(owner, method, path) != 403, route


class TestStreams:
    @pytest.mark.parametrize("path", ["/api/chat/session/{}/stream", "/api/events/stream"])
    async def test_an_open_one_ends_soon_after_its_token(self, world: ApiWorld, path: str) -> None:
        session = await world.session()
        token_id, secret = await token(world)
        async with client(world, secret) as http, client(world, TOKEN) as owner:
            async with http.stream("GET", path.format(session)) as stream:
                assert stream.status_code == 200
                heard = stream.aiter_bytes()
                await anext(heard)
                await owner.request("DELETE", f"/api/tokens/{token_id}", json={})
                async with asyncio.timeout(SOON):
                    async for _ in heard:
                        pass
            assert await asked(http, "GET", path.format(session)) == 401

    async def test_an_open_one_ends_when_its_token_expires(self, world: ApiWorld) -> None:
        session = await world.session()
        _, secret = await token(world, expires_in=1.0)
        async with (
            client(world, secret) as http,
            http.stream("GET", f"/api/chat/session/{session}/stream") as stream,
        ):
            assert stream.status_code == 200
            async with asyncio.timeout(SOON):
                async for _ in stream.aiter_bytes():
                    pass

    async def test_an_answer_that_waits_for_a_turn_is_not_given_to_a_token_that_ended(
        self, world: ApiWorld
    ) -> None:
        session = await world.session()
        token_id, secret = await token(world)
        async with client(world, secret) as http, client(world, TOKEN) as owner:
            waiting = asyncio.ensure_future(
                http.post("/api/chat", json={"message": "x", "sessionId": session})
            )
            await until(lambda: world.turns.running)
            await owner.request("DELETE", f"/api/tokens/{token_id}", json={})
            answer = await asyncio.wait_for(waiting, SOON)
            assert answer.status_code == 401
            await world.turns.say(session, done(session, "a secret"))
            assert world.turns.aborted == []


class TestLogins:
    async def test_a_code_is_good_once_and_each_login_has_a_cookie_of_its_own(
        self, world: ApiWorld
    ) -> None:
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

    async def test_a_stolen_cookie_changes_nothing_from_elsewhere(self, world: ApiWorld) -> None:
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
                await asked(browser, "GET", "/api/me", headers={"Sec-Fetch-Site": "same-site"})
                == 403
            )
            body = {"name": "x", "scopes": ["chat"]}
            good = await browser.post("/api/tokens", json=body, headers=own)
            assert good.status_code == 201

    async def test_after_its_end_a_cookie_opens_nothing_and_its_streams_end(
        self, world: ApiWorld
    ) -> None:
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
        self, world: ApiWorld
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


async def test_no_secret_of_anybody_is_logged_stored_or_told_again(
    world: ApiWorld, tmp_path: Path
) -> None:
    with everything_logged() as log:
        _, secret = await token(world)
        code, _ = await world.parts.keeper.make_code(OWNER)
        async with client(world) as http, client(world, secret) as bearer:
            assert (await http.post("/api/login", json={"code": code})).status_code == 200
            cookie = http.cookies[COOKIE]
            told = [
                (await bearer.get(path)).text
                for path in ("/api/tokens", "/api/logins", "/api/me", "/api/nothing", "/api/events")
            ]
            wrong = await http.get("/api/me", headers={"Authorization": f"Bearer {secret}x"})
            assert wrong.status_code == 401
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for each in (secret, cookie, code, code.replace("-", "")):
        assert each not in log.getvalue()
        assert not any(each in answer for answer in told)
        assert not any(each.encode() in content for content in files)
