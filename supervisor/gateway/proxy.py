"""Passes admitted requests on to the model's API: the only place that holds and uses the key."""

import io
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp import web
from aiohttp.client_exceptions import UnixClientConnectorError
from pydantic import SecretStr

from supervisor.gateway.admission import MESSAGES, Admitted
from supervisor.gateway.budget import Usage
from supervisor.gateway.condition import Condition
from supervisor.gateway.refusal import Refused
from supervisor.gateway.unix_socket import short_path
from supervisor.gateway.usage import BodyMeter, StreamMeter

CONNECT_SECONDS = 5.0  # names, TCP and TLS; the CLI tries again a few times (docs/gateway.md)
SILENCE_SECONDS = 900.0  # longer than the CLI's own patience, so that it decides
MAX_ERROR_BODY = 64 * 1024

CREDENTIAL_ERRORS = {401: "authentication_error", 403: "permission_error"}
ANSWER_HEADERS = frozenset({"content-type", "request-id", "retry-after", "x-should-retry"})
ANSWER_HEADER_PREFIXES = ("anthropic-ratelimit-",)


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where model traffic goes: the real API over TLS, or a scripted model on a Unix socket.

    `api_key` None: no credentials are sent. The key shows in no repr, log or error.
    """

    base_url: str
    api_key: SecretStr | None = field(default=None, repr=False)
    unix_socket: Path | None = None


class Proxy:
    """The connection to the model's API, shared by all doors."""

    def __init__(self, upstream: Upstream, session: aiohttp.ClientSession) -> None:
        self._base_url = upstream.base_url.rstrip("/")
        self._key = upstream.api_key.get_secret_value() if upstream.api_key else None
        self._session = session
        self.condition = Condition(upstream.base_url, upstream.unix_socket)

    async def forward(
        self,
        request: web.Request,
        admitted: Admitted,
        charge: Callable[[Usage], None],
        trouble: Callable[[str | None], None],
    ) -> web.StreamResponse:
        """Send the request on and its answer back, chunk by chunk as it comes.

        `charge` is called once with what it used, unless the API didn't work on it. `trouble` is
        told what is wrong with the API, for the person and not for the agent, or None if nothing
        is. If the client leaves, this is cancelled, and with it the request to the API.
        """

        def told(what: str | None, *, key_refused: bool = False) -> None:
            self.condition.note(what, key_refused=key_refused)
            trouble(what)

        meter = StreamMeter() if admitted.stream else BodyMeter()
        billable = admitted.path.partition("?")[0] == MESSAGES
        try:
            async with self._session.post(
                self._base_url + admitted.path,
                data=io.BytesIO(admitted.body),  # bytes of this size would be copied at once
                headers=self._headers(admitted),
                allow_redirects=False,  # the key must not follow to another host
            ) as answer:
                if answer.status != web.HTTPOk.status_code:
                    billable = False
                    told(
                        f"it answered with status {answer.status}",
                        key_refused=answer.status in CREDENTIAL_ERRORS,
                    )
                    return await self._error(answer)
                told(None)
                return await _stream(request, answer, meter)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            billable = False
            told(f"it can't be reached: {_why(error)}")
            return error_response(Refused(502, "api_error", "the model's API can't be reached"))
        except (aiohttp.ClientError, TimeoutError):
            told("it broke off before it answered")
            return error_response(Refused(502, "api_error", "the model's API broke off"))
        finally:
            if billable:
                charge(meter.result(len(admitted.body)))

    def _headers(self, admitted: Admitted) -> dict[str, str]:
        headers = {**admitted.headers, "accept-encoding": "identity"}
        if self._key is not None:
            headers["x-api-key"] = self._key
        return headers

    async def _error(self, answer: aiohttp.ClientResponse) -> web.Response:
        """The API's own error, with nothing in it that names our key."""
        if answer.status in CREDENTIAL_ERRORS:
            kind = CREDENTIAL_ERRORS[answer.status]
            message = "the model's API refused the supervisor's credentials"
            refusal = error_response(Refused(answer.status, kind, message))
            # Without it the CLI tries a 401 again for minutes, as if its own login had expired.
            refusal.headers["x-should-retry"] = "false"
            return refusal
        if answer.status < 400:  # noqa: PLR2004 - a redirect, or a success the API doesn't have
            message = f"the model's API answered with status {answer.status}"
            return error_response(Refused(502, "api_error", message))
        body = b""
        while len(body) < MAX_ERROR_BODY and (chunk := await answer.content.readany()):
            body += chunk
        if self._key is not None:
            body = body.replace(self._key.encode(), b"[key]")
        headers = {n: v for n, v in _passing(answer).items() if not self._key or self._key not in v}
        return web.Response(status=answer.status, headers=headers, body=body[:MAX_ERROR_BODY])


@asynccontextmanager
async def open_proxy(upstream: Upstream) -> AsyncIterator[Proxy]:
    """A proxy and its connections, for as long as the block lasts.

    Raises OSError if the folder of the upstream's Unix socket isn't there.
    """
    path = upstream.unix_socket
    with short_path(path) if path else nullcontext("") as short:
        connector = (
            aiohttp.UnixConnector(short, limit=0)
            if path
            else aiohttp.TCPConnector(ssl=ssl.create_default_context(), limit=0)
        )
        async with aiohttp.ClientSession(
            connector=connector,
            trust_env=False,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("user-agent", "accept", "content-type"),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS
            ),
        ) as session:
            yield Proxy(upstream, session)


def error_response(refused: Refused) -> web.Response:
    """An error in the shape the Messages API gives it."""
    return web.json_response(
        {
            "type": "error",
            "error": {"type": refused.error_type, "message": refused.message},
        },
        status=refused.status,
    )


def _why(error: aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError) -> str:
    """The cause of a failed connection, with host and port alone of the address."""
    if not isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection within {CONNECT_SECONDS:.0f} s"
    if isinstance(error, UnixClientConnectorError):
        return error.os_error.strerror or "the scripted model is gone"
    # A certificate's error is of the same kind, but has no `os_error`.
    certificate = getattr(error, "certificate_error", None)
    if certificate is not None:
        return f"{error.host}:{error.port}: {certificate}"
    cause = error.os_error
    number = cause.errno or 0
    words = os.strerror(number) if number > 0 else cause.strerror  # a name's errors are below 0
    return f"{error.host}:{error.port}: {words or cause}"


async def _stream(
    request: web.Request, answer: aiohttp.ClientResponse, meter: StreamMeter | BodyMeter
) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers=_passing(answer))
    await response.prepare(request)
    try:
        async for chunk in answer.content.iter_any():
            meter.feed(chunk)
            await response.write(chunk)
        await response.write_eof()
    except (aiohttp.ClientError, ConnectionError, TimeoutError):
        # One side broke off in the middle. The other must see that, not a clean end.
        if request.transport is not None:
            request.transport.abort()
    return response


def _passing(answer: aiohttp.ClientResponse) -> dict[str, str]:
    return {
        name: value
        for name, value in answer.headers.items()
        if name.lower() in ANSWER_HEADERS or name.lower().startswith(ANSWER_HEADER_PREFIXES)
    }
