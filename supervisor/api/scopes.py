"""Which scope each route takes: one table, looked into at the door.

A route that isn't in it takes the scope `admin` and the whole vault, so that a new one that was
forgotten here is closed rather than open. What a path's place is filled with doesn't matter.
"""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from supervisor.access.holder import Holder, NotAllowed, Scope

_CHAT: Final = frozenset({Scope.CHAT})
_APPROVE: Final = frozenset({Scope.APPROVE})
_ADMIN: Final = frozenset({Scope.ADMIN})
_METRICS: Final = frozenset({Scope.METRICS, Scope.ADMIN})
_ANY: Final = _CHAT | _APPROVE | _ADMIN


@dataclass(frozen=True, slots=True)
class Demand:
    """What a route takes: one of these scopes, and if `whole`, a token for all workspaces."""

    scopes: AbstractSet[Scope]
    whole: bool = False

    def require(self, caller: Holder) -> None:
        """Raise NotAllowed if the caller hasn't got it."""
        if not self.scopes & caller.scopes:
            wanted = " or ".join(f"`{each.value}`" for each in sorted(self.scopes))
            raise NotAllowed(
                f"this takes a token with the scope {wanted}", where=", ".join(sorted(self.scopes))
            )
        if self.whole:
            caller.require_whole()


FORGOTTEN: Final = Demand(_ADMIN, whole=True)

DEMANDS: Final = {
    "GET /api/agents": Demand(_ANY, whole=True),
    "GET /api/agents/{path}": Demand(_ANY, whole=True),
    "GET /api/audit": Demand(_ADMIN, whole=True),
    "GET /api/audit/verify": Demand(_ADMIN, whole=True),
    "GET /api/captures": Demand(_CHAT, whole=True),
    "POST /api/captures": Demand(_CHAT, whole=True),
    "DELETE /api/captures/{filename}": Demand(_CHAT, whole=True),
    "GET /api/captures/{filename}": Demand(_CHAT, whole=True),
    "POST /api/chat": Demand(_CHAT),
    "GET /api/chat/active-streams": Demand(_ANY),
    "DELETE /api/chat/session": Demand(_CHAT),
    "DELETE /api/chat/session/{session_id}": Demand(_CHAT),
    "GET /api/chat/session/{session_id}": Demand(_ANY),
    "PATCH /api/chat/session/{session_id}": Demand(_CHAT),
    "POST /api/chat/session/{session_id}/abort": Demand(_CHAT | _APPROVE),
    "POST /api/chat/session/{session_id}/archive": Demand(_CHAT),
    "POST /api/chat/session/{session_id}/fork": Demand(_CHAT),
    "GET /api/chat/session/{session_id}/stream": Demand(_ANY),
    "POST /api/chat/session/{session_id}/unarchive": Demand(_CHAT),
    "GET /api/chat/sessions": Demand(_ANY),
    "POST /api/chat/stream": Demand(_CHAT),
    "GET /api/containers": Demand(_ADMIN, whole=True),
    "GET /api/events": Demand(_ANY),
    "GET /api/events/stream": Demand(_ANY),
    "GET /api/grants": Demand(_APPROVE | _ADMIN),
    "DELETE /api/grants/{grant_id}": Demand(_APPROVE | _ADMIN),
    "POST /api/import": Demand(_CHAT, whole=True),
    "DELETE /api/logins/{login_id}": Demand(_ADMIN, whole=True),
    "GET /api/logins": Demand(_ADMIN, whole=True),
    "POST /api/logins/codes": Demand(_ANY),
    "POST /api/logout": Demand(_ANY),
    "GET /api/mcp": Demand(_ADMIN, whole=True),
    "DELETE /api/mcp/{name}": Demand(_ADMIN, whole=True),
    "GET /api/mcp/{name}": Demand(_ADMIN, whole=True),
    "POST /api/mcp/{name}": Demand(_ADMIN, whole=True),
    "POST /api/mcp/{name}/allow": Demand(_ADMIN, whole=True),
    "POST /api/mcp/{name}/test": Demand(_ADMIN, whole=True),
    "GET /api/me": Demand(_ANY),
    "GET /api/openapi.json": Demand(_ANY),
    "GET /api/permissions": Demand(_APPROVE),
    "GET /api/permissions/stream": Demand(_APPROVE),
    "GET /api/permissions/{request_id}": Demand(_APPROVE),
    "POST /api/permissions/{request_id}/deny": Demand(_APPROVE),
    "POST /api/permissions/{request_id}/grant": Demand(_APPROVE),
    "GET /api/policy": Demand(_ANY),
    "POST /api/policy/explain": Demand(_ANY, whole=True),
    "GET /api/questions": Demand(_APPROVE),
    "GET /api/questions/{request_id}": Demand(_APPROVE),
    "POST /api/questions/{request_id}/answer": Demand(_APPROVE),
    "POST /api/questions/{request_id}/decline": Demand(_APPROVE),
    "GET /api/ready": Demand(_ANY),
    "GET /api/search": Demand(_CHAT, whole=True),
    "GET /api/search/index": Demand(_CHAT, whole=True),
    "POST /api/search/index": Demand(_ADMIN, whole=True),
    "GET /api/sessions/{session_id}/contexts": Demand(_ANY),
    "PUT /api/sessions/{session_id}/contexts": Demand(_CHAT),
    "GET /api/sessions/{session_id}/trust": Demand(_ANY),
    "PUT /api/sessions/{session_id}/trust": Demand(_CHAT),
    "GET /api/skills": Demand(_ANY, whole=True),
    "GET /api/stats": Demand(_ANY, whole=True),
    "DELETE /api/tokens/{token_id}": Demand(_ADMIN, whole=True),
    "GET /api/tokens": Demand(_ADMIN, whole=True),
    "POST /api/tokens": Demand(_ADMIN, whole=True),
    "GET /metrics": Demand(_METRICS, whole=True),
    "GET /api/workspaces": Demand(_ANY),
    "DELETE /api/workspaces/{slug}": Demand(_ADMIN, whole=True),
    "PUT /api/workspaces/{slug}": Demand(_ADMIN, whole=True),
}
"""Method and path of each route → what it takes."""


def _pattern(template: str) -> re.Pattern[str]:
    places = re.sub(r"\{path\}", ".+", template)
    return re.compile(re.sub(r"\{[a-z_]+\}", "[^/]+", places), re.DOTALL)


_EXACT: Final = {route: demand for route, demand in DEMANDS.items() if "{" not in route}
_PATTERNS: Final = [(_pattern(route), DEMANDS[route]) for route in DEMANDS if "{" in route]


def demand_of(method: str, path: str) -> Demand:
    """What a request takes; HEAD is as GET."""
    route = f"{'GET' if method == 'HEAD' else method} {path}"
    found = _EXACT.get(route)
    if found is not None:
        return found
    return next((demand for fits, demand in _PATTERNS if fits.fullmatch(route)), FORGOTTEN)
