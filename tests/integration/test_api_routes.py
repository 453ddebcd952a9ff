"""What the routes give and change, beside streams."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.approvals.pending import TurnContext
from supervisor.ids import new_session_id, new_turn_id
from supervisor.observability.health import Check, Readiness
from supervisor.policy.call import ToolCall
from supervisor.storage.session import SessionCreate
from supervisor.storage.turns import Used
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.waiting import until


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The API on a port."""
    async with api_world(tmp_path) as made:
        yield made


async def test_health_says_that_it_lives_and_that_its_policy_is_in_force_and_nothing_more(
    world: ApiWorld,
) -> None:
    async with world.client(Authorization="") as client:
        said = (await client.get("/api/health")).json()
    assert said.keys() == {"status", "timestamp", "version", "policy"}
    assert said["status"] == "ok"
    assert said["policy"]["hash"] == world.parts.policy.current.hash
    assert said["policy"]["error"] is None


async def test_ready_tells_each_check_and_what_is_left(world: ApiWorld) -> None:
    async with world.client() as client:
        said = (await client.get("/api/ready")).json()
    assert said["ready"] is True
    assert said["checks"] == [
        {"name": "engine", "ok": True, "detail": "answers", "remedy": None, "needed": False}
    ]
    assert set(said["counts"].values()) == {0}


async def test_it_is_not_ready_where_every_turn_lacks_something_and_says_what(
    world: ApiWorld,
) -> None:
    lacking = Check("disk", ok=False, detail="0 MiB free", remedy="free space", needed=True)
    sandbox_only = Check("engine", ok=False, detail="gone", remedy="start it")

    async def readiness() -> Readiness:
        return Readiness(checks=(sandbox_only, lacking))

    world.inner.state.parts = replace(world.parts, readiness=readiness)
    async with world.client() as client:
        answer = await client.get("/api/ready")
        alive = await client.get("/api/health")
    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
    assert (answer.json()["where"], answer.json()["remedy"]) == ("disk", "free space")
    assert alive.status_code == 200


async def test_stats_sum_up_sessions_turns_and_what_they_spent(world: ApiWorld) -> None:
    one, two = await world.session(), await world.session()
    await world.sessions.add_spending(one, Used(70, 0.5))
    await world.sessions.add_spending(two, Used(30, 0.25))
    async with world.client() as client:
        said = (await client.get("/api/stats")).json()
    assert said["sessionsByTrust"] == {"sandboxed": 2}
    assert said["spentByModel"] == {"default": {"sessions": 2, "tokens": 100, "costUsd": 0.75}}
    assert (said["waiting"], said["grants"]) == ({"permissions": 0, "questions": 0}, 0)


async def test_sessions_come_in_pages_the_last_accessed_first(world: ApiWorld) -> None:
    made = [await world.session() for _ in range(5)]
    async with world.client() as client:
        first = (await client.get("/api/chat/sessions", params={"limit": 3})).json()
        page = {"limit": 3, "before": first["next"]}
        second = (await client.get("/api/chat/sessions", params=page)).json()
        one = (await client.get(f"/api/chat/session/{made[0]}")).json()
        wrong = await client.get("/api/chat/sessions", params={"before": "no cursor"})
    listed = [each["id"] for each in first["sessions"] + second["sessions"]]
    assert listed == made[::-1]
    assert second["next"] is None
    assert one == second["sessions"][-1] | {
        "before": None, "messages": [], "notes": [], "tags": []
    }  # fmt: skip
    assert one["trustLevel"] == "sandboxed"
    assert one["active"] is False
    assert wrong.status_code == 422


async def test_trust_is_told_with_its_trace_and_never_set_looser_than_a_floor(
    world: ApiWorld,
) -> None:
    session = await world.session()
    path = f"/api/sessions/{session}/trust"
    async with world.client() as client:
        looser = await client.put(path, json={"trustLevel": "full"})
        assert looser.status_code == 409
        assert looser.json()["where"] == "workspace:default"
        assert (await client.get(path)).json()["requested"] == "sandboxed"
        changed = (await client.put(path, json={"trust_level": "VAULT"})).json()
        assert changed["effective"] == "vault"
        assert changed["floors"] == [{"source": "workspace", "level": "vault", "name": "default"}]
        assert (await client.get(path)).json() == changed


