"""Who makes vectors of texts, if an admin has named one. Texts go there and nowhere else."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import httpx
import orjson
from pydantic import SecretStr

from supervisor.errors import TrustfloorError
from supervisor.storage.found import Found, Wanted

SECONDS: Final = 60.0
LARGEST_ANSWER: Final = 64 * 1024 * 1024
"""Bytes."""


class EmbeddingsFailed(TrustfloorError):
    """No vectors could be had; search goes by words alone."""

    code = "embeddings_failed"
    status = 502
    title = "No vectors"
    retryable = True


class Embeds(Protocol):
    """Makes vectors; `name` tells those of one maker from those of another."""

    @property
    def name(self) -> str:
        """Its address and model."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text. Raises EmbeddingsFailed."""
        ...


class Similar(Protocol):
    """What search knows of vectors; `similarity.py` does it."""

    async def embed_pieces(self, may_go: Callable[[], bool]) -> int:
        """Give vectors to the pieces that have none, while they may be sent; how many got one."""
        ...

    async def nearest(self, text: str, wanted: Wanted, limit: int) -> list[Found]:
        """The contents nearest to a text. Raises EmbeddingsFailed."""
        ...


class HttpEmbeds:
    """A server that speaks OpenAI's `/v1/embeddings`, as most local ones do."""

    def __init__(
        self, url: str, model: str, key: SecretStr | None, client: httpx.AsyncClient
    ) -> None:
        self._url = url
        self._model = model
        self._key = key
        self._client = client

    @property
    def name(self) -> str:
        """Its address and model."""
        return f"{self._url} {self._model}"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text. Raises EmbeddingsFailed."""
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        key = None if self._key is None else self._key.get_secret_value()
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        try:
            async with self._client.stream(
                "POST", self._url, json=body, headers=headers, timeout=SECONDS
            ) as response:
                content = await _content(response)
                if response.status_code != httpx.codes.OK:
                    raise self._failed(f"it answered {response.status_code}")
        except httpx.HTTPError as error:
            raise self._failed(str(error) or type(error).__name__) from None
        vectors = _vectors(content, len(texts))
        if vectors is None:
            raise self._failed("its answer is not one vector for each text")
        return vectors

    def _failed(self, why: str) -> EmbeddingsFailed:
        return EmbeddingsFailed(
            f"no vectors can be had: {why}",
            where=self._url,
            remedy="look at the server that TRUSTFLOOR_EMBEDDINGS_URL names",
        )


async def _content(response: httpx.Response) -> bytes:
    parts, size = list[bytes](), 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER:
            break
    return b"".join(parts)


def _vectors(content: bytes, count: int) -> list[list[float]] | None:
    try:
        entries: Any = orjson.loads(content)["data"]
        found = {int(each["index"]): [float(one) for one in each["embedding"]] for each in entries}
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None
    vectors = [found.get(index, []) for index in range(count)]
    is_whole = len({len(each) for each in vectors}) == 1 and vectors[0]
    is_finite = all(math.isfinite(one) for each in vectors for one in each)
    return vectors if is_whole and is_finite else None
