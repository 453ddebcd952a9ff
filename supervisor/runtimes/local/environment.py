"""What a local CLI, and so every tool it starts, may see of the supervisor's environment."""

from collections.abc import Mapping
from typing import Final

PASSED_ON: Final = frozenset(
    {
        "HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "PATH",
        "SHELL",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TERM",
        "TZ",
        "USER",
    }
)
"""A closed list: what isn't named here, a key above all, never reaches an agent's tools."""


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that is passed on: the list above, and the locale's settings."""
    return {
        name: value
        for name, value in environment.items()
        if name in PASSED_ON or name.startswith("LC_")
    }
