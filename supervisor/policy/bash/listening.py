"""Words that say where a program listens: for this machine alone, or for others too."""

import re
from typing import Final

from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import Value

_OWN: Final = re.compile(
    r"(?:\w+://)?(?:localhost|127(?:\.\d+){1,3}|\[?::1\]?)?(?:(?<=[^/]):\d+|(?<![^/]|:)\d+)?/?"
    r"|(?:unix|fd|file):.*|/.*|true|false",
    re.IGNORECASE,
)
"""Where only this machine can reach: loopback, a port alone, a socket that is a file."""
_OPEN: Final = re.compile(r"(?:\A|[=,@/])(?:0\.0\.0\.0|\[::\]|\*(?=:\d))(?::\d+)?(?:\Z|,|/(?!\d))")
_TO_ALL: Final = "serves to the network"


def bind(use: Use, value: Value) -> None:
    """Where a program listens: an address of others, or no value at all, opens it to them."""
    if not all(each.text and _OWN.fullmatch(each.text) for each in value.texts):
        use.send(None, _TO_ALL)


def open_to_all(use: Use, text: str) -> None:
    """A word with all addresses of the machine in it (`0.0.0.0:8000`), whatever it is for."""
    if ("0.0.0.0" in text or "[::]" in text or "*:" in text) and _OPEN.search(text):  # noqa: S104
        use.send(None, _TO_ALL)
