"""The audit log over HTTP: pages, filters, the check of it, and what a damaged one looks like."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from supervisor.observability.audit import AuditLog, Rotation
from supervisor.observability.audit_pages import Wanted
from tests.worlds.api import ApiWorld, api_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        yield world


async def page(client: httpx.AsyncClient, **query: Any) -> dict[str, Any]:
    answer = await client.get("/api/audit", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_entries_come_latest_first_page_by_page_and_by_filter(world: ApiWorld) -> None:
    audit = world.parts.audit
    for number in range(6):
        session = "one" if number % 2 else "two"
        await audit.append("decision", session, f"t{number}", {"rule": f"r{number % 3}"})
    await audit.append("mcp", None, None, {"what": "saved"})
    async with world.client() as client:
        first = await page(client, limit=3)
        assert [each["n"] for each in first["entries"]] == [7, 6, 5]
        second = await page(client, limit=50, before=first["next"])
        assert [each["n"] for each in second["entries"]] == [4, 3, 2, 1]
        assert second["next"] is None
        unknown = await client.get("/api/audit", params={"kind": "decisions"})
        assert (unknown.status_code, unknown.json()["where"]) == (422, "query.kind")
        assert unknown.json()["detail"].endswith("did you mean `decision`?")
        of_one = await page(client, session="one", kind="decision")
        assert [each["turnId"] for each in of_one["entries"]] == ["t5", "t3", "t1"]
        by_rule = await page(client, rule="r2")
        assert [each["n"] for each in by_rule["entries"]] == [6, 3]
        later = datetime.now(UTC) + timedelta(hours=1)
        assert (await page(client, since=later.isoformat()))["entries"] == []
        assert len((await page(client, until=later.isoformat()))["entries"]) == 7
        assert [each["n"] for each in (await page(client, turn="t0"))["entries"]] == [1]
        refused = await client.get("/api/audit", params={"limit": 501})
        assert refused.status_code == 422


@pytest.mark.parametrize("moment", ["0.5", "1780000000", "-1", "1e9"])
async def test_a_moment_is_given_in_words_and_never_as_a_number(
    world: ApiWorld, moment: str
) -> None:
    async with world.client() as client:
        for name in ("since", "until"):
            answer = await client.get("/api/audit", params={name: moment})
            assert answer.status_code == 422
            assert "2026-05-01T12:00:00Z" in answer.text


async def test_the_check_tells_the_head_and_holds_it_against_an_anchor(world: ApiWorld) -> None:
    audit = world.parts.audit
    for _ in range(3):
        await audit.append("decision", None, None, {})
    async with world.client() as client:
        report = (await client.get("/api/audit/verify")).json()
        assert (report["whole"], report["entries"], report["fault"]) == (True, 3, None)
        assert (report["head"]["n"], report["signed"]) == (3, "checked")
        anchor = "{n}:{hash}".format(**report["head"])
        await audit.append("decision", None, None, {})
        same = (await client.get("/api/audit/verify", params={"anchor": anchor})).json()
        assert same["whole"] is True
        other = (await client.get("/api/audit/verify", params={"anchor": f"3:{'0' * 64}"})).json()
        assert (other["whole"], other["fault"]["kind"]) == (False, "anchor")
        refused = await client.get("/api/audit/verify", params={"anchor": "3"})
        assert (refused.status_code, refused.json()["where"]) == (422, "anchor")


async def test_a_changed_line_is_told_with_its_place_and_still_shown(world: ApiWorld) -> None:
    audit = world.parts.audit
    for number in range(3):
        await audit.append("decision", None, None, {"number": number})
    text = audit.path.read_bytes().replace(b'"number":1', b'"number":9')
    audit.path.write_bytes(text.replace(b'{"n":3', b'no entry {"n":3'))
    async with world.client() as client:
        report = (await client.get("/api/audit/verify")).json()
        fault = report["fault"]
        assert (fault["file"], fault["line"], fault["kind"]) == ("audit.jsonl", 2, "edited")
        shown = await page(client)
        assert [each["n"] for each in shown["entries"]] == [2, 1]
        assert shown["damaged"] == 1


async def test_the_containers_that_run_are_told(world: ApiWorld) -> None:
    async with world.client() as client:
        told = (await client.get("/api/containers")).json()["containers"]
    assert [(each["sessionId"], each["turnId"], each["live"]) for each in told] == [
        ("s", "turn_1", True)
    ]


async def test_pages_go_over_all_files_and_find_their_place_in_long_ones(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    async with AuditLog(path, rotation=Rotation(400_000)) as audit:
        for number in range(300):
            body = {"big": "x" * (4_000 if number % 7 else 90_000)}
            await audit.append("odd" if number % 50 == 0 else "decision", None, None, body)
        last = audit.head.n
        seen: list[int] = []
        before = None
        while True:
            found = await audit.page(Wanted(), before=before, limit=17)
            seen += [each["n"] for each in found.entries]
            before = found.next
            if before is None:
                break
        assert seen == list(range(last, 0, -1))
        odd = await audit.page(Wanted(kind="odd"), before=None, limit=50)
        assert len(odd.entries) == 6
        for at in (2, 3, 100, 257, last):
            found = await audit.page(Wanted(), before=at, limit=1)
            assert [each["n"] for each in found.entries] == [at - 1]
        assert (await audit.examine()).whole
