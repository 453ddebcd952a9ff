"""A process that opens copies of a database in children of its own, each killed a statement later.

    python -m tests.worlds.dying_migration SOURCE FOLDER

The n-th child works on `FOLDER/{n}.db` and is ended by SIGKILL when its n-th statement has ended
(or at its first, before anything). The last one lives to the end. This process, which was never in
it, then opens the copy again, undisturbed. Prints how many were killed. What the children run is
loaded once and forked, so that hundreds of them take seconds.
"""

import gc
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from supervisor.storage.opening import prepare

OPEN = sqlite3.connect
WORKERS = 2


class Countdown:
    """Ends this process by SIGKILL at the start of the statement after so many."""

    def __init__(self, statements: int) -> None:
        self.left = statements

    def __call__(self, _: str) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1


def die_after(statements: int, path: Path) -> None:
    """Open the database as a supervisor does, killed after so many statements on any file."""
    countdown = Countdown(statements)

    def connect(database: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = OPEN(database, *arguments, **options)
        if str(database) != ":memory:":
            connection.set_trace_callback(countdown)
        return connection

    sqlite3.connect = connect  # type: ignore[assignment]
    prepare(path, "sessions")


def forked(work: Callable[[], object]) -> int:
    """A child that does this; its process id."""
    process = os.fork()
    if process:
        return process
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - a fork must not go on as its parent
        sys.stderr.write(repr(error))
        os._exit(1)
    os._exit(0)


def ends(*works: Callable[[], object]) -> list[int]:
    """How children that do these at the same time end: an exit status, or minus a signal."""
    children = [forked(work) for work in works]
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def main() -> None:
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    number, alive = 0, False
    gc.freeze()  # or each child copies what the collector touches
    while not alive:
        paths = {each: folder / f"{each}.db" for each in range(number, number + WORKERS)}
        if source.exists():
            for path in paths.values():
                shutil.copyfile(source, path)
        codes = ends(*(partial(die_after, *each) for each in paths.items()))
        if not set(codes) <= {0, -signal.SIGKILL}:
            sys.exit(f"a child failed: {codes}")
        for path in paths.values():
            prepare(path, "sessions")
        alive = 0 in codes
        number += codes.index(0) if alive else WORKERS
    sys.stdout.write(str(number))


if __name__ == "__main__":
    main()
