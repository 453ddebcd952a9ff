"""Loops of code that never end, and start a process each time round without a wait."""

import re
from collections.abc import Sequence
from typing import Final

STARTS: Final = frozenset(
    """Popen spawn execFile popen proc_open spawnl spawnlp spawnv spawnvp
    child_process.exec""".split()  # noqa: SIM905
)
"""Names, or last names, of calls that start a program and go on at once."""
CALMS: Final = frozenset(
    """wait wait2 waitall waitpid waitFor communicate poll sleep usleep nanosleep delay setTimeout
    await join accept recv read readline readLine readlines gets getline input get listen select
    break last return exit _exit die throw raise quit next abort pclose proc_close""".split()  # noqa: SIM905
)
"""Words that keep a loop from spinning, or leave it."""
_ENDLESS: Final = re.compile(
    r"(?:^|\s)(?:(?:while|until)\s(?:\(\s)?(?P<test>\S+)(?:\s\))?|for\s\([^;]*;\s;|loop\s(?:\{|do\b)|redo\b)"
)
_TRUE: Final = re.compile(r"[1-9]\d*|true|True|TRUE")
_FALSE: Final = re.compile(r"0|false|nil|undef")
_LAST: Final = re.compile(r"\.|::|->|\\")


def goes_on(text: str) -> bool:
    """Whether a shell's text leaves something running behind it (`worker &`)."""
    bare = text.rstrip()
    return bare.endswith("&") and not bare.endswith("&&")


def spins(words: Sequence[str]) -> bool:
    """Whether the words of code hold a loop that never ends, and nothing that it waits for."""
    if any(_LAST.split(each.lstrip("$@%&"))[-1] in CALMS for each in words):
        return False
    for found in _ENDLESS.finditer(" ".join(each for each in words if not each.isspace())):
        test = found["test"]
        if test is None:
            return True
        wanted = _FALSE if found[0].lstrip().startswith("until") else _TRUE
        if wanted.fullmatch(test):
            return True
    return False
