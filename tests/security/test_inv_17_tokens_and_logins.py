"""Invariant 17: a token opens what its scopes and workspaces say, and nobody is told one again.

Each attack has its control: the same request by one who may.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from supervisor.access.holder import OWNER, Scope
from supervisor.api.access import COOKIE
from supervisor.api.scopes import DEMANDS
from supervisor.ids import SessionId, new_session_id
from supervisor.storage.session import SessionCreate
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.callers import CHANGING, asked, client, everything_logged, filled, token
from tests.worlds.played_turns import done, text
from tests.worlds.waiting import SOON, until


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as made:
        yield made


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
