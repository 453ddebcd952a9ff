"""Who calls, in a route's signature; the door has found out."""

from typing import Annotated, Final

from fastapi import Depends
from starlette.requests import Request

from supervisor.access.holder import Holder, NotAllowed, Scope

__all__ = ["CALLER", "Caller", "Calling", "NotAllowed", "Scope"]

Caller = Holder

CALLER: Final = "trustfloor.caller"
"""Where the door leaves the caller in a request's scope."""


def _the_caller(request: Request) -> Caller:
    caller = request.scope.get(CALLER)
    if not isinstance(caller, Holder):
        raise NotAllowed("nobody has said who calls")
    return caller


Calling = Annotated[Caller, Depends(_the_caller)]
"""In a route's signature: who calls."""
