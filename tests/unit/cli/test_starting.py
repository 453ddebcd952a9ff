"""A command loads what it needs: one that only reads policy files doesn't wait for a web server."""

import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from supervisor.cli import main, policy
from supervisor.cli.lazy import about
from trustfloor.sync.connection import Connection

ROOT = Path(__file__).resolve().parents[3]
HEAVY = ("fastapi", "uvicorn", "docker", "claude_agent_sdk", "aiosqlite", "pydantic_settings")
WEB = ("httpx", "starlette")
POLICY = ("supervisor.policy", "supervisor.gate")


def loaded(*arguments: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    return set(at_its_end("'|'.join(sys.modules)", *arguments).split("|"))


def at_its_end(told: str, *arguments: str) -> str:
    """What this expression is when a command ends."""
    program = (
        "import atexit, gc, sys\n"
        f"atexit.register(lambda: sys.stderr.write({told}))\n"
        "from supervisor.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], check=False, capture_output=True, text=True,
        cwd=ROOT, timeout=120,
    )  # fmt: skip
    return done.stderr.split("\n")[-1]


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
        (("doctor", "--help"), ("claude_agent_sdk", "fastapi", "uvicorn", "aiohttp")),
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


def test_what_a_command_loads_is_never_looked_through_for_garbage_and_the_rest_is() -> None:
    frozen, collects = at_its_end(
        "f'{gc.get_freeze_count()} {gc.isenabled()}'", "chat", "--help"
    ).split()
    assert int(frozen) > 10_000
    assert collects == "True"


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


@pytest.mark.parametrize(
    ("url", "loads"), [("http://127.0.0.1:9", False), ("HTTPS://127.0.0.1:9", True)], ids=str
)
def test_whom_the_web_believes_is_loaded_where_tls_is_spoken_only(
    url: str, loads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    real = ssl.create_default_context

    def noted(**given: Any) -> ssl.SSLContext:
        asked.append(given)
        return real(**given)

    monkeypatch.setattr(ssl, "create_default_context", noted)
    monkeypatch.delenv("TRUSTFLOOR_CA_FILE", raising=False)
    with Connection(url, "token"):
        assert bool(asked) is loads
