"""Makes processes of `trustfloor` quickly: forks them from one that has loaded everything.

Run by `forked.py` as `python -m tests.worlds.forking FD`. Over the socket FD comes what a process
is to be: its arguments, environment and folder, with its three streams and a pipe for its number
and its end. It runs `supervisor.cli.main.main` as `python -m supervisor` would; what it is spared
are the three seconds of a processor that loading takes, a hundred times in a run of all tests.
"""

import asyncio
import atexit
import gc
import importlib
import io
import json
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from http import HTTPStatus
from typing import Any, Final

MOST: Final = 1 << 17
"""Bytes of a request."""


def serve(control: socket.socket) -> dict[str, Any] | None:
    """Fork what is asked for. In a child: what it is to be. None once nobody is there to ask."""
    ends: dict[int, int] = {}
    woken, wake = os.pipe()
    for each in (woken, wake):
        os.set_blocking(each, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([control.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _tell_ends(ends)
        if control.fileno() in ready:
            said, streams, _, _ = socket.recv_fds(control, MOST, 4)
            if not said:
                return None
            pid = os.fork()
            if pid == 0:
                asked: dict[str, Any] = json.loads(said)
                _take(streams)
                return asked
            os.write(streams[3], b"%d\n" % pid)
            ends[pid] = streams[3]
            for each in streams[:3]:
                os.close(each)


def _tell_ends(ends: dict[int, int]) -> None:
    while ends:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        told = ends.pop(pid)
        os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
        os.close(told)


def _take(streams: list[int]) -> None:
    """These are our streams now, and nothing else of the one that forked us is ours."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams[:3]):
        os.dup2(stream, number)
    os.closerange(3, 1024)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8")
    sys.stdout = io.TextIOWrapper(_raw(1), "utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(_raw(2), "utf-8", "backslashreplace", write_through=True)


def _raw(stream: int) -> Any:
    """Unbuffered, as the tests' environment has it (PYTHONUNBUFFERED)."""
    return io.FileIO(stream, "w", closefd=False)


def become(asked: dict[str, Any]) -> None:
    """Be the process that is asked for, to its end.

    Where it ends by itself, all is done that Python does then, but for taking apart what was
    loaded: each of its pages would be copied for that.
    """
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    time.tzset()
    tempfile.tempdir = None
    sys.orig_argv[:] = [sys.executable, "-m", "supervisor", *asked["arguments"]]
    sys.argv[:] = [importlib.import_module("supervisor").__path__[0], *asked["arguments"]]
    try:
        importlib.import_module("supervisor.cli.main").main()
        status = 0
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        status = end.code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status)


def load() -> None:
    """Load all commands, and what each of them would then make anew: the same for all."""
    for each in importlib.import_module("supervisor.cli.main").COMMANDS.values():
        importlib.import_module(each.partition(":")[0])
    importlib.import_module("supervisor.policy.bash.table_reading").shipped_table()
    asyncio.run(_knock(importlib.import_module("supervisor.api.main").make_routes()))


async def _knock(routes: Any) -> None:
    """Look for a route that there is not, so that each that there is has been looked at."""
    told: list[Any] = []

    async def send(message: Any) -> None:
        told.append(message)

    scope = {"type": "http", "method": "GET", "path": "/none", "headers": [], "query_string": b""}
    await routes(scope, None, send)
    assert told[0]["status"] == HTTPStatus.NOT_FOUND


def main() -> None:
    """Load, then fork; what is forked goes on from here."""
    control = socket.socket(fileno=int(sys.argv[1]))
    load()
    gc.freeze()
    asked = serve(control)
    if asked is not None:
        control.detach()  # closed already, and its number may be another's by now
        become(asked)


if __name__ == "__main__":
    main()
