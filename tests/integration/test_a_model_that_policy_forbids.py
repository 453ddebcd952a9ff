"""A default model that the policy refuses is found at the start, not at each message."""

from pathlib import Path

import pytest

from supervisor.errors import ConfigurationError
from supervisor.gate.policy_files import PolicySource
from supervisor.readiness import require_allowed_model
from supervisor.settings import Settings
from tests.worlds.forked import STDOUT, end_of, trustfloor
from tests.worlds.server import environment

SHIPPED = Path(__file__).parents[2] / "policies"


async def run(folder: Path, command: str, model: str) -> tuple[int, str]:
    """Run a command that must end by itself, with that model; its status and what it says."""
    (folder / "vault").mkdir()
    key = {"ANTHROPIC_API_KEY": "sk-ant-none", "TRUSTFLOOR_ENGINE_SOCKET": str(folder / "none")}
    process = await trustfloor(
        command,
        env=environment(folder, {**key, "TRUSTFLOOR_MODEL": model, "TRUSTFLOOR_PORT": "0"}),
        stderr=STDOUT,
    )
    status, said, _ = await end_of(process)
    return status, said


@pytest.mark.parametrize("command", ["serve", "doctor"])
async def test_serve_refuses_to_start_and_doctor_says_so_naming_both_settings(
    tmp_path: Path, command: str
) -> None:
    status, said = await run(tmp_path, command, "gpt-4")
    assert status == 1
    for named in ("'gpt-4'", "TRUSTFLOOR_MODEL", "gateway.models", str(SHIPPED), "claude-*"):
        assert named in said, said
    assert "Traceback" not in said


@pytest.mark.parametrize("model", [None, "claude-sonnet-4-5", "sonnet", "scripted:any.yaml"])
def test_a_model_that_policy_allows_is_no_obstacle(model: str | None, tmp_path: Path) -> None:
    settings = Settings(vault=tmp_path, model=model)
    require_allowed_model(settings, PolicySource(SHIPPED).current)


def test_control_one_that_it_forbids_is(tmp_path: Path) -> None:
    settings = Settings(vault=tmp_path, model="gpt-4")
    with pytest.raises(ConfigurationError, match="gpt-4"):
        require_allowed_model(settings, PolicySource(SHIPPED).current)