class TestWorkspaces:
    async def test_one_is_made_replaced_and_listed(self, world: ApiWorld) -> None:
        async with world.client() as client:
            body = {"name": "Notes", "folder": "Notes", "floor": "sandboxed"}
            made = await client.put("/api/workspaces/notes", json=body)
            assert made.status_code == 200
            listed = (await client.get("/api/workspaces")).json()["workspaces"]
        assert [each["slug"] for each in listed] == ["default", "notes"]
        assert listed[1] == made.json()

    async def test_what_is_left_out_stays_as_it_is(self, world: ApiWorld) -> None:
        async with world.client() as client:
            body = {"name": "Notes", "folder": "Notes", "floor": "sandboxed"}
            await client.put("/api/workspaces/notes", json=body)
            for part in ({"name": "Other"}, {"folder": ""}, {"floor": "vault"}, {}):
                changed = await client.put("/api/workspaces/notes", json=part)
                assert changed.status_code == 200
                body = {**body, **part}
                assert {name: changed.json()[name] for name in body} == body
            renamed = await client.put("/api/workspaces/default", json={"name": "All"})
            assert renamed.json()["floor"] == "full"

    async def test_a_new_one_needs_a_floor_and_is_named_after_its_slug(
        self, world: ApiWorld
    ) -> None:
        async with world.client() as client:
            answer = await client.put("/api/workspaces/notes", json={"name": "Notes"})
            assert answer.status_code == 422
            assert answer.json()["where"] == "floor"
            assert "full, vault, sandboxed" in answer.json()["remedy"]
            made = await client.put("/api/workspaces/notes", json={"floor": "vault"})
            assert (made.json()["name"], made.json()["folder"]) == ("notes", "")

    async def test_one_is_removed_and_the_default_one_and_one_in_use_are_not(
        self, world: ApiWorld
    ) -> None:
        await world.parts.workspaces.put("used", floor=TrustLevel.SANDBOXED)
        session = SessionCreate(
            id=new_session_id(), trust_level=TrustLevel.SANDBOXED, workspace="used"
        )
        await world.sessions.create_session(session)
        kind = {"Content-Type": "application/json"}
        async with world.client(**kind) as client:
            await client.put("/api/workspaces/notes", json={"floor": "vault"})
            removed = await client.delete("/api/workspaces/notes")
            assert (removed.status_code, removed.content) == (204, b"")
            assert (await client.delete("/api/workspaces/notes")).status_code == 404
            for slug in ("default", "used"):
                assert (await client.delete(f"/api/workspaces/{slug}")).status_code == 422
            listed = (await client.get("/api/workspaces")).json()["workspaces"]
        assert [each["slug"] for each in listed] == ["default", "used"]

    async def test_a_changed_floor_is_held_against_the_turns_that_run(
        self, world: ApiWorld
    ) -> None:
        async with world.client() as client:
            body = {"name": "All", "floor": "sandboxed"}
            assert (await client.put("/api/workspaces/default", json=body)).status_code == 200
        assert world.turns.floors_checked == 1

    @pytest.mark.parametrize("folder", ["../x", "/etc", "~", "Nowhere", "leads-out", "a\nb"])
    async def test_a_folder_out_of_the_vault_or_missing_is_refused(
        self, world: ApiWorld, folder: str, tmp_path: Path
    ) -> None:
        (tmp_path / "vault" / "leads-out").symlink_to(tmp_path)
        async with world.client() as client:
            body = {"name": "n", "folder": folder, "floor": "vault"}
            answer = await client.put("/api/workspaces/notes", json=body)
            assert answer.status_code == 422
            assert answer.json()["where"] == "folder"
            listed = (await client.get("/api/workspaces")).json()["workspaces"]
        assert [each["slug"] for each in listed] == ["default"]

    @pytest.mark.parametrize("slug", ["Notes", "a_b", "-a", "x" * 64, "%20", "ü"])
    async def test_a_slug_that_is_none_is_refused(self, world: ApiWorld, slug: str) -> None:
        async with world.client() as client:
            answer = await client.put(f"/api/workspaces/{slug}", json={"floor": "vault"})
        assert answer.status_code == 422


