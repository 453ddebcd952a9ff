"""A command loads what it needs: one that only reads policy files doesn't wait for a web server."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from supervisor.cli import main, policy
from supervisor.cli.lazy import about

ROOT = Path(__file__).resolve().parents[3]
HEAVY = ("fastapi", "uvicorn", "docker", "claude_agent_sdk", "aiosqlite", "pydantic_settings")
WEB = ("httpx", "starlette")
POLICY = ("supervisor.policy", "supervisor.gate")


def loaded(*arguments: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    program = (
        "import atexit, sys\n"
        "atexit.register(lambda: sys.stderr.write('|'.join(sys.modules)))\n"
        "from supervisor.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], check=False, capture_output=True, text=True,
        cwd=ROOT, timeout=120,
    )  # fmt: skip
    return set(done.stderr.split("\n")[-1].split("|"))


@pytest.mark.parametrize(
    ("arguments", "without"),
    [
        (("--help",), (*HEAVY, *WEB, *POLICY)),
        (("--version",), (*HEAVY, *WEB, *POLICY)),
        (("policy", "--help"), (*HEAVY, *WEB, *POLICY)),
        (("policy", "explain", "Bash", "ls", "--vault", "sample-vault"), (*HEAVY, *WEB)),
        (("policy", "check"), (*HEAVY, *WEB)),
        (("policy", "show"), (*HEAVY, *WEB)),
        (("grants", "list"), (*HEAVY, *POLICY)),
    ],
    ids=str,
)
def test_a_command_loads_nothing_that_it_does_not_need(
    arguments: tuple[str, ...], without: tuple[str, ...]
) -> None:
    found = loaded(*arguments)
    assert "supervisor.cli.main" in found
    assert found.isdisjoint(without)


def test_control_a_command_that_needs_them_has_loaded_them() -> None:
    assert {"fastapi", "pydantic_settings"} <= loaded("serve", "--help")


@pytest.mark.parametrize(
    ("group", "commands"),
    [(main.app, main.COMMANDS), (policy.policy, policy.COMMANDS)],
    ids=["trustfloor", "policy"],
)
def test_the_help_says_of_each_command_what_the_command_says_of_itself(
    group: typer.Typer, commands: dict[str, str]
) -> None:
    shown = CliRunner().invoke(group, ["--help"]).output
    command = typer.main.get_command(group)
    for name, target in commands.items():
        real = command.get_command(typer.Context(command), name)  # type: ignore[attr-defined]
        told = about(name, target)
        assert told
        assert real.help.split("\n\n")[0].split() == told.split("\n\n")[0].split()
        assert f"  {name} " in shown
        assert " ".join(told.split()[:3]) in shown
