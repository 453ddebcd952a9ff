"""Words become what bash itself makes of them: each case is harmless, and run by a real bash.

`P` prints its words; the cases only expand, assign and print.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from supervisor.policy.bash.effect import ShellContext
from supervisor.policy.bash.invocation import Invocation
from supervisor.policy.bash.read import Budget, Shell, read_script
from tests.worlds.shell_reading import shown

BASH = shutil.which("bash")
CASES = Path(__file__).with_name("words_of_bash.txt").read_text().rstrip("\n").split("\n%%\n")
PRINTER = 'P() { printf "<%s>" "$@"; printf "\\n"; }\n'


def printed_by_bash(script: str, folder: Path) -> str:
    assert BASH is not None
    environment = {"HOME": "/home/u", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [BASH, "-c", PRINTER + script],
        capture_output=True, text=True, cwd=folder, env=environment, timeout=20, check=False,
    ).stdout  # fmt: skip


def line_of(invocation: Invocation) -> str:
    return "".join(f"<{shown(each)}>" for each in invocation.argv[1:]) or "<>"


@pytest.mark.skipif(BASH is None, reason="needs bash to compare with")
@pytest.mark.parametrize("script", CASES, ids=[each[:60] for each in CASES])
def test_words_become_what_bash_makes_of_them(script: str, tmp_path: Path) -> None:
    fresh = Shell.fresh(ShellContext(str(tmp_path), "/home/u", {}))
    shell = Shell(fresh.cwd, fresh.home, fresh.variables, positional=())
    found = read_script(script, shell, Budget())
    ours = [line_of(each) for each in found.invocations if each.argv and each.argv[0].only == "P"]
    assert "".join(f"{line}\n" for line in ours) == printed_by_bash(script, tmp_path)
    assert not found.unresolved
