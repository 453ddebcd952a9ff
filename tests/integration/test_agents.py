"""Agents of a vault with the real CLI: their prompt, their tools, their bounds, their floor."""

from pathlib import Path

import httpx
import pytest

from supervisor.api.main import make_api
from supervisor.errors import InvalidRequest, LooserThanFloor
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import a_house, bash, calls, is_a, noted_requests, prompt, step
from tests.worlds.http import listening

pytestmark = pytest.mark.engine

WRITER = """---
name: Writer
description: Writes
model: claude-sonnet-5-5
tools: [Read, Write, Bash]
write_permissions: [notes/*]
---
You are the WRITER-PROMPT.
"""
STRICT = "---\nname: Strict\ntrust: sandboxed\n---\nStay in.\n"


def fill(vault: Path) -> None:
    (vault / "agents").mkdir()
    (vault / "agents" / "writer.md").write_text(WRITER)
    (vault / "agents" / "strict.md").write_text(STRICT)
    (vault / "agents" / "broken.md").write_text("---\nname: b\ntoolz: [Read]\n---\n")
    (vault / "CLAUDE.md").write_text("HOUSE-RULES of the vault\n")
    skill = vault / ".claude" / "skills" / "pdf" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: pdf\ndescription: SKILL-PDF fills forms\n---\nDo so.\n")


async def test_the_agent_s_prompt_and_tools_reach_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bodies = noted_requests(monkeypatch)
    async with a_house(fill=fill) as house:
        turn = await house.send(prompt(step("hi")), TrustLevel.VAULT, agent="agents/writer.md")
        assert turn.end["type"] == "done", turn.end
        sent = next(body for body in bodies if body.get("tools"))
        assert "WRITER-PROMPT" in str(sent["system"])
        assert "HOUSE-RULES" not in str(sent)
        assert "SKILL-PDF" in str(sent["system"])
        offered = {each["name"] for each in sent["tools"]}
        assert offered >= {"Read", "Write", "Bash"}
        assert not offered & {"Edit", "Glob", "Agent", "WebFetch"}
        assert sent["model"] == "claude-sonnet-5-5"
        (told,) = turn.of("prompt_metadata")
        assert told["promptSource"] == "agent"
        assert told["promptSourcePath"] == "agents/writer.md"
        assert told["agentName"] == "Writer"
        assert set(told["availableAgents"]) == {"Writer", "Strict"}


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_without_an_agent_the_vault_s_instructions_and_skills_are_told(
    monkeypatch: pytest.MonkeyPatch, level: TrustLevel
) -> None:
    bodies = noted_requests(monkeypatch)
    async with a_house(fill=fill) as house:
        turn = await house.send(prompt(step("hi")), level)
        sent = next(body for body in bodies if body.get("tools"))
        assert "HOUSE-RULES" in str(sent["system"])
        assert "SKILL-PDF" in str(sent["system"])
        (told,) = turn.of("prompt_metadata")
        assert told["promptSource"] == "claude_code_preset"
        assert told["contextFiles"] == ["CLAUDE.md"]
        assert told["workingDirectoryClaudeMd"] == "CLAUDE.md"


async def test_a_session_is_told_of_its_context_folders_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bodies = noted_requests(monkeypatch)
    async with a_house(fill=fill) as house:
        (house.vault / "garden" / "beds").mkdir(parents=True)
        (house.vault / "garden" / "AGENTS.md").write_text("GARDEN-RULES\n")
        first = await house.send(prompt(step("hi")), TrustLevel.VAULT)
        assert "GARDEN-RULES" not in str(bodies)
        await house.parts.contexts.set_session_contexts(first.session_id, ["garden/beds"])
        second = await house.send(prompt(step("hi")), TrustLevel.VAULT, session_id=first.session_id)
        (told,) = second.of("prompt_metadata")
        assert told["contextFiles"] == ["CLAUDE.md", "garden/AGENTS.md"]
        assert "GARDEN-RULES" in str([body["system"] for body in bodies if "system" in body])