class TestPermissions:
    @staticmethod
    def call() -> ToolCall:
        return ToolCall(
            tool="Bash",
            input={"command": "ls"},
            tool_use_id="toolu_1",
            level=TrustLevel.VAULT,
            as_seen_vault="/vault",
            as_seen_cwd="/vault",
        )

    async def ask(self, world: ApiWorld, group: asyncio.TaskGroup):  # type: ignore[no-untyped-def]
        turn = TurnContext(await world.session(), new_turn_id())
        asking = group.create_task(
            world.parts.approvals.ask(turn, self.call(), "rule", "reason", "bash")
        )
        await until(lambda: world.parts.approvals.pending(turn.session_id))
        return turn.session_id, asking

    async def test_one_that_waits_is_listed_and_granted_once(self, world: ApiWorld) -> None:
        async with world.client() as client, asyncio.TaskGroup() as group:
            session, asking = await self.ask(world, group)
            (listed,) = (await client.get("/api/permissions")).json()["permissions"]
            assert listed["sessionId"] == session
            assert listed["input"] == {"command": "ls"}
            other = await client.get("/api/permissions", params={"sessionId": "other"})
            assert other.json() == {"permissions": []}
            path = f"/api/permissions/{listed['id']}"
            wrong = await client.post(f"{path}/grant", json={"contentHash": "0" * 64})
            assert wrong.status_code == 422
            assert not asking.done()
            body = {"contentHash": listed["contentHash"]}
            granted = await client.post(f"{path}/grant", json=body)
            assert granted.json() == {
                "id": listed["id"],
                "decision": "granted",
                "scope": "once",
                "grants": [],
                "also": [],
            }
            assert (await asking).decision == "granted"
            assert (await client.post(f"{path}/deny", json={})).status_code == 409

    async def test_the_agent_is_told_why_one_is_denied(self, world: ApiWorld) -> None:
        async with world.client() as client, asyncio.TaskGroup() as group:
            _, asking = await self.ask(world, group)
            (listed,) = (await client.get("/api/permissions")).json()["permissions"]
            path = f"/api/permissions/{listed['id']}/deny"
            assert (await client.post(path, json={"message": "not now"})).status_code == 200
            assert (await asking).message == "not now"

    async def test_one_that_never_was_is_not_found(self, world: ApiWorld) -> None:
        async with world.client() as client:
            for path in ("permissions/req_0/grant", "permissions/req_0/deny"):
                assert (await client.post(f"/api/{path}", json={})).status_code == 404
            answers = {"answers": {"Which?": "this"}}
            path = "/api/questions/req_0/answer"
            assert (await client.post(path, json=answers)).status_code == 404
            path = "/api/questions/req_0/decline"
            assert (await client.post(path, json={})).status_code == 404


