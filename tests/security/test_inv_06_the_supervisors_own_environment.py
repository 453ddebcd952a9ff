"""Invariant 6: a key that came by the environment is not in the serving process's environment."""

import os
import subprocess
import sys
from pathlib import Path

KEY = "sk-ant-CANARY-of-the-environment"
LOOK = (
    "import os, sys, pathlib\n"
    "from supervisor.cli.hidden_key import hide_key, take_hidden_key, close_memory\n"
    "{hide}"
    "close_memory()\n"
    "initial = pathlib.Path('/proc/self/environ').read_bytes()\n"
    "print(take_hidden_key(), b'CANARY' in initial, 'ANTHROPIC_API_KEY' in os.environ)\n"
)


def looked(tmp_path: Path, *, hide: bool) -> str:
    script = tmp_path / "look.py"
    script.write_text(LOOK.format(hide="hide_key()\n" if hide else ""))
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "ANTHROPIC_API_KEY": KEY, "PYTHONPATH": root}
    return subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_key_is_taken_out_of_the_environment_and_still_known(tmp_path: Path) -> None:
    assert looked(tmp_path, hide=True) == f"{KEY} False False"


def test_control_a_key_that_is_not_hidden_stays_in_the_environment(tmp_path: Path) -> None:
    assert looked(tmp_path, hide=False) == "None True True"
