"""`trustfloor serve`, noting when it begins and ends each of its steps; for the benchmarks only.

    python -m benchmarks._served MARKS serve [options of trustfloor serve]

Each step becomes a line of JSON in the file MARKS: its name, begin and end in seconds on the
machine's monotonic clock, which all its processes share. A line costs some 10 microseconds.
"""

import asyncio
import functools
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Any

from claude_agent_sdk import ClaudeSDKClient

from supervisor.cli.main import main
from supervisor.events.log import EventLog
from supervisor.gateway.door import Gateway
from supervisor.runtimes import turn_folder
from supervisor.runtimes.agent import AgentRun
from supervisor.runtimes.container.channel import ContainerChannel
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.vault_view import VaultViews
from supervisor.runtimes.local import process
from supervisor.runtimes.local import runtime as local_runtime
from supervisor.runtimes.translate import Translator
from supervisor.sessions.conversations import Conversations


class Marks:
    """The file of marks."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def put(self, name: str, begin: float, end: float) -> None:
        os.write(self._fd, json.dumps([name, begin, end]).encode() + b"\n")

    def around(self, owner: Any, attribute: str, name: str) -> None:
        """Note every call, of a coroutine function too."""
        original = getattr(owner, attribute)

        @functools.wraps(original)
        async def later(*args: Any, **kwargs: Any) -> Any:
            begin = time.monotonic()
            try:
                return await original(*args, **kwargs)
            finally:
                self.put(name, begin, time.monotonic())

        @functools.wraps(original)
        def now(*args: Any, **kwargs: Any) -> Any:
            begin = time.monotonic()
            try:
                return original(*args, **kwargs)
            finally:
                self.put(name, begin, time.monotonic())

        setattr(owner, attribute, later if asyncio.iscoroutinefunction(original) else now)

    def entering(self, owner: Any, attribute: str, name: str) -> None:
        """Note how long it takes to get into a context, and to get out of it."""
        original = getattr(owner, attribute)

        @asynccontextmanager
        async def timed(*args: Any, **kwargs: Any) -> Any:
            manager = original(*args, **kwargs)
            begin = time.monotonic()
            value = await manager.__aenter__()
            self.put(name, begin, time.monotonic())
            try:
                yield value
            finally:
                begin = time.monotonic()
                await manager.__aexit__(None, None, None)
                self.put(f"{name} closed", begin, time.monotonic())

        setattr(owner, attribute, timed)


def note_steps(marks: Marks) -> None:
    """Wrap what a turn is made of."""
    marks.around(Conversations, "begin", "begin")
    marks.around(turn_folder, "_make", "folder")
    marks.entering(Gateway, "open_door", "door")
    for verb in ("image_id", "create", "inspect", "attach", "start", "remove"):
        marks.around(Engine, verb, verb)
    marks.around(VaultViews, "fill", "view")
    marks.around(VaultViews, "discard", "view discarded")
    marks.around(ContainerChannel, "first_line", "receipt")
    marks.around(ClaudeSDKClient, "connect", "initialize")
    marks.around(ClaudeSDKClient, "disconnect", "disconnect")
    marks.around(AgentRun, "inject", "inject")
    marks.around(Translator, "_result", "result")
    marks.around(asyncio, "create_subprocess_exec", "spawn")
    marks.around(process, "_end", "process ended")
    marks.around(local_runtime, "end_leftovers", "leftovers")
    original: Callable[..., Any] = EventLog.append

    async def append(self: EventLog, session: Any, turn: Any, event: Any) -> Any:
        begin = time.monotonic()
        record = await original(self, session, turn, event)
        marks.put(f"event {event.type}", begin, time.monotonic())
        return record

    EventLog.append = append  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    note_steps(Marks(sys.argv.pop(1)))
    main()
