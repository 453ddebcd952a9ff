"""What the commands ask a supervisor: by path, JSON as the API gives it, over our own client."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Self

import httpx

from trustfloor.aio.connection import SILENCE_SECONDS, AsyncConnection
from trustfloor.aio.lasting import AsyncFeed
from trustfloor.aio.turn import AsyncTurn as Turn
from trustfloor.errors import Refused, Unreachable, document
from trustfloor.finding import find_token, find_url
from trustfloor.heard import TERMINAL, Heard

__all__ = [
    "TERMINAL",
    "Client",
    "Heard",
    "Refused",
    "Turn",
    "Unreachable",
    "feed",
    "find_token",
    "find_url",
]


def feed(client: "Client", path: str) -> AsyncGenerator[Heard]:
    """What a path tells, as it comes, without end. Raises Unreachable or Refused."""
    return AsyncFeed(client, path, None).events()


class Client(AsyncConnection):
    """A connection to one supervisor, as an async context manager."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        return self

    def turn(self, body: Mapping[str, Any]) -> Turn:
        """A turn that begins when its events are first asked for."""
        return Turn(self, body)

    async def get(self, path: str) -> Any:
        """The JSON that a path has. Raises Unreachable or Refused."""
        return await self._ask("GET", path)

    async def post(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        seconds: float = SILENCE_SECONDS,
    ) -> Any:
        """Change something; the answer's JSON. Raises Unreachable or Refused.

        `seconds`: how long the answer is waited for.
        """
        patience = httpx.Timeout(10.0, read=seconds)
        return await self._ask("POST", path, json=dict(body or {}), timeout=patience)

    async def made(self, path: str, body: Mapping[str, Any], *, only_new: bool) -> tuple[Any, bool]:
        """Make a thing or change it; the answer's JSON, and whether it is new.

        `only_new`: one that is there is left alone. Raises Unreachable or Refused.
        """
        headers = {"If-None-Match": "*"} if only_new else {}
        response = await self.answer("POST", path, json=dict(body), headers=headers)
        return document(response), response.status_code == httpx.codes.CREATED

    async def put(self, path: str, body: Mapping[str, Any]) -> Any:
        """Set something; the answer's JSON. Raises Unreachable or Refused."""
        return await self._ask("PUT", path, json=dict(body))

    async def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Change a part; the answer's JSON. Raises Unreachable or Refused."""
        return await self._ask("PATCH", path, json=dict(body))

    async def delete(self, path: str) -> Any:
        """Take something away; the answer's JSON. Raises Unreachable or Refused."""
        return await self._ask("DELETE", path, json={})

    async def upload(
        self,
        path: str,
        name: str,
        content: bytes,
        fields: Mapping[str, str | None],
        *,
        seconds: float = SILENCE_SECONDS,
    ) -> Any:
        """Send a file as a form; the answer's JSON. Raises Unreachable or Refused.

        `seconds`: how long the answer is waited for.
        """
        said = {key: value for key, value in fields.items() if value is not None}
        patience = httpx.Timeout(10.0, read=seconds, write=seconds)
        files = {"file": (name, content)}
        return await self._ask("POST", path, files=files, data=said, timeout=patience)

    async def read(self, path: str) -> bytes:
        """The bytes that a path has. Raises Unreachable or Refused."""
        return (await self.answer("GET", path)).content

    async def abort(self, session_id: str, reason: str) -> bool:
        """End the session's turn; whether there was one."""
        answer = await self.post(f"/api/chat/session/{session_id}/abort", {"reason": reason})
        return bool(answer["aborted"])

    async def _ask(self, method: str, path: str, **request: Any) -> Any:
        response = await self.answer(method, path, **request)
        return document(response) if response.content else None
