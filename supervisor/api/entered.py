"""Every request that changes something is entered into the audit log before a route acts on it.

What it was and who made it; not its body. For all routes at once, so that a new one is covered.
"""

from typing import Final

from starlette.requests import Request

from supervisor.api.caller import CALLER
from supervisor.api.parts import Supervisor

_CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_ONLY_ASKS: Final = frozenset({"/api/policy/explain"})
"""Routes that change nothing, whatever their method."""
_PREFIX: Final = "/api"
"""What all routes begin with; where they are put together, a route knows itself without it."""
_LONGEST: Final = 200
"""Characters of a name in a path; it may be anybody's."""


async def entered(request: Request, supervisor: Supervisor) -> None:
    """A dependency of all routes. Raises ConfigurationError if it can't be written: then no."""
    if request.method not in _CHANGING or request.url.path in _ONLY_ASKS:
        return
    template = str(getattr(request.scope.get("route"), "path", ""))
    route = template if template.startswith(_PREFIX) else _PREFIX + template
    named = {name: str(value)[:_LONGEST] for name, value in request.path_params.items()}
    session = named.pop("session_id", None)
    body = {"method": request.method, "route": route, "by": _caller(request), **named}
    await supervisor.record("request", session, None, body)


def _caller(request: Request) -> str:
    """The caller's name, as the door has left it."""
    return str(getattr(request.scope.get(CALLER), "name", "nobody"))