async def test_a_question_is_listed_and_answered_with_what_was_offered(world: ApiWorld) -> None:
    asked = {
        "questions": [
            {"question": "Which?", "options": [{"label": "this"}, {"label": "that"}]},
            {"question": "Why?", "options": [], "multiSelect": True},
        ]
    }
    turn = TurnContext(await world.session(), new_turn_id())
    async with world.client() as client, asyncio.TaskGroup() as group:
        asking = group.create_task(world.parts.questions.ask(turn, "toolu_1", asked))
        await until(world.parts.questions.pending)
        (listed,) = (await client.get("/api/questions")).json()["questions"]
        assert listed["sessionId"] == turn.session_id
        path = f"/api/questions/{listed['requestId']}/answer"
        wrong = {"answers": {"Which?": "neither", "Why?": {"other": "so"}}}
        assert (await client.post(path, json=wrong)).status_code == 422
        right = {"answers": {"Which?": "that", "Why?": [{"other": "so"}]}}
        assert (await client.post(path, json=right)).status_code == 200
        assert (await asking).answers == {"Which?": "that", "Why?": "so"}
        assert (await client.post(path, json=right)).status_code == 409


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "the person declined to answer"),
        ({"message": "nobody was there"}, "not answered: nobody was there"),
    ],
)
async def test_a_question_is_declined_at_once_and_the_agent_is_told(
    world: ApiWorld, body: dict[str, str], reason: str
) -> None:
    turn = TurnContext(await world.session(), new_turn_id())
    asked = {"questions": [{"question": "Which?", "options": [{"label": "this"}]}]}
    async with world.client() as client, asyncio.TaskGroup() as group:
        asking = group.create_task(world.parts.questions.ask(turn, "toolu_1", asked))
        await until(world.parts.questions.pending)
        (listed,) = (await client.get("/api/questions")).json()["questions"]
        path = f"/api/questions/{listed['requestId']}"
        long = await client.post(f"{path}/decline", json={"message": "x" * 10_001})
        assert long.status_code == 422
        declined = await client.post(f"{path}/decline", json=body)
        assert declined.json() == {"id": listed["requestId"], "decision": "declined"}
        replies = await asking
        assert (replies.answers, replies.reason) == (None, reason)
        late = await client.post(f"{path}/answer", json={"answers": {"Which?": "this"}})
        assert late.status_code == 409


async def test_a_wrong_value_is_refused_in_words_of_our_own(world: ApiWorld) -> None:
    cases: tuple[tuple[dict[str, object], str], ...] = (
        ({"message": "x", "trustLevel": "bogus"}, "trustLevel: use one of: full, vault, sandboxed"),
        (
            {"message": "x", "trustLevl": "full"},
            "trustLevl: there is no such field; did you mean `trustLevel`?",
        ),
        ({}, "message: it is missing"),
        ({"message": 5}, "message: text is expected"),
        ({"message": ""}, "message: it may not be empty"),
    )
    async with world.client() as client:
        for body, words in cases:
            answer = await client.post("/api/chat", json=body)
            assert answer.status_code == 422
            assert answer.json()["detail"] == words


async def test_an_unknown_session_and_workspace_come_with_a_way_on(world: ApiWorld) -> None:
    async with world.client(**{"Content-Type": "application/json"}) as client:
        session = await client.get("/api/chat/session/none")
        workspace = await client.delete("/api/workspaces/none")
    assert "GET /api/chat/sessions" in session.json()["remedy"]
    assert "GET /api/workspaces" in workspace.json()["remedy"]


async def test_a_floor_in_the_way_says_who_can_lower_it(world: ApiWorld) -> None:
    path = f"/api/sessions/{await world.session()}/trust"
    async with world.client() as client:
        refused = (await client.put(path, json={"trustLevel": "full"})).json()
    assert "whoever runs the supervisor" in refused["remedy"]
    assert "PUT /api/workspaces/default" in refused["remedy"]


async def test_a_request_that_is_refused_at_the_door_is_in_the_log(
    world: ApiWorld, caplog: pytest.LogCaptureFixture
) -> None:
    path = "/api/ready%1B[2J" + "x" * 1000
    async with world.client(Authorization="Bearer canary-of-a-wrong-token") as client:
        assert (await client.get("/api/ready", headers={"Origin": "https://evil.example"})).is_error
        assert (await client.get(path)).status_code == 400
    told = [record for record in caplog.records if record.message == "request refused"]
    assert [(each.levelname, each.fields["status"]) for each in told] == [  # type: ignore[attr-defined]
        ("WARNING", 403),
        ("WARNING", 400),
    ]
    assert len(told[1].fields["path"]) == 200  # type: ignore[attr-defined]
    assert "canary-of-a-wrong-token" not in caplog.text
