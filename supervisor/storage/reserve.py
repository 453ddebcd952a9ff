"""A little room in the data folder, held back for how turns end that its disk fills up under.

Without it a turn whose ending can't be stored would end unseen, and who watches it would wait.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

RESERVE_BYTES: Final = 2 << 20
"""Room for the endings of all turns that run; one takes some 100 KB, in all that is written."""
_LEAST_FREE: Final = 8 * RESERVE_BYTES
"""With less room than this nothing is held back: it would itself be what is missing."""


class Reserve:
    """The file that takes the room, `reserve` in the folder. Calls block; none of them raises."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "reserve"

    def hold(self) -> None:
        """Take the room, unless it is taken or there is too little to take it from."""
        with suppress(OSError):
            if self._file.exists() or shutil.disk_usage(self._file.parent).free < _LEAST_FREE:
                return
            with self._file.open("xb") as file:
                os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)

    def give(self) -> bool:
        """Give the room back; False: none was held, so there is no more now than before."""
        try:
            self._file.unlink()
        except OSError:
            return False
        return True
