"""The real CLI, through a door, at a scripted model."""

from pathlib import Path
from typing import Any

from aiohttp import web

from supervisor.gateway.access import Budget
from tests.worlds.model import (
    KEY_CANARY,
    access,
    door_to,
    recorder,
    run_cli,
    scripted,
    small_answer,
    steps,
)


def tool_results(lines: list[dict[str, Any]]) -> list[str]:
    return [
        str(block.get("content"))
        for line in lines
        if line["type"] == "user"
        for block in line["message"]["content"]
        if block["type"] == "tool_result"
    ]


async def test_a_text_turn_passes(tmp_path: Path) -> None:
    async with (
        scripted(tmp_path) as model,
        door_to(tmp_path / "model.sock", tmp_path / "door.sock") as door,
    ):
        run = await run_cli(
            tmp_path / "door.sock", tmp_path, "hello " + steps({"text": "Good day."})
        )
    assert run.result["result"] == "Good day."
    assert door.refusals == []
    assert door.spending.requests == model.requests == 1


async def test_a_tool_turn_passes_and_the_model_is_told_the_result(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "today.md").write_text("buy milk\n")
    scenario = f"""\
  - name: read-notes
    when: {{contains: "read my notes"}}
    steps:
      - text: Let me look.
        tools: [{{name: Read, input: {{file_path: "{tmp_path}/work/today.md"}}}}]
      - text: "It says: {{{{last_result}}}}"
        expect: {{last_result_contains: buy milk}}
"""
    async with (
        scripted(tmp_path, scenario, directives=False) as model,
        door_to(tmp_path / "model.sock", tmp_path / "door.sock") as door,
    ):
        run = await run_cli(tmp_path / "door.sock", tmp_path, "please read my notes")
    assert "buy milk" in run.result["result"]
    assert model.failures == []
    assert door.refusals == []
    assert door.spending.requests == 2


async def test_a_sub_agent_plays_its_own_prompt(tmp_path: Path) -> None:
    child = "report " + steps({"text": "child says hi"})
    call = {
        "name": "Agent",
        "input": {"description": "d", "prompt": child, "subagent_type": "general-purpose"},
    }
    prompt = steps({"text": "asking", "tools": [call]}, {"text": "heard: {{last_result}}"})
    async with (
        scripted(tmp_path),
        door_to(tmp_path / "model.sock", tmp_path / "door.sock") as door,
    ):
        run = await run_cli(tmp_path / "door.sock", tmp_path, prompt)
    assert "child says hi" in run.result["result"]
    assert door.refusals == []


async def test_the_cli_gives_up_at_once_when_the_budget_is_used_up(tmp_path: Path) -> None:
    terms = access(budget=Budget(tokens=1, cost_usd=None))
    call = {"name": "Bash", "input": {"command": "true", "description": "nothing"}}
    prompt = steps({"text": "a", "tools": [call]}, {"text": "never said"})
    async with (
        scripted(tmp_path) as model,
        door_to(tmp_path / "model.sock", tmp_path / "door.sock", terms) as door,
    ):
        run = await run_cli(tmp_path / "door.sock", tmp_path, prompt)
    assert run.result["is_error"]
    assert run.result["api_error_status"] == 402
    assert "budget of 1 tokens is used up" in run.result["result"]
    assert model.requests == 1
    assert len(door.refusals) == 1  # no retry


async def test_the_key_is_not_in_what_a_tool_of_the_cli_sees(tmp_path: Path) -> None:
    command = "env; cat /proc/self/environ /proc/$PPID/environ"
    call = {"name": "Bash", "input": {"command": command, "description": "look for a key"}}
    prompt = steps({"tools": [call]}, {"text": "done"})
    async with (
        scripted(tmp_path),
        door_to(tmp_path / "model.sock", tmp_path / "door.sock"),
    ):
        run = await run_cli(tmp_path / "door.sock", tmp_path, prompt, "--allowedTools", "Bash")
    (seen,) = tool_results(run.lines)
    assert "ANTHROPIC_API_KEY=placeholder" in seen  # the control: it did look there
    assert KEY_CANARY not in str(run.lines)


async def test_a_door_to_a_refusing_api_names_no_key_to_the_cli(tmp_path: Path) -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        if request.headers.get("x-api-key") == KEY_CANARY:
            return web.json_response({"error": {"message": KEY_CANARY}}, status=401)
        return await small_answer(request)

    async with (
        recorder(tmp_path, refuse) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock"),
    ):
        run = await run_cli(tmp_path / "door.sock", tmp_path, "hello")
    assert run.result["is_error"]
    assert run.result["api_error_status"] == 401
    assert KEY_CANARY not in str(run.lines)
