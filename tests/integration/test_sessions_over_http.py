"""Sessions over HTTP with the real CLI: read, renamed, tagged, put away, deleted."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import httpx
import pytest

from supervisor.api.main import make_api
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, a_house, bash, is_a, prompt, step
from tests.worlds.http import listening
from tests.worlds.waiting import A_WHILE

pytestmark = pytest.mark.engine


@asynccontextmanager
async def a_client() -> AsyncIterator[tuple[House, httpx.AsyncClient]]:
    async with a_house() as house:
        headers = {"Authorization": f"Bearer {house.parts.token.get_secret_value()}"}
        async with (
            listening(make_api(house.parts)) as at,
            httpx.AsyncClient(base_url=at.url, headers=headers, timeout=A_WHILE) as client,
        ):
            yield house, client


async def test_what_was_said_on_both_sides_is_read_as_one_and_in_pages() -> None:
    async with a_client() as (house, client):
        first = await house.send(
            prompt(bash("echo from-the-tool"), step("ANSWER-ONE"), words="ask-one"),
            TrustLevel.FULL,
        )
        path = f"/api/chat/session/{first.session_id}"
        await house.send(
            prompt(step("ANSWER-TWO"), words="ask-two"), TrustLevel.SANDBOXED,
            session_id=first.session_id,
        )  # fmt: skip
        said = await client.get(path)
        assert said.status_code == 200
        found = said.json()
        words = [each["content"] for each in found["messages"]]
        assert "ask-one" in words[0]
        assert words[-1] == "ANSWER-TWO"
        assert "ANSWER-ONE" in words
        blocks = [block for each in found["messages"] for block in each["blocks"]]
        assert "tool_use" in [block["type"] for block in blocks]
        assert any("from-the-tool" in block.get("content", "") for block in blocks)
        assert found["before"] is None

        pages: list[str] = []
        before: str | None = None
        while True:
            query: dict[str, str] = {"limit": "1", **({"before": before} if before else {})}
            page = (await client.get(path, params=query)).json()
            pages = [each["content"] for each in page["messages"]] + pages
            before = page["before"]
            if before is None:
                break
        assert pages == words

        unchanged = await client.get(path, headers={"If-None-Match": said.headers["etag"]})
        assert (unchanged.status_code, unchanged.content) == (304, b"")


async def test_a_session_is_renamed_tagged_put_away_and_found_by_what_it_is() -> None:
    async with a_client() as (house, client):
        turn = await house.send(prompt(step("hi")), TrustLevel.FULL)
        path = f"/api/chat/session/{turn.session_id}"
        changed = await client.patch(path, json={"title": "May", "tags": ["Plans", "home"]})
        assert changed.json()["title"] == "May"
        assert (await client.get(path)).json()["tags"] == ["home", "plans"]
        assert changed.json()["tags"] == ["home", "plans"]
        (row,) = (await client.get("/api/chat/sessions")).json()["sessions"]
        assert row["tags"] == ["home", "plans"]
        for tag, found in (("PLANS", 1), ("nobody", 0)):
            listed = (await client.get("/api/chat/sessions", params={"tag": tag})).json()
            assert len(listed["sessions"]) == found
        await client.patch(path, json={"tags": ["plans"]})
        for body, field in (
            ({"title": ""}, "title"),
            ({"title": " \n\u00a0"}, "title"),
            ({"title": "x", "tags": ["plans", " "]}, "tags.1"),
        ):
            refused = await client.patch(path, json=body)
            assert refused.status_code == 422, body
            assert refused.json()["errors"] == [{"field": field, "detail": "it may not be empty"}]
        assert (await client.get(path)).json()["tags"] == ["plans"]
        assert (await client.get(path)).json()["title"] == "May"

        assert (await client.post(f"{path}/archive", json={})).json()["archived"] is True
        listed = (await client.get("/api/chat/sessions?archived=false")).json()["sessions"]
        assert listed == []
        counts = (await client.get("/api/stats")).json()["sessions"]
        assert counts == {"total": 1, "active": 0, "archived": 1, "running": 0}
        assert (await client.post(f"{path}/unarchive", json={})).json()["archived"] is False
        of_default = (await client.get("/api/chat/sessions?workspace=default")).json()["sessions"]
        assert [each["id"] for each in of_default] == [turn.session_id]
        assert (await client.get("/api/chat/sessions?workspace=none")).json()["sessions"] == []


async def test_a_deleted_session_is_gone_with_its_events_and_if_asked_its_transcript() -> None:
    async with a_client() as (house, client):
        turn = await house.send(prompt(step("hi")), TrustLevel.FULL)
        transcript = next(house.vault.rglob(f"{turn.session_id}.jsonl"))
        path = f"/api/chat/session/{turn.session_id}"
        gone = await client.request("DELETE", f"{path}?transcript=true", json={})
        assert gone.json() == {
            "id": turn.session_id,
            "deleted": True,
            "transcriptDeleted": True,
        }
        assert not transcript.exists()
        assert (await client.get(path)).status_code == 404
        assert await house.parts.log.of_types(turn.session_id, ["user_message", "done"]) == []

        other = await house.send(prompt(step("hi")), TrustLevel.FULL)
        kept = next(house.vault.rglob(f"{other.session_id}.jsonl"))
        legacy = await client.request(
            "DELETE", "/api/chat/session", json={"sessionId": other.session_id}
        )
        assert legacy.status_code == 200
        assert kept.exists()


async def test_a_deletion_that_breaks_off_is_brought_to_its_end_by_asking_again() -> None:
    async with a_client() as (house, client):
        turn = await house.send(prompt(step("hi")), TrustLevel.FULL)
        transcript = next(house.vault.rglob(f"{turn.session_id}.jsonl"))
        path = f"/api/chat/session/{turn.session_id}"
        events = house.parts.settings.data_dir / "events.db"
        with closing(sqlite3.connect(events, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            refused = await client.request("DELETE", f"{path}?transcript=true", json={})
            assert refused.json()["code"] == "storage_busy"
        folder = transcript.parent.rename(house.vault / "elsewhere")
        transcript.parent.symlink_to(folder)
        refused = await client.request("DELETE", f"{path}?transcript=true", json={})
        assert refused.status_code >= 400
        transcript.parent.unlink()
        folder.rename(transcript.parent)
        gone = await client.request("DELETE", f"{path}?transcript=true", json={})
        assert gone.json()["transcriptDeleted"] is True
        assert not transcript.exists()
        assert (await client.get(path)).status_code == 404
        assert await house.parts.log.of_types(turn.session_id, ["user_message", "done"]) == []


async def test_while_a_turn_runs_a_session_is_not_deleted() -> None:
    async with a_client() as (house, client):
        turn = await house.send(
            prompt(bash("sleep 0.1; env; sleep 600"), step("hi")), TrustLevel.FULL,
            until=is_a("tool_use"),
        )  # fmt: skip
        path = f"/api/chat/session/{turn.session_id}"
        refused = await client.request("DELETE", path, json={})
        assert refused.status_code == 409
        assert (await client.get(path)).status_code == 200
        await client.post(f"{path}/abort", json={})
        await turn.go_on()
        assert turn.end["type"] == "aborted"


async def test_bad_cursors_limits_and_titles_are_refused() -> None:
    async with a_client() as (house, client):
        turn = await house.send(prompt(step("hi")), TrustLevel.FULL)
        path = f"/api/chat/session/{turn.session_id}"
        for query in ("limit=501", "limit=-1", "before=x", "before=1"):
            assert (await client.get(f"{path}?{query}")).status_code == 422, query
        for body in ({"titel": "x"}, {"title": "x" * 501}, {"tags": ["\0"]}, {"tags": "x"}):
            assert (await client.patch(path, json=body)).status_code == 422, body
