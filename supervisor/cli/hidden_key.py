"""Takes the API key out of the environment of the process that serves, before anything else runs.

What a process was started with stays readable in `/proc/PID/environ`, whatever it unsets later: so
the key moves into a memory file, and the process starts itself again without the variable. Kept to
the standard library's cheapest modules, as it runs before all others.
"""

import ctypes
import os
import resource
import sys
from typing import Final

KEY_VARIABLES: Final = ("TRUSTFLOOR_API_KEY", "ANTHROPIC_API_KEY")
"""Where a key may come from, the first that is set counting."""

_DESCRIPTOR: Final = "TRUSTFLOOR_API_KEY_FD"
_PR_SET_DUMPABLE: Final = 4  # prctl(2)


def hide_key() -> None:
    """Start this command again without the key in its environment; returns if there is none."""
    given = [os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)]
    kept = {name: value for name, value in os.environ.items() if name not in KEY_VARIABLES}
    if not given:
        return
    file = os.memfd_create("key")
    os.write(file, given[0].encode())
    os.set_inheritable(file, True)
    command = [sys.executable, *sys.orig_argv[1:]]
    os.execve(sys.executable, command, {**kept, _DESCRIPTOR: str(file)})  # noqa: S606


def take_hidden_key() -> str | None:
    """The key that `hide_key` put aside, once; None if there was none."""
    number = os.environ.pop(_DESCRIPTOR, None)
    if number is None:
        return None
    with open(int(number), encoding="utf-8") as file:  # noqa: PTH123  (a descriptor)
        file.seek(0)
        return file.read()


def close_memory() -> None:
    """Write no core dumps, and let no other process of the same user look into this one.

    Root can still; so the README says of `full`.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
