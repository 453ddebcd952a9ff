"""Tells a webhook what waits for people, and how it ended. No turn ever waits for it.

Each request that is open has one task here, so that what is said of it comes in order: first that
it is asked, with a few tries, and if that arrived, how it ended. A request that ends before anybody
could be told isn't told of.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from pydantic import SecretStr

from supervisor.approvals.board import Board, Posted, Settled
from supervisor.approvals.webhook_message import (
    SECRET_PREFIX,
    Message,
    asked_message,
    ended_message,
    secret_bytes,
    signature,
)
from supervisor.clock import Clock
from supervisor.errors import ConfigurationError
from supervisor.observability.health import Check
from supervisor.observability.logs import fields
from supervisor.storage.timestamp import to_text

_log = logging.getLogger(__name__)

PAUSES_SECONDS: Final = (1.0, 3.0, 8.0, 20.0)
"""The waits before the second try and the further ones."""
TRY_SECONDS: Final = 10.0
"""How long one try may take."""
AT_ONCE: Final = 8
"""Tries that run at the same time."""
Redacting = Callable[[], Callable[[Any], Any]]

_NAME: Final = "webhook"
_GONE: Final = 410
"""The receiver wants no more."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where to send, and what to sign with."""

    url: str = field(repr=False)
    secret: SecretStr
    pauses: Sequence[float] = PAUSES_SECONDS

    @property
    def host(self) -> str:
        """What of the address may be logged: the rest may be as good as a password."""
        return httpx.URL(self.url).host


def receiver_of(url: str | None, secret: SecretStr | None) -> Receiver | None:
    """The receiver that is set up, if one is. Raises ConfigurationError for half of one."""
    if url is None:
        return None
    if secret is None:
        raise ConfigurationError(
            "a webhook's messages are signed, and there is no secret to sign them with",
            where="TRUSTFLOOR_WEBHOOK_SECRET",
            remedy="make one: echo whsec_$(head -c 32 /dev/urandom | base64)",
        )
    secret_bytes(secret.get_secret_value())
    return Receiver(url, secret)


def secrets_of(receiver: Receiver | None) -> tuple[str, ...]:
    """What of it nobody else is to see: the secret, and the address with what is as good as one."""
    if receiver is None:
        return ()
    secret, url = receiver.secret.get_secret_value(), httpx.URL(receiver.url)
    plain = url.raw_path == b"/"
    return (secret, secret.removeprefix(SECRET_PREFIX), *(() if plain else (receiver.url,)))


@asynccontextmanager
async def telling(
    receiver: Receiver | None, board: Board, clock: Clock, redacting: Redacting
) -> AsyncIterator["Post | None"]:
    """Tell the receiver while the block lasts; what isn't told by then isn't any more.

    `redacting` gives what takes the secrets known by now out of what is sent. Raises
    ConfigurationError for a secret that is none.
    """
    if receiver is None:
        yield None
        return
    async with httpx.AsyncClient(
        trust_env=False, follow_redirects=False, timeout=TRY_SECONDS
    ) as client:
        post = Post(receiver, secret_bytes(receiver.secret.get_secret_value()), client, clock)
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(_watch(board, post, redacting))
            try:
                yield post
            finally:
                watching.cancel()


async def _watch(board: Board, post: "Post", redacting: Redacting) -> None:
    ends: dict[str, asyncio.Future[Settled]] = {}
    with board.watching(lambda _: True) as watch:
        async with asyncio.TaskGroup() as group:
            while True:
                await watch.changed()
                ended, fresh = watch.look()
                for settled in ended:
                    ends.pop(settled.resolved.id).set_result(settled)
                for request in fresh:
                    end = ends[request.id] = asyncio.get_running_loop().create_future()
                    group.create_task(_tell(request, end, post, redacting))


async def _tell(
    request: Posted,
    end: "asyncio.Future[Settled]",
    post: "Post",
    redacting: Redacting,
) -> None:
    asked = asked_message(request, post.moment(), redacting())
    if asked is None or not await post.deliver(asked, unless=end):
        return
    await post.deliver(ended_message(await end, post.moment(), redacting()))


@dataclass(slots=True)
class Post:
    """Sends messages, each until it arrives or its tries are used up."""

    receiver: Receiver
    secret: bytes = field(repr=False)
    client: httpx.AsyncClient
    clock: Clock
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    is_unwanted: bool = False
    last: tuple[str, str] | None = None
    """When the last message was settled, and why it didn't arrive; empty if it did."""

    def check(self) -> Check:
        """How the last message fared, for health."""
        host = self.receiver.host
        if self.is_unwanted:
            remedy = "once it does, start the supervisor again; or unset TRUSTFLOOR_WEBHOOK_URL"
            detail = f"{host} wants no more (HTTP 410)"
            return Check(_NAME, ok=False, detail=detail, remedy=remedy)
        if self.last is None:
            return Check(_NAME, ok=None, detail=f"{host} was sent nothing yet")
        at, why = self.last
        if not why:
            return Check(_NAME, ok=True, detail=f"{host} got the last message, at {at[:19]}Z")
        detail = f"{host} didn't get the last message, at {at[:19]}Z: {why}"
        remedy = "look at the receiver, and at TRUSTFLOOR_WEBHOOK_URL"
        return Check(_NAME, ok=False, detail=detail, remedy=remedy)

    def moment(self) -> str:
        """Now, as ISO 8601 in UTC."""
        return to_text(self.clock.now())

    async def deliver(
        self, message: Message, unless: "asyncio.Future[Settled] | None" = None
    ) -> bool:
        """Whether it arrived. No further try is made once `unless` is done."""
        why = ""
        for pause in (0.0, *self.receiver.pauses):
            if pause and unless is not None:
                await asyncio.wait({unless}, timeout=pause)
            elif pause:
                await asyncio.sleep(pause)
            async with self.slots:
                if self.is_unwanted or (unless is not None and unless.done()):
                    return False
                why = await self._send(message)
            if not why:
                self.last = (self.moment(), "")
                return True
        self.last = (self.moment(), why)
        known = fields(host=self.receiver.host, kind=message.type, why=why)
        _log.warning("a webhook's message did not arrive", extra=known)
        return False

    async def _send(self, message: Message) -> str:
        """Why it didn't arrive; empty if it did."""
        at = int(self.clock.now())
        headers = {
            "content-type": "application/json",
            "user-agent": "trustfloor",
            "webhook-id": message.id,
            "webhook-timestamp": str(at),
            "webhook-signature": signature(self.secret, message, at),
        }
        try:
            async with (
                asyncio.timeout(TRY_SECONDS),
                self.client.stream(
                    "POST", self.receiver.url, content=message.body, headers=headers
                ) as answer,
            ):  # what the answer says is nobody's matter, so it isn't read
                status = answer.status_code
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            return type(error).__name__
        if status == _GONE and not self.is_unwanted:
            self.is_unwanted = True
            known = fields(host=self.receiver.host)
            _log.warning("the webhook's receiver wants no more (HTTP 410)", extra=known)
        return "" if httpx.codes.is_success(status) else f"HTTP {status}"
