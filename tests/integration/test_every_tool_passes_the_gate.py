"""The real CLI is made to call each tool it has: none runs that the gate didn't allow.

The policy of this house denies everything, so a call that gave anything but a refusal got past the
gate. Inputs are made from the schemas that the CLI itself sends to the model.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from supervisor.settings import Settings
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, a_house, calls, noted_requests, prompt, step

pytestmark = pytest.mark.engine

MUST_BE_SEEN = {"Bash", "Read", "Write", "Agent", "ToolSearch", "AskUserQuestion"}
"""Tools whose made-up calls are valid: that the gate saw these is asserted by name."""

BY_HAND = {
    "AskUserQuestion": {
        "questions": [
            {
                "question": "Which?",
                "header": "Which",
                "options": [{"label": each, "description": each} for each in "AB"],
                "multiSelect": False,
            }
        ]
    }
}
"""Inputs that must say more than their schema does."""


@pytest.fixture(name="bodies")
def bodies_fixture(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the CLI asks of the model."""
    return noted_requests(monkeypatch)


def policies(folder: Path, answer: str) -> Path:
    """The shipped policy, with one answer to every kind of call at every level."""
    folder.mkdir()
    shutil.copy(Settings().policies / "default.yaml", folder / "00-default.yaml")
    shipped = yaml.safe_load((folder / "00-default.yaml").read_text())
    levels = {
        level: dict.fromkeys(categories, answer)
        for level, categories in shipped["tools"]["levels"].items()
    }
    (folder / "10-all.yaml").write_text(yaml.safe_dump({"version": 1, "tools": {"levels": levels}}))
    return folder


def sample(schema: dict[str, Any], path: str, name: str = "") -> Any:
    """A value that the schema takes; whatever sounds like a path is a note of the vault."""
    if "enum" in schema:
        return schema["enum"][0]
    for choice in schema.get("anyOf") or schema.get("oneOf") or ():
        return sample(choice, path, name)
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties", {})
        return {each: sample(properties[each], path, each) for each in schema.get("required", ())}
    if kind == "array":
        return [sample(schema.get("items", {}), path, name)] * max(1, schema.get("minItems", 1))
    plain = {"integer": schema.get("minimum", 1), "number": schema.get("minimum", 1)}
    plain |= {"boolean": False, "string": path if "path" in name else "harmless"}
    return plain.get(str(kind), "harmless")


async def called(house: House, bodies: list[dict[str, Any]], level: TrustLevel) -> dict[str, str]:
    """Each tool that the CLI offers at this level, and what its call gave."""
    first = await house.send(prompt(step("hello")), level)
    schemas = {tool["name"]: tool["input_schema"] for tool in bodies[-1]["tools"]}
    offered = set(schemas) | set(first.of("init")[0]["tools"])
    root = "/vault" if level is TrustLevel.SANDBOXED else str(house.vault)
    given = {
        name: BY_HAND.get(name)
        or sample(schemas.get(name, {"type": "object"}), f"{root}/notes/today.md")
        for name in sorted(offered)
    }
    steps = [calls((name, tool_input)) for name, tool_input in given.items()]
    turn = await house.send(prompt(*steps, step("ok")), level)
    assert turn.end["type"] == "done", turn.end
    results = {event["toolUseId"]: event for event in turn.of("tool_result")}
    denied = {event["toolUseId"] for event in turn.of("permission_denied")}
    outcome = {}
    for use in turn.of("tool_use"):
        name, use_id = use["tool"]["name"], use["tool"]["id"]
        assert results[use_id]["isError"], f"{name} ran: {results[use_id]['content'][:200]}"
        outcome[name] = "gate" if use_id in denied else "cli"
    assert set(outcome) == set(given)
    return outcome


@pytest.mark.parametrize("level", [TrustLevel.FULL, TrustLevel.SANDBOXED])
async def test_no_tool_of_the_cli_runs_past_a_gate_that_denies(
    level: TrustLevel, bodies: list[dict[str, Any]], tmp_path: Path
) -> None:
    async with a_house(policies=policies(tmp_path / "policies", "deny")) as house:
        outcome = await called(house, bodies, level)
    seen = {name for name, by in outcome.items() if by == "gate"}
    assert seen >= MUST_BE_SEEN, outcome


async def test_control_the_same_calls_run_past_a_gate_that_allows(
    bodies: list[dict[str, Any]], tmp_path: Path
) -> None:
    async with a_house(policies=policies(tmp_path / "policies", "allow")) as house:
        path = "/vault/notes/today.md"
        turn = await house.send(
            prompt(calls(("Read", {"file_path": path})), step("ok")), TrustLevel.SANDBOXED
        )
    assert bodies
    assert not turn.of("tool_result")[0]["isError"]
