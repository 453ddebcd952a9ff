"""Where an answer names a thing, which routes take the name: the document's links.

A table of who names what; whom it leads to is found by the parameter in the route's path, so that a
new route of sessions is linked as soon as it is there.
"""

import copy
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class _Named:
    """An answer that names a thing: at `pointer`, for the `parameter` of routes below `below`."""

    method: str
    path: str
    status: str
    pointer: str
    parameter: str
    below: str


_SESSION: Final = "session_id"
_REQUEST: Final = "request_id"
_NAMES: Final = (
    _Named("post", "/api/import", "200", "/imported/0/id", _SESSION, "/api/"),
    _Named("get", "/api/chat/sessions", "200", "/sessions/0/id", _SESSION, "/api/"),
    _Named("post", "/api/chat", "200", "/session_id", _SESSION, "/api/"),
    _Named("post", "/api/chat/session/{session_id}/fork", "201", "/id", _SESSION, "/api/"),
    _Named("patch", "/api/chat/session/{session_id}", "200", "/id", _SESSION, "/api/"),
    _Named("post", "/api/captures", "201", "/filename", "filename", "/api/captures/"),
    _Named("post", "/api/captures", "200", "/filename", "filename", "/api/captures/"),
    _Named("put", "/api/workspaces/{slug}", "200", "/slug", "slug", "/api/workspaces/"),
    _Named("get", "/api/agents", "200", "/agents/0/path", "path", "/api/agents/"),
    _Named("post", "/api/mcp/{name}", "201", "/name", "name", "/api/mcp/"),
    _Named("get", "/api/mcp", "200", "/servers/0/name", "name", "/api/mcp/"),
    _Named("get", "/api/grants", "200", "/grants/0/id", "grant_id", "/api/grants/"),
    _Named("get", "/api/permissions", "200", "/permissions/0/id", _REQUEST, "/api/permissions/"),
    _Named("get", "/api/questions", "200", "/questions/0/requestId", _REQUEST, "/api/questions/"),
)


def tell_links(document: dict[str, Any]) -> None:
    """Complete the document: from each answer that names a thing to the routes that take it."""
    for named in _NAMES:
        operation = document["paths"][named.path][named.method]
        answer = copy.deepcopy(operation["responses"][named.status])
        links = answer.setdefault("links", {})
        for path, item in document["paths"].items():
            if path.startswith(named.below) and f"{{{named.parameter}}}" in path:
                for target in item.values():
                    if target is not operation:
                        links[target["operationId"]] = {
                            "operationId": target["operationId"],
                            "parameters": {named.parameter: f"$response.body#{named.pointer}"},
                        }
        operation["responses"][named.status] = answer
