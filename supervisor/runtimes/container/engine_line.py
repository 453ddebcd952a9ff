"""The line to a container engine: its socket, asked through Docker's library in threads.

Every question ends within `CALL_SECONDS`, also when the socket accepts and never answers. There is
no connection to lose: each question finds its own, so after the engine comes back the next works.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Final, TypeAlias, TypeVar

import docker
import docker.errors
import requests.exceptions

from supervisor.errors import EngineUnreachable
from supervisor.runtimes.container.engine_failures import translate, unreachable

CALL_SECONDS: Final = 8.0
ANSWER_SECONDS: Final = 7.0
"""Less than a call: its thread ends before its caller gives up."""

_THREADS: Final = 32
_PING: Final = b"GET /_ping HTTP/1.1\r\nHost: engine\r\nConnection: close\r\n\r\n"

Client: TypeAlias = docker.APIClient
T = TypeVar("T")


class EngineLine:
    """The line to one engine on a Unix socket, until `close`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._client: Client | None = None
        self._connecting = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="engine")
        self.is_silent = False
        """Whether the engine was found not to answer, and hasn't answered since."""

    def close(self) -> None:
        """Let go of the connections; a call that still waits ends by itself within its bound."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._forget()

    async def answers(self, seconds: float) -> bool:
        """Whether the engine answers the least of questions within that time. Never raises.

        Asked without the library and its threads, which may all be waiting for it already.
        """
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await asyncio.open_unix_connection(self.path)
                with closing(writer):
                    writer.write(_PING)
                    self.is_silent = not (await reader.read(16)).startswith(b"HTTP/1.")
        except (OSError, TimeoutError):
            self.is_silent = True
        return not self.is_silent

    async def ask(self, question: Callable[[Client], T]) -> T:
        """What the engine answers, asked in a thread.

        Raises EngineUnreachable, EngineRefused, Absent, Conflict.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CALL_SECONDS):
                answer = await loop.run_in_executor(self._threads, self._asked, question)
            self.is_silent = False
            return answer
        except TimeoutError:
            self.is_silent = True
            raise unreachable(
                self.path, "accepts and doesn't answer", "restart the engine"
            ) from None

    def _asked(self, question: Callable[[Client], T]) -> T:
        try:
            self._knock()
            return question(self._connected())
        except (
            OSError,
            docker.errors.DockerException,
            requests.exceptions.RequestException,
        ) as error:
            failure = translate(error, self.path)
            if isinstance(failure, EngineUnreachable):
                self.is_silent = True
                self._forget()
            raise failure from error

    def _knock(self) -> None:
        """See that somebody opens; 50 microseconds. The library loses a socket when nobody does."""
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(ANSWER_SECONDS)
            door.connect(self.path)

    def _connected(self) -> Client:
        with self._connecting:
            if self._client is None:
                client = Client(
                    f"unix://{self.path}",
                    version="auto",
                    timeout=ANSWER_SECONDS,
                    max_pool_size=_THREADS,
                )
                client.trust_env = False  # a proxy for web traffic is none of the engine's
                self._client = client
            return self._client

    def _forget(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()
