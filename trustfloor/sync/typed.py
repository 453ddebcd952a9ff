"""Base of what asks the supervisor: a request with a typed answer."""

from collections.abc import Mapping
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, TypeAdapter

from trustfloor.errors import document
from trustfloor.sync.connection import SILENCE_SECONDS, Connection
from trustfloor.wire import File, named, understood

M = TypeVar("M", bound=BaseModel)


class Typed:
    """Asks over a connection. Every method of it raises Unreachable, Refused or Unexpected."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _get(self, kind: type[M], path: str) -> M:
        return _read(kind, self._connection.answer("GET", path))

    def _ask(  # noqa: PLR0913 - what a request is made of
        self,
        kind: type[M],
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        seconds: float = SILENCE_SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> M:
        patience = httpx.Timeout(10.0, read=seconds)
        said = dict(body or {})
        answer = self._connection.answer
        return _read(kind, answer(method, path, json=said, timeout=patience, headers=headers))

    def _upload(
        self, kind: type[M], path: str, file: File, form: Mapping[str, str], *, seconds: float
    ) -> M:
        patience = httpx.Timeout(10.0, read=seconds, write=seconds)
        files = {"file": named(file)}
        answer = self._connection.answer
        return _read(kind, answer("POST", path, files=files, data=dict(form), timeout=patience))


def _read(kind: type[M], response: httpx.Response) -> M:
    return understood(TypeAdapter(kind), document(response))
