"""How many files and connections this process may have open at once: as many as it will need."""

import resource
from typing import Final

_ENOUGH: Final = 16_384
"""More is not asked for: some programs that agents start close every number there may be."""


def take_enough_descriptors() -> None:
    """Raise the limit as far as it takes and may be; what was set higher stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(_ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def descriptors() -> int:
    """How many there may be."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _ENOUGH if soft == resource.RLIM_INFINITY else soft
