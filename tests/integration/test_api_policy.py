"""The policy over the API: its rules, its mistakes, and why a call is judged as it is."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from supervisor.policy.session_permissions import SessionPermissions
from supervisor.storage.session import SessionUpdate
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import ApiWorld, api_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as made:
        (made.parts.settings.vault / ".env").write_text("API_KEY=fake-not-a-secret\n")
        (made.parts.settings.vault / "Notes" / "a.md").write_text("a note\n")
        yield made


async def explained(world: ApiWorld, **body: Any) -> Any:
    async with world.client() as client:
        answer = await client.post("/api/policy/explain", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_rules_are_listed_with_the_places_they_stand_at(world: ApiWorld) -> None:
    async with world.client() as client:
        said = (await client.get("/api/policy")).json()
    assert said["hash"] == world.parts.policy.current.hash
    assert said["error"] is None
    (env,) = [rule for rule in said["rules"] if rule["id"] == "env-files"]
    assert env["kind"] == "deny"
    assert "default.yaml:" in env["where"]
    assert "own-databases" in {rule["id"] for rule in said["builtIn"]}
    assert said["levels"].keys() == {"full", "vault", "sandboxed"}


async def test_a_denied_command_is_explained_with_rule_place_and_effect(world: ApiWorld) -> None:
    command = "echo hello; cat ./.env"
    said = await explained(world, tool="Bash", input={"command": command}, trustLevel="vault")
    assert (said["verdict"], said["rule"]) == ("deny", "env-files")
    assert "default.yaml:" in said["where"]
    (effect,) = [each for each in said["effects"] if each["target"] == "./.env"]
    assert effect["act"] == "reads"
    assert ".env" in command[effect["start"] : effect["end"]]
    assert effect["paths"][0]["deniedBy"] == "env-files"
    assert "fake-not-a-secret" not in str(said)
    assert said["suggestions"] == []


async def test_a_call_that_asks_is_explained_with_what_would_change_it(world: ApiWorld) -> None:
    said = await explained(
        world,
        tool="Read",
        input={"file_path": "a.md"},
        workingDirectory="Notes",
        permissions={"trustMode": False},
    )
    assert said["verdict"] == "ask"
    assert [each["pattern"] for each in said["suggestions"]][:2] == ["Notes/a.md", "Notes/*"]
    assert all(each["covers"] for each in said["suggestions"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"tool": "Bash"}, "input"),
        ({"tool": "", "input": {}}, "tool"),
        ({"tool": "Bash", "input": "ls"}, "input"),
        ({"tool": "Bash", "input": {}, "trustLevel": "none"}, "trustLevel"),
        ({"tool": "Bash", "input": {}, "nothing": 1}, "nothing"),
        ({"tool": "Bash", "input": {"command": "x" * 70_000}}, "input"),
        ({"tool": "Bash", "input": {}, "permissions": {"trust": True}}, "permissions.trust"),
    ],
    ids=lambda each: str(each)[:40],
)
async def test_a_request_that_makes_no_sense_is_refused_by_field(
    world: ApiWorld, body: dict[str, Any], field: str
) -> None:
    async with world.client() as client:
        answer = await client.post("/api/policy/explain", json=body)
    assert answer.status_code == 422
    assert answer.json()["where"] == field


@pytest.mark.parametrize(
    "text",
    ['{"command": "cat \\ud800"}', '{"x": ' + "[" * 500 + "]" * 500 + "}"],
    ids=["half a character", "nested"],
)
async def test_an_input_that_no_answer_could_repeat_is_refused(world: ApiWorld, text: str) -> None:
    async with world.client() as client:
        answer = await client.post(
            "/api/policy/explain",
            content=f'{{"tool": "Bash", "input": {text}}}',
            headers={"Content-Type": "application/json"},
        )
    assert answer.status_code == 422
    assert answer.headers["Content-Type"].startswith("application/problem+json")


async def test_odd_input_is_explained_all_the_same(world: ApiWorld) -> None:
    odd: tuple[dict[str, Any], ...] = (
        {"command": "$(" * 2_000},
        {"command": "cat \x00 \u202e"},
        {"command": ["ls"]},
        {"file_path": None},
        {},
    )
    for given in odd:
        for tool in ("Bash", "Read", "Write", "Grep", "mcp__x__y", "Nothing"):
            said = await explained(world, tool=tool, input=given)
            assert said["verdict"] in {"allow", "ask", "deny"}


async def test_a_call_of_a_session_is_explained_with_its_trust_and_its_own_permissions(
    world: ApiWorld,
) -> None:
    session_id = await world.session()
    row = await world.sessions.get_session(session_id)
    own = SessionPermissions(read=("Notes/*",), trust_mode=False)
    await world.sessions.update_session(
        session_id,
        SessionUpdate(metadata=row.with_permissions(own).metadata, trust_level=TrustLevel.VAULT),
    )
    read = {"tool": "Read", "input": {"file_path": "Notes/a.md"}, "sessionId": session_id}
    said = await explained(world, **read)
    assert (said["verdict"], said["level"]) == ("allow", "vault")
    said = await explained(world, **{**read, "input": {"file_path": "README.md"}})
    assert said["verdict"] == "ask"
    ran = await world.command("policy", "explain", "Read", "Notes/a.md", "--session", session_id)
    assert (ran.status, ran.out.splitlines()[0]) == (0, b"allow")
    await world.sessions.update_session(
        session_id, SessionUpdate(metadata={"permissions": {"read": 5}})
    )
    assert (await explained(world, **read))["verdict"] == "ask"


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"sessionId": "sess_none"}, 404, "sessionId"),
        ({"sessionId": "x", "trustLevel": "full"}, 422, "trustLevel"),
        ({"sessionId": "x", "permissions": {}}, 422, "permissions"),
    ],
)
async def test_of_a_session_nothing_else_is_said_and_it_must_be_there(
    world: ApiWorld, body: dict[str, Any], status: int, field: str
) -> None:
    async with world.client() as client:
        answer = await client.post(
            "/api/policy/explain", json={"tool": "Read", "input": {"file_path": "a"}, **body}
        )
    assert (answer.status_code, answer.json()["where"]) == (status, field)
