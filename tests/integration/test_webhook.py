"""The webhook: signed, in order, tried again while it matters, and never in a turn's way."""

import asyncio
import base64
import json
import logging
import re
import types
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError
from starlette.types import Receive, Scope, Send

from supervisor.approvals.board import Board
from supervisor.approvals.pending import Answer, Approvals
from supervisor.approvals.questions import Questions, Replies
from supervisor.approvals.webhook import Post, Receiver, receiver_of, secrets_of, telling
from supervisor.approvals.webhook_message import LONGEST_DISPLAY
from supervisor.errors import ConfigurationError
from supervisor.events.redact import Redactor
from supervisor.observability.health import Check
from supervisor.settings import Settings
from supervisor.storage.timestamp import SystemClock
from tests.worlds.http import listening
from tests.worlds.people import QUESTION, bash
from tests.worlds.policy_world import TURN, Recorder
from tests.worlds.waiting import until

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
PAGE = Path(__file__).parents[2] / "docs" / "approvals.md"


def documented_check() -> Callable[..., bool]:
    """The receiver's check as the documentation has it."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    module = types.ModuleType("of_the_page")
    exec(code, module.__dict__)  # noqa: S102 - it is our own page
    check: Callable[..., bool] = module.__dict__["is_genuine"]
    return check


@dataclass
class Inbox:
    """A receiver: what came, and what it answers, the last answer for ever."""

    answers: list[int] = field(default_factory=lambda: [204])
    came: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    holding: asyncio.Event | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {key.decode(): value.decode() for key, value in scope["headers"]}
        self.came.append((headers, body))
        if self.holding is not None:
            await self.holding.wait()
        status = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        there = [(b"location", b"/elsewhere")] if 300 <= status < 400 else []
        await send({"type": "http.response.start", "status": status, "headers": there})
        await send({"type": "http.response.body", "body": b"" if status == 204 else b"x" * 10})

    def said(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.came]

    async def until(self, count: int) -> list[dict[str, Any]]:
        """What came, once it is so much."""
        await until(lambda: len(self.came) >= count)
        return self.said()


class World:
    """People who are asked, and a webhook that is told."""

    def __init__(self, inbox: Inbox, url: str, known: tuple[str, ...]) -> None:
        board = Board()
        self.inbox = inbox
        self.sink = Recorder()
        self.approvals = Approvals(lambda _: self.sink, SystemClock(), board=board)
        self.questions = Questions(lambda _: self.sink, SystemClock(), board=board)
        receiver = Receiver(f"{url}/hook?key=canary-of-the-address", SecretStr(SECRET), (0.01,) * 3)
        self.telling = telling(receiver, board, SystemClock(), lambda: Redactor(known).apply)
        self.tasks: list[asyncio.Task[Any]] = []
        self.post: Post | None = None

    def health(self) -> Check:
        assert self.post is not None
        return self.post.check()

    async def until_it_is(self, ok: bool) -> Check:
        """What health says, once it is so; the inbox has a message before its sender knows."""
        async with asyncio.timeout(20):
            while (said := self.health()).ok is not ok:
                await asyncio.sleep(0.005)
        return said

    def ask(self, command: str) -> asyncio.Task[Answer]:
        task = asyncio.create_task(
            self.approvals.ask(TURN, bash(command, "helper (a1)"), "rule", "reason", "bash")
        )
        self.tasks.append(task)
        return task

    def question(self) -> asyncio.Task[Replies]:
        asked = {"questions": [QUESTION]}
        task = asyncio.create_task(self.questions.ask(TURN, "toolu_1", asked))
        self.tasks.append(task)
        return task


@asynccontextmanager
async def told(*answers: int, known: tuple[str, ...] = ()) -> AsyncIterator[World]:
    inbox = Inbox([*answers] or [204])
    async with listening(inbox) as at:
        world = World(inbox, at.url, known)
        async with world.telling as world.post:
            yield world
            for task in world.tasks:
                task.cancel()
            await asyncio.gather(*world.tasks, return_exceptions=True)


async def test_a_request_and_its_end_are_told_signed_as_the_page_checks_it() -> None:
    async with told() as world:
        world.ask("ls -la")
        (asked,) = await world.inbox.until(1)
        data = asked["data"]
        assert asked["type"] == "permission.requested"
        assert (data["sessionId"], data["turnId"]) == (TURN.session_id, TURN.turn_id)
        assert (data["toolName"], data["agentName"]) == ("Bash", "helper (a1)")
        assert data["display"] == 'command: "ls -la"'
        assert "input" not in data
        await world.approvals.answer(
            data["id"], "denied", content_hash=data["contentHash"], by="ada"
        )
        _, ended = await world.inbox.until(2)
        assert ended["type"] == "request.resolved"
        assert (ended["data"]["id"], ended["data"]["decision"]) == (data["id"], "denied")
        assert ended["data"]["by"] == "ada"
    check = documented_check()
    for headers, body in world.inbox.came:
        assert headers["content-type"] == "application/json"
        assert check(SECRET, headers, body)
        assert not check(SECRET, headers, body + b" ")
        assert not check("whsec_" + base64.b64encode(b"x" * 32).decode(), headers, body)
        old = {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) - 1000)}
        assert not check(SECRET, old, body)
    assert len({headers["webhook-id"] for headers, _ in world.inbox.came}) == 2


async def test_a_question_is_told_too() -> None:
    async with told() as world:
        asking = world.question()
        (asked,) = await world.inbox.until(1)
        assert (asked["type"], asked["data"]["questions"]) == ("question.asked", ["Which?"])
        await world.questions.answer(asked["data"]["id"], {"Which?": "this"})
        assert (await asking).answers == {"Which?": "this"}
        assert (await world.inbox.until(2))[1]["data"]["decision"] == "granted"


async def test_no_secret_and_no_more_than_a_page_of_an_input_is_sent() -> None:
    async with told(known=("canary-of-a-secret",)) as world:
        world.ask("echo canary-of-a-secret " + "x" * 5_000)
        (asked,) = await world.inbox.until(1)
    data = asked["data"]
    assert "canary-of-a-secret" not in json.dumps(asked)
    assert data["display"].startswith('command: "echo [redacted] x')
    assert len(data["display"]) <= LONGEST_DISPLAY
    assert data["displayIsWhole"] is False


async def test_what_does_not_arrive_is_tried_again_under_the_same_id() -> None:
    async with told(500, 302, 204) as world:
        world.ask("ls")
        await world.inbox.until(3)
    ids = {headers["webhook-id"] for headers, _ in world.inbox.came[:3]}
    assert len(ids) == 1
    assert world.inbox.came[0][0]["host"] == world.inbox.came[2][0]["host"]


async def test_it_is_given_up_after_its_tries_and_the_log_names_the_host_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        async with told(500) as world:
            asking = world.ask("ls")
            await world.inbox.until(4)
            await until(lambda: "did not arrive" in caplog.text)
            (request,) = world.approvals.pending()
            await world.approvals.answer(request.id, "granted")
            assert (await asking).decision == "granted"
    assert len(world.inbox.came) == 4  # and its end isn't told, as its beginning wasn't
    (record,) = [each for each in caplog.records if "did not arrive" in each.message]
    assert record.__dict__["fields"]["host"] == "127.0.0.1"
    assert "canary" not in repr([each.__dict__ for each in caplog.records])


async def test_a_receiver_that_never_answers_holds_up_no_turn_and_no_end() -> None:
    async with told() as world:
        world.inbox.holding = asyncio.Event()
        tasks = [world.ask(f"{number}") for number in range(20)]
        await world.inbox.until(1)
        for request in world.approvals.pending():
            await world.approvals.answer(request.id, "granted")
        assert [(await task).decision for task in tasks] == ["granted"] * 20
    # The block was left although answers were still waited for.


async def test_one_that_ended_before_it_could_be_told_is_not_told() -> None:
    async with told(500, 500, 204) as world:
        world.inbox.holding = asyncio.Event()
        world.ask("ls")
        await world.inbox.until(1)
        (request,) = world.approvals.pending()
        await world.approvals.answer(request.id, "granted")
        world.inbox.holding.set()
        world.ask("pwd")
        said = await world.inbox.until(3)
        assert [each["data"]["display"] for each in said if "display" in each["data"]] == [
            'command: "ls"', 'command: "pwd"', 'command: "pwd"',
        ]  # fmt: skip


async def test_a_receiver_that_wants_no_more_gets_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        async with told(410) as world:
            world.ask("ls")
            await world.inbox.until(1)
            await until(lambda: "wants no more" in caplog.text)
            world.ask("pwd")
            await until(lambda: len(world.approvals.pending()) >= 2)
            for request in world.approvals.pending():
                await world.approvals.answer(request.id, "denied")
            await asyncio.gather(*world.tasks)
    assert len(world.inbox.came) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/x", "http://localhost.evil.example/", "ftp://x/", "https://",
        "https://me:pw@hooks.example.com/", "hooks.example.com", "http://127.0.0.1@evil.example/",
    ],
)  # fmt: skip
def test_an_address_over_which_others_could_listen_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        Settings(vault=tmp_path, webhook_url=url)


@pytest.mark.parametrize(
    "url", ["https://hooks.example.com/x?y=z", "http://[::1]:8080/", "http://localhost/"]
)
def test_https_and_this_machine_are_taken(url: str, tmp_path: Path) -> None:
    assert Settings(vault=tmp_path, webhook_url=url).webhook_url == url


@pytest.mark.parametrize("secret", [None, "", "short", "whsec_c2hvcnQ=", "whsec_" + "ä" * 40])
def test_without_a_secret_worth_the_name_it_is_not_set_up(secret: str | None) -> None:
    with pytest.raises(ConfigurationError) as wrong:
        receiver_of("https://x.example/", None if secret is None else SecretStr(secret))
    assert wrong.value.where == "TRUSTFLOOR_WEBHOOK_SECRET"
    assert not secret or secret not in str(wrong.value)


def test_its_secret_and_a_telling_address_are_known_to_what_redacts() -> None:
    receiver = receiver_of("https://x.example/T0/B0/key", SecretStr(SECRET))
    assert set(secrets_of(receiver)) == {
        SECRET, SECRET.removeprefix("whsec_"), "https://x.example/T0/B0/key",
    }  # fmt: skip
    assert "key" not in repr(receiver)
    assert "https://x.example/" not in secrets_of(
        receiver_of("https://x.example/", SecretStr(SECRET))
    )
    assert receiver_of(None, None) is None


async def test_health_tells_how_the_last_message_fared() -> None:
    async with told(204, 500) as world:
        before = world.health()
        assert (before.ok, before.detail) == (None, "127.0.0.1 was sent nothing yet")
        world.ask("ls")
        assert "127.0.0.1 got the last message, at 20" in (await world.until_it_is(ok=True)).detail
        world.ask("pwd")
        lacking = await world.until_it_is(ok=False)
        assert lacking.detail.endswith("Z: HTTP 500")
        assert "TRUSTFLOOR_WEBHOOK_URL" in str(lacking.remedy)
        assert "canary" not in f"{lacking} {before}"
    async with told(410) as world:
        world.ask("ls")
        assert "wants no more" in (await world.until_it_is(ok=False)).detail
