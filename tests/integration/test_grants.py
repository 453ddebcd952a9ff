"""Grants over HTTP and with the real CLI: asked, granted, used, revoked, and asked again."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from supervisor.api.main import make_api
from supervisor.trust.levels import TrustLevel
from tests.worlds.audit import entries_in
from tests.worlds.grants import WARY
from tests.worlds.house import House, a_house, calls, is_a, prompt, step
from tests.worlds.http import listening
from tests.worlds.policy_world import SHIPPED
from tests.worlds.waiting import A_WHILE

pytestmark = pytest.mark.engine


@asynccontextmanager
async def wary_house(root: Path) -> AsyncIterator[tuple[House, httpx.AsyncClient]]:
    """A supervisor that asks about everything at `vault`, and a client of it; opened again, too."""
    policies = root / "policies"
    if not policies.exists():
        shutil.copytree(SHIPPED, policies, ignore=shutil.ignore_patterns("examples"))
        (policies / "wary.yaml").write_text(WARY)
    async with a_house(root, policies=policies) as house:
        headers = {"Authorization": f"Bearer {house.parts.token.get_secret_value()}"}
        async with (
            listening(make_api(house.parts)) as at,
            httpx.AsyncClient(base_url=at.url, headers=headers, timeout=A_WHILE) as client,
        ):
            yield house, client


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder with a short path, for sockets."""
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as folder:
        yield Path(folder)


def reads(house: House, *names: str) -> str:
    """A message that makes the agent read files, one after the other."""
    each = [calls(("Read", {"file_path": str(house.vault / name)})) for name in names]
    return prompt(*each, step("Done."))


def suggestion(request: dict[str, Any], pattern: str) -> str:
    (found,) = [each for each in request["suggestedGrants"] if each["pattern"] == pattern]
    return str(found["id"])


async def test_a_folder_is_granted_used_listed_revoked_and_asked_about_again(root: Path) -> None:
    async with wary_house(root) as (house, client):
        for name in ("one.md", "two.md"):
            (house.vault / "notes" / name).write_text(f"text of {name}\n")
        names = ("notes/today.md", "notes/one.md", "notes/two.md")
        turn = await house.send(
            reads(house, *names), TrustLevel.VAULT, until=is_a("permission_request")
        )
        request = turn.end
        assert request["filePath"].endswith("notes/today.md")
        (waiting,) = (await client.get("/api/permissions")).json()["permissions"]
        assert waiting["suggestedGrants"] == request["suggestedGrants"]
        chosen = suggestion(request, "notes/*")
        (found,) = [each for each in request["suggestedGrants"] if each["id"] == chosen]
        assert found["matches"] == 3
        granted = await client.post(
            f"/api/permissions/{request['id']}/grant",
            json={"contentHash": request["contentHash"], "suggestion": chosen, "expiresIn": 600},
        )
        assert granted.status_code == 200, granted.text
        (grant,) = granted.json()["grants"]
        assert (grant["scope"], grant["kind"], grant["pattern"], grant["trustLevel"]) == (
            "session", "read", "notes/*", "vault",
        )  # fmt: skip
        await turn.go_on()
        assert turn.end["type"] == "done"
        assert len(turn.of("permission_request")) == 1
        (resolved,) = turn.of("permission_resolved")
        assert resolved["scope"] == "session"
        assert [each["pattern"] for each in resolved["grants"]] == ["notes/*"]
        assert [f"text of {name}" in text for name, text in zip(
            ("one.md", "two.md"), turn.results()[1:], strict=True)] == [True, True]  # fmt: skip

        (listed,) = (await client.get("/api/grants", params={"sessionId": turn.session_id})).json()[
            "grants"
        ]
        assert listed == grant
        ended = await client.request("DELETE", f"/api/grants/{grant['id']}", json={})
        assert ended.status_code == 200, ended.text
        assert ended.json()["revokedBy"]
        assert (await client.get("/api/grants")).json() == {"grants": []}
        again = await house.send(
            reads(house, "notes/one.md"), session_id=turn.session_id, level=TrustLevel.VAULT,
            until=is_a("permission_request"),
        )  # fmt: skip
        assert again.end["type"] == "permission_request"
        await client.post(f"/api/permissions/{again.end['id']}/deny", json={})
        await again.go_on()
    assert [len(entries_in(root / "data", kind)) for kind in ("grant", "revoke")] == [1, 1]


async def test_a_session_s_grant_survives_a_restart_and_not_a_change_of_trust(root: Path) -> None:
    async with wary_house(root) as (house, client):
        turn = await house.send(
            reads(house, "notes/today.md"), TrustLevel.VAULT, until=is_a("permission_request")
        )
        path = f"/api/permissions/{turn.end['id']}/grant"
        answer = await client.post(
            path, json={"pattern": "notes/*.md", "contentHash": turn.end["contentHash"]}
        )
        assert answer.status_code == 200, answer.text
        await turn.go_on()
    async with wary_house(root) as (house, client):
        turn = await house.send(reads(house, "notes/today.md"), session_id=turn.session_id,
                                level=TrustLevel.VAULT)  # fmt: skip
        assert turn.of("permission_request") == []
        assert "oat milk" in turn.results()[0]
        for level in ("sandboxed", "vault"):
            changed = await client.put(
                f"/api/sessions/{turn.session_id}/trust", json={"trustLevel": level}
            )
            assert changed.status_code == 200, changed.text
        (ended,) = (await client.get("/api/grants", params={"ended": True})).json()["grants"]
        assert "trust level" in ended["revokedBy"]
        turn = await house.send(
            reads(house, "notes/today.md"), session_id=turn.session_id, level=TrustLevel.VAULT,
            until=is_a("permission_request"),
        )  # fmt: skip
        assert turn.end["type"] == "permission_request"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"suggestion": "s99"}, "suggestion"),
    ({"suggestion": ["s1"] * 13}, "suggestion"),
    ({"scope": "session"}, "suggestion"),
    ({"scope": "agent", "suggestion": "s1"}, "scope"),
    ({"scope": "for ever"}, "scope"),
    ({"pattern": "../*"}, "pattern"),
    ({"pattern": ".env"}, "pattern"),
    ({"pattern": "notes/*", "kind": "everything"}, "kind"),
    ({"suggestion": "s1", "expiresIn": -1}, "expiresIn"),
    ({"suggestion": "s1", "expiresIn": "soon"}, "expiresIn"),
    ({"suggestion": "s1", "contentHash": "0" * 64}, "contentHash"),
    ({"suggestion": "s1"}, "contentHash"),
    ({}, "contentHash"),
    ({"sugestion": "s1"}, "sugestion"),
]


async def test_a_wrong_grant_is_a_problem_that_names_its_field_and_leaves_all_as_it_was(
    root: Path,
) -> None:
    async with wary_house(root) as (house, client):
        turn = await house.send(
            reads(house, "notes/today.md"), TrustLevel.VAULT, until=is_a("permission_request")
        )
        for body, where in WRONG:
            answer = await client.post(f"/api/permissions/{turn.end['id']}/grant", json=body)
            assert answer.status_code == 422, answer.text
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["where"].split(".")[0] == where, body
        assert len((await client.get("/api/permissions")).json()["permissions"]) == 1
        assert (await client.get("/api/grants", params={"ended": True})).json() == {"grants": []}
        unknown = await client.request("DELETE", "/api/grants/grant_none", json={})
        assert (unknown.status_code, unknown.json()["where"]) == (404, "grant_none")
        await house.parts.conversations.abort(turn.session_id, "the test is over")
        await turn.go_on()
