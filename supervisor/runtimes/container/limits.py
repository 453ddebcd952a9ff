"""The limits of sandboxes as an admin has set them: the supervisor's, and its engine filter's."""

from typing import Final

from supervisor.runtimes.container.spec import Limits
from supervisor.settings import Settings

_MIB: Final = 1 << 20


def limits_of(settings: Settings) -> Limits:
    """What the settings say, whatever the machine has."""
    return Limits(
        memory_bytes=settings.sandbox_memory_mb * _MIB,
        pids=settings.sandbox_pids,
        cpus=settings.sandbox_cpus,
        tmp_bytes=settings.sandbox_tmp_mb * _MIB,
        home_bytes=settings.sandbox_home_mb * _MIB,
        file_bytes=settings.sandbox_file_mb * _MIB,
    )
