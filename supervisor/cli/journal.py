"""Whether what is printed goes to the machine's journal, which others may read and which stays."""

import os
from collections.abc import Mapping
from typing import Final

_STREAM: Final = "JOURNAL_STREAM"


def goes_to_journal(descriptor: int, variables: Mapping[str, str]) -> bool:
    """Whether the descriptor is systemd's stream to it: device and inode (systemd.exec(5))."""
    is_it = os.fstat(descriptor)
    return variables.get(_STREAM) == f"{is_it.st_dev}:{is_it.st_ino}"
