"""How talking to a supervisor fails: nobody answers, it refuses, or its answer isn't understood."""

import ssl
from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx
import orjson

from supervisor.errors import TrustfloorError

_DEEPEST: Final = 8
"""Faults beneath a fault that are looked at."""
_START_IT: Final = "start `trustfloor serve`, or set TRUSTFLOOR_URL if it runs elsewhere"
_BELIEVE_IT: Final = "set TRUSTFLOOR_CA_FILE to the PEM file of its authority, or of itself"
_IN_THE_CLEAR: Final = "name it by http://, if whoever listens there may have the token"
_IN_TLS: Final = "see whether it still runs; if it speaks TLS, name it by https://"
_NOTHING: Final = "without sending a response"
"""How httpx says that a connection was closed before a byte of an answer came."""


class Unreachable(TrustfloorError):
    """No supervisor answers at the address."""

    code = "unreachable"
    title = "No supervisor answers"


class Unexpected(TrustfloorError):
    """The answer isn't what this client knows: the supervisor is of another version."""

    code = "unexpected_answer"
    title = "The answer isn't understood"


class Refused(TrustfloorError):
    """A problem instead of an answer; `problem` is its document.

    `status` and `code` are the problem's own, as are `where` and `remedy`.
    """

    code = "refused"
    title = "Refused"

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(
            str(problem.get("detail") or f"the server answered {status}"),
            where=problem.get("where"),
            remedy=problem.get("remedy"),
        )
        self.problem = problem
        self.status = status
        self.code = str(problem.get("code") or Refused.code)


def refused(response: httpx.Response) -> Refused:
    """The refusal that a response is; its body has been read."""
    try:
        problem = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        problem = {}
    return Refused(response.status_code, problem if isinstance(problem, dict) else {})


def document(response: httpx.Response) -> Any:
    """The JSON that an answer is. Raises Unexpected for anything else."""
    try:
        return orjson.loads(response.content)
    except orjson.JSONDecodeError:
        raise _no_supervisor("the answer is no JSON", response) from None


def stream_of_events(response: httpx.Response) -> httpx.Response:
    """The same answer, if it is a stream of events. Raises Unexpected for anything else."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "text/event-stream":
        raise _no_supervisor("the answer is no stream of events", response)
    return response


def begun(response: httpx.Response) -> tuple[str, int]:
    """The session of the turn that an answer tells of, and the last event's number before it."""
    try:
        return response.headers["trustfloor-session"], int(response.headers["trustfloor-after"])
    except (KeyError, ValueError):
        raise _no_supervisor("the answer doesn't say which session it is of", response) from None


def _no_supervisor(what: str, response: httpx.Response) -> Unexpected:
    return Unexpected(
        what,
        where=str(response.url.copy_with(query=None)),
        remedy="see whether a supervisor listens there, and of this version",
    )


def unreachable(url: str, error: httpx.TransportError) -> Unreachable:
    """What a failure of the connection to this address is to a person."""
    why, remedy = _over_tls(url, error) or (_why(error), _START_IT)
    return Unreachable(f"no supervisor answers: {why}", where=url, remedy=remedy)


def _over_tls(url: str, error: httpx.TransportError) -> tuple[str, str] | None:
    """Why, and what to do, where one of both speaks TLS or the certificate isn't believed."""
    found = next((each for each in _beneath(error) if isinstance(each, ssl.SSLError)), None)
    if isinstance(found, ssl.SSLCertVerificationError):
        return f"its certificate isn't believed: {found.verify_message}", _BELIEVE_IT
    if found is not None and found.reason in {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"}:
        return "it speaks no TLS there", _IN_THE_CLEAR
    closed = isinstance(error, httpx.RemoteProtocolError) and _NOTHING in str(error)
    if closed and url.lower().startswith("http://"):
        return "it closes the connection without an answer", _IN_TLS
    return None


def _why(error: BaseException) -> str:
    """The system's own fault in words, where there is one: HTTP's libraries wrap it."""
    if isinstance(error, httpx.TimeoutException):
        return "it took too long"
    for beneath in _beneath(error):
        if isinstance(beneath, FileNotFoundError):
            return "none runs here (there is no socket)"
        if isinstance(beneath, ConnectionRefusedError):
            return "none listens there (any more)"
        if isinstance(beneath, OSError) and beneath.errno is not None and beneath.strerror:
            return beneath.strerror[:1].lower() + beneath.strerror[1:]
    return str(error) or type(error).__name__


def _beneath(error: BaseException) -> Iterator[BaseException]:
    """The error, and what it came of."""
    beneath: BaseException | None = error
    for _ in range(_DEEPEST):
        if beneath is None:
            return
        yield beneath
        beneath = beneath.__cause__ or beneath.__context__
