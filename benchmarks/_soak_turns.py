"""Turns of a soak: begun, left, come back to, aborted, answered; for `soak.py` only."""

import asyncio
import json
import random
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from benchmarks._house import Supervisor

TERMINAL = {"done", "aborted", "error"}
QUESTION = {
    "question": "Which?",
    "header": "Which",
    "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
    "multiSelect": False,
}
ABORTED, LEFT = 0.2, 0.3
"""How many turns are aborted, and how many are left by who began them."""
TURN_SECONDS = 180.0


@dataclass
class Course:
    """What was done and what came of it."""

    begun: dict[str, str] = field(default_factory=dict)
    """The session of each turn."""
    told: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    abort_seconds: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def message(chance: random.Random, level: str) -> str:
    """A turn: words that take their time, and perhaps a tool, a permission or a question."""
    words = {"text": "word " * chance.randint(10, 200)}
    drawn_out = {"chunks": chance.randint(4, 40), "chunk_delay_s": round(chance.uniform(0, 0.3), 2)}
    said = {**words, **drawn_out}
    tools: list[dict[str, Any]] = []
    kind = chance.random()
    if kind < 0.2:
        ask = {"name": "AskUserQuestion", "input": {"questions": [QUESTION]}}
        tools = [{"text": "Tell me. ", "tools": [ask]}]
    elif kind < 0.4 and level != "full":
        write = {"file_path": "/tmp/x", "content": "x"}  # noqa: S108 - in a sandbox
        asks = {"name": "Write", "input": write}
        if level == "vault":
            asks = {"name": "Bash", "input": {"command": "env", "description": "look"}}
        tools = [{"text": "May I? ", "tools": [asks]}]
    elif kind < 0.7:
        read = {"name": "Glob", "input": {"pattern": "**/*.md"}}
        tools = [{"text": "I look. ", "tools": [read]}]
    return f"please <<steps: {json.dumps([*tools, said])}>>"


class Turns:
    """Plays turns on one supervisor."""

    def __init__(self, house: Supervisor, chance: random.Random) -> None:
        self._house = house
        self._chance = chance
        self.course = Course()

    async def one(self, session: str, level: str) -> None:
        """A turn in this session, from its message to its end."""
        chance, course = self._chance, self.course
        aborted = chance.random() < ABORTED
        leaves = chance.uniform(0, 4) if chance.random() < LEFT else None
        body = {"message": message(chance, level), "sessionId": session}
        abort = asyncio.create_task(self._abort(session)) if aborted else None
        url = f"{self._house.url}/api/chat/stream"
        end: dict[str, Any] = {}
        async with self._house.client.post(url, json=body) as answer:
            if answer.status == 503:  # under such a load the database may be busy; sent again later
                course.told["refused as busy"] += 1
                return
            if answer.status != 200:
                course.faults.append(f"refused: {answer.status} {await answer.text()}")
                return
            turn = answer.headers["Trustfloor-Turn"]
            after = int(answer.headers["Trustfloor-After"])
            course.begun[turn] = session
            with suppress(TimeoutError):
                async with asyncio.timeout(leaves or TURN_SECONDS):
                    after, end = await self._read(answer, after)
        if not end:  # gone; and back later
            course.told["left"] += 1
            await asyncio.sleep(chance.expovariate(1.0))
            end = await self._come_back(session, turn, after)
        ended = time.monotonic()
        course.ends[end.get("type", "none")] += 1
        if end.get("type") == "error":
            course.faults.append(f"{end.get('code')}: {end.get('error')}")
        if end.get("turn_id") != turn:
            course.faults.append(f"the end of {turn} was {end}")
        if abort is not None:
            began = await abort
            if began is not None and end.get("type") == "aborted":
                course.abort_seconds.append(max(0.0, ended - began))

    async def _abort(self, session: str) -> float | None:
        await asyncio.sleep(self._chance.uniform(0.2, 8))
        began = time.monotonic()
        url = f"{self._house.url}/api/chat/session/{session}/abort"
        async with self._house.client.post(url, json={"reason": "enough"}) as answer:
            was_running = (await answer.json())["aborted"]
        self.course.told["aborts" if was_running else "aborts too late"] += 1
        return began if was_running else None

    async def _come_back(self, session: str, turn: str, after: int) -> dict[str, Any]:
        url = f"{self._house.url}/api/chat/session/{session}/stream?until=never"
        async with (
            asyncio.timeout(TURN_SECONDS),
            self._house.client.get(url, headers={"Last-Event-ID": str(after)}) as answer,
        ):
            while True:
                _, end = await self._read(answer, after)
                if not end or end["turn_id"] == turn:
                    return end

    async def _read(self, answer: aiohttp.ClientResponse, after: int) -> tuple[int, dict[str, Any]]:
        kind = ""
        async for line in answer.content:
            if line.startswith(b"id: "):
                after = int(line[4:])
            elif line.startswith(b"event: "):
                kind = line[7:-1].decode()
            elif line.startswith(b"data: ") and kind in TERMINAL:
                return after, json.loads(line[6:])
        return after, {}

    async def answer_people(self) -> None:
        """Follow what happens in all sessions, and answer what is asked: yes, no, or not at all."""
        url = f"{self._house.url}/api/events/stream?type=permission_request&type=user_question"
        forever = aiohttp.ClientTimeout(total=None)
        async with asyncio.TaskGroup() as group, self._house.client.get(url, timeout=forever) as it:
            async for line in it.content:
                if line.startswith(b"data: "):
                    group.create_task(self._answer(json.loads(line[6:])))

    async def _answer(self, asked: dict[str, Any]) -> None:
        kind = self._chance.random()
        if asked["type"] == "warning" or kind < 0.1:
            self.course.answers["left alone"] += asked["type"] != "warning"
            return
        await asyncio.sleep(self._chance.uniform(0, 2))
        if asked["type"] == "user_question":
            path = f"questions/{asked['requestId']}/{'answer' if kind < 0.7 else 'decline'}"
            body: dict[str, Any] = {"answers": {"Which?": "A"}} if kind < 0.7 else {}
        else:
            path = f"permissions/{asked['id']}/{'grant' if kind < 0.6 else 'deny'}"
            body = {"contentHash": asked["contentHash"]} if kind < 0.6 else {"message": "no"}
        async with self._house.client.post(f"{self._house.url}/api/{path}", json=body) as answer:
            word = path.rpartition("/")[2]
            if answer.status == 200:
                self.course.answers[word] += 1
            elif answer.status in (409, 410):
                self.course.answers["too late"] += 1
            else:
                self.course.faults.append(f"{word}: {answer.status} {await answer.text()}")
