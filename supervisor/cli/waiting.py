"""Follows what waits for a person, and has it answered, one after another, by whoever is there."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from supervisor.cli.asking import Asker, InputEnded
from supervisor.cli.client import Client, Heard, feed
from supervisor.cli.ctrl_c import CtrlC
from supervisor.cli.effects import time_left
from supervisor.cli.neutral import one_line
from supervisor.cli.render import Screen
from trustfloor.wire import at


def filtered(path: str, **narrowed: str | None) -> str:
    """The path with what it is narrowed to."""
    names = {"session": "sessionId"}
    return at(path, **{names.get(name, name): value for name, value in narrowed.items()})


def headline(request: Mapping[str, Any]) -> str:
    """Whose a request is, in one line."""
    parts = [f"session {request['sessionId']}", f"workspace {request['workspace']}"]
    if request.get("agent"):
        parts.append(str(request["agent"]))
    if request.get("trustLevel"):
        parts.append(f"trust {request['trustLevel']}")
    return " · ".join(parts)


def tell_questions(screen: Screen, request: Mapping[str, Any]) -> None:
    """The parts of a question, with what can be chosen; nothing for another request."""
    for question in request.get("shown") or ():
        labels = " / ".join(str(option["label"]) for option in question["options"])
        said = f"{question['question']} ({labels})" if labels else str(question["question"])
        screen.line(f"? {one_line(said)}", "bold yellow")


class Vigil:
    """One who watches. Without an `asker` it only tells."""

    def __init__(self, client: Client, screen: Screen, asker: Asker | None) -> None:
        self._client = client
        self._screen = screen
        self._asker = asker
        self._known: dict[str, asyncio.Task[None] | None] = {}
        self._left = asyncio.Event()

    async def keep(self, path: str, ctrl_c: CtrlC) -> None:
        """Watch until Ctrl-C or the end of the input. Raises Unreachable or Refused."""
        loop = asyncio.get_running_loop()
        try:
            with ctrl_c.acting(lambda: loop.call_soon_threadsafe(self._left.set)):
                async with asyncio.TaskGroup() as group:
                    hearing = group.create_task(self._hear(path, group))
                    leaving = group.create_task(self._left.wait())
                    await asyncio.wait({hearing, leaving}, return_when=asyncio.FIRST_COMPLETED)
                    for task in (hearing, leaving, *self._known.values()):
                        if task is not None:
                            task.cancel()
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _hear(self, path: str, group: asyncio.TaskGroup) -> None:
        async with aclosing(feed(self._client, path)) as stream:
            async for heard in stream:
                match heard.type:
                    case "open":
                        self._begin(heard.data["ids"])
                    case "permission_resolved":
                        self._withdraw(heard)
                    case "permission_request" | "user_question":
                        self._take(heard, group)

    def _begin(self, ids: list[str]) -> None:
        """What isn't open any more is asked here no more; after a lost connection that is news."""
        for gone in self._known.keys() - set(ids):
            self._stop(gone)
        if not ids and not self._known:
            self._screen.line("nothing waits; Ctrl-C ends this", "dim")

    def _take(self, heard: Heard, group: asyncio.TaskGroup) -> None:
        name = str(heard.data.get("id") or heard.data.get("requestId"))
        if name in self._known:
            return
        if self._asker is None:
            self._known[name] = None
            self._introduce(heard)
            self._screen.show(heard)
            tell_questions(self._screen, heard.data)
            return
        self._known[name] = group.create_task(self._ask(self._asker, heard))

    async def _ask(self, asker: Asker, heard: Heard) -> None:
        asked = asker.permission if heard.type == "permission_request" else asker.question
        try:
            await asked(heard, lambda: self._introduce(heard))
        except InputEnded:
            self._left.set()

    def _introduce(self, heard: Heard) -> None:
        left = time_left(float(heard.data["secondsLeft"]))
        self._screen.line(f"{headline(heard.data)} · {left} left", "dim")

    def _withdraw(self, heard: Heard) -> None:
        """Answered here or by others, or its time is over."""
        self._stop(str(heard.data["id"]))
        elsewhere = self._asker is not None and self._asker.is_elsewhere(heard.data)
        self._screen.resolved(heard.data, elsewhere=elsewhere, followed=False)

    def _stop(self, name: str) -> None:
        task = self._known.pop(name, None)
        if task is not None:
            task.cancel()