async def test_a_write_beyond_its_permissions_asks_and_one_within_does_not() -> None:
    async with a_house(fill=fill) as house:
        within = {"file_path": str(house.vault / "notes" / "new.md"), "content": "x"}
        beyond = {"file_path": str(house.vault / "new.md"), "content": "x"}
        said = prompt(calls(("Write", within)), calls(("Write", beyond)), step("done"))
        turn = await house.send(
            said, TrustLevel.VAULT, agent="writer", until=is_a("permission_request")
        )
        assert turn.end["type"] == "permission_request"
        assert turn.end["filePath"].endswith("vault/new.md")
        assert (house.vault / "notes" / "new.md").read_text() == "x"
        assert not (house.vault / "new.md").exists()


async def test_no_command_leads_around_them() -> None:
    async with a_house(fill=fill) as house:
        turn = await house.send(
            prompt(bash("cp notes/today.md stolen.md"), step("done")),
            TrustLevel.VAULT,
            agent="writer",
            until=is_a("permission_request"),
        )
        assert turn.end["type"] == "permission_request"
        assert not (house.vault / "stolen.md").exists()


async def test_an_agent_s_floor_holds_and_says_whose_it_is() -> None:
    async with a_house(fill=fill) as house:
        turn = await house.send(prompt(step("hi")), TrustLevel.FULL, agent="agents/strict.md")
        (session,) = turn.of("session")
        assert session["trustLevel"] == "sandboxed"
        assert {"source": "agent", "level": "sandboxed", "name": "Strict"} in session["trust"][
            "floors"
        ]
        with pytest.raises(LooserThanFloor, match="Strict"):
            await house.parts.conversations.set_trust(turn.session_id, TrustLevel.FULL)


async def test_a_file_that_is_tightened_counts_from_the_next_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bodies = noted_requests(monkeypatch)
    async with a_house(fill=fill) as house:
        first = await house.send(prompt(step("hi")), TrustLevel.VAULT, agent="writer")
        assert first.of("session")[0]["trustLevel"] == "vault"
        file = house.vault / "agents" / "writer.md"
        file.write_text(WRITER.replace("WRITER-PROMPT", "NEW-PROMPT"))
        await house.send(prompt(step("hi")), TrustLevel.VAULT, session_id=first.session_id)
        assert "NEW-PROMPT" in str(bodies[-1]["system"])
        assert "WRITER-PROMPT" not in str(bodies[-1]["system"])
        file.write_text(WRITER.replace("name: Writer", "name: Writer\ntrust: sandboxed"))
        second = await house.send(prompt(step("hi")), TrustLevel.VAULT, session_id=first.session_id)
        assert second.of("session")[0]["trustLevel"] == "sandboxed"


async def test_a_session_whose_agent_is_broken_or_gone_is_refused() -> None:
    async with a_house(fill=fill) as house:
        first = await house.send(prompt(step("hi")), TrustLevel.VAULT, agent="writer")
        file = house.vault / "agents" / "writer.md"
        file.write_text("---\nname: Writer\n")
        with pytest.raises(InvalidRequest, match=r"agents/writer\.md:1"):
            await house.begin("again", session_id=first.session_id)
        file.unlink()
        with pytest.raises(InvalidRequest, match="gone"):
            await house.begin("again", session_id=first.session_id)


async def test_a_broken_agent_begins_no_session_and_is_shown_with_its_line() -> None:
    async with a_house(fill=fill) as house:
        with pytest.raises(InvalidRequest, match=r"agents/broken\.md:3:1"):
            await house.begin("hi", agent="agents/broken.md")
        headers = {"Authorization": f"Bearer {house.parts.token.get_secret_value()}"}
        async with (
            listening(make_api(house.parts)) as at,
            httpx.AsyncClient(base_url=at.url, headers=headers) as client,
        ):
            found = (await client.get("/api/agents")).json()
            assert {each["path"] for each in found["agents"]} == {
                "agents/writer.md",
                "agents/strict.md",
            }
            (fault,) = found["broken"]
            assert (fault["file"], fault["line"]) == ("agents/broken.md", 3)
            assert "tools" in fault["remedy"]
            one = (await client.get("/api/agents/agents/writer.md")).json()
            assert one["systemPrompt"] == "You are the WRITER-PROMPT.\n"
            assert (await client.get("/api/agents/agents/broken.md")).status_code == 422
            assert (await client.get("/api/agents/nobody")).status_code == 404
            skills = (await client.get("/api/skills")).json()
            assert [each["name"] for each in skills["skills"]] == ["pdf"]
