"""A word that is none of those an option or argument takes is refused in one way everywhere."""

import subprocess
import sys

import pytest

LEVELS = "'bogus' is none of full, vault, sandboxed"
WRONG = {
    "an argument": (("sessions", "trust", "5f0c", "bogus"), LEVELS),
    "an option": (("chat", "hello", "--trust", "bogus"), LEVELS),
    "an import's": (("import", "/tmp", "--trust", "bogus"), LEVELS),
    "a workspace's": (("workspaces", "set", "w", "--floor", "bogus"), LEVELS),
    "another list": (("chat", "hello", "--approve", "bogus"), "'bogus' is none of ask, deny, wait"),
}


@pytest.mark.parametrize(("words", "told"), WRONG.values(), ids=WRONG)
def test_it_is_named_with_those_there_are(words: tuple[str, ...], told: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "supervisor", *words], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert ran.stderr.rstrip().endswith(told)
