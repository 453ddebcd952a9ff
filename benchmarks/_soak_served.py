"""`trustfloor serve`, noting how many tasks its event loop has; for `soak.py` only.

python -m benchmarks._soak_served COUNTS serve [options of trustfloor serve]

Each second the file COUNTS gets a line of JSON: the moment on the monotonic clock, and the tasks.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from supervisor.api.parts import Parts
from supervisor.cli import serve
from supervisor.cli.main import main
from supervisor.settings import Settings

EVERY_SECONDS = 1.0


async def _count(path: Path) -> None:
    with path.open("a") as file:
        while True:
            file.write(json.dumps([time.monotonic(), len(asyncio.all_tasks())]) + "\n")
            file.flush()
            await asyncio.sleep(EVERY_SECONDS)


def note_tasks(path: Path) -> None:
    """Count beside the supervisor, for as long as it is open."""
    names = vars(serve)
    opened = names["open_supervisor"]

    @asynccontextmanager
    async def counted(settings: Settings) -> AsyncIterator[Parts]:
        counting = asyncio.create_task(_count(path))
        try:
            async with opened(settings) as parts:
                yield parts
        finally:
            counting.cancel()

    names["open_supervisor"] = counted


if __name__ == "__main__":
    note_tasks(Path(sys.argv.pop(1)))
    main()
