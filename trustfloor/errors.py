"""How talking to a supervisor fails: nobody answers, it refuses, or its answer isn't understood."""

from collections.abc import Mapping
from typing import Any

import httpx
import orjson

from supervisor.errors import TrustfloorError


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


def unreachable(url: str, error: httpx.TransportError) -> Unreachable:
    """What a failure of the connection to this address is to a person."""
    return Unreachable(
        f"no supervisor answers: {error or type(error).__name__}",
        where=url,
        remedy="start `trustfloor serve`, or set TRUSTFLOOR_URL if it runs elsewhere",
    )
