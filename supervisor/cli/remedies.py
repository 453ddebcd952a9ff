"""Problems as they are told at a terminal: to all clients the supervisor speaks of routes."""

import os
import re
from typing import Final

from supervisor.access.holder import Scope
from supervisor.cli.typed import as_typed
from supervisor.errors import InvalidRequest, NotFound, SessionNotFound, TrustfloorError
from trustfloor.errors import Refused

_BY_COMMAND: Final = tuple(
    (re.compile(route), command)
    for route, command in (
        (r"GET /api/agents, or: trustfloor agents", "trustfloor agents"),
        (r"GET /api/agents\b", "`trustfloor agents`"),
        (r"GET /api/captures\b", "`trustfloor captures list`"),
        (r"GET /api/chat/sessions\b", "`trustfloor sessions list`"),
        (r"GET /api/grants\b", "`trustfloor grants list`"),
        (r"GET /api/mcp\b", "`trustfloor mcp list`"),
        (r"GET /api/workspaces\b", "`trustfloor workspaces`"),
        (
            r"PUT /api/workspaces/([\w-]+) with the\s+floor",
            r"`trustfloor workspaces set \1 --floor …`",
        ),
        (r"PUT /api/workspaces/([\w-]+)", r"`trustfloor workspaces set \1`"),
        (r"PUT /api/sessions/\{id\}/trust", "`trustfloor sessions trust ID LEVEL`"),
        (r"wait for its end, or abort it$", "wait for its end, or `trustfloor sessions stop ID`"),
    )
)


_SCOPES: Final = frozenset(Scope)


def at_a_terminal(remedy: str) -> str:
    """The remedy with commands in the place of routes."""
    for route, command in _BY_COMMAND:
        remedy = route.sub(command, remedy)
    return remedy


def in_words(error: TrustfloorError) -> tuple[str, str | None, str | None]:
    """What went wrong, where, and what to do, for one who typed a command and sent no header."""
    match error.code:
        case "unauthorized":
            return _unknown_token()
        case "forbidden" if error.where and _SCOPES.issuperset(error.where.split(", ")):
            remedy = (
                "use the owner's token (unset TRUSTFLOOR_TOKEN), or one made with:"
                f" trustfloor tokens create NAME --scope {error.where.split(', ')[-1]}"
            )
            return error.message, None, remedy
        case InvalidRequest.code | NotFound.code | SessionNotFound.code:
            return _of_a_field(error)
        case _:
            return error.message, error.where, error.remedy


def _of_a_field(error: TrustfloorError) -> tuple[str, str | None, str | None]:
    """With options and arguments of the command in the place of the API's fields."""
    known = error.code != InvalidRequest.code
    where = error.where and (as_typed(error.where, value=known) or error.where)
    faults = error.problem.get("errors") if isinstance(error, Refused) else None
    match faults:
        case [{"detail": detail}]:
            return str(detail), where, error.remedy
        case [*several] if several:
            told = [
                f"{as_typed(each['field']) or each['field']}: {each['detail']}" for each in several
            ]
            return "; ".join(told), where, error.remedy
        case _:
            return error.message, where, error.remedy


def _unknown_token() -> tuple[str, str, str]:
    if os.environ.get("TRUSTFLOOR_TOKEN"):
        remedy = (
            "set it to one that counts (trustfloor tokens create), or unset it on the"
            " supervisor's machine: its data folder holds the owner's"
        )
        what = "it was revoked, has ended, or is another's"
        return f"the supervisor doesn't accept this token: {what}", "TRUSTFLOOR_TOKEN", remedy
    return (
        "the supervisor doesn't accept the token of this data folder: it is another's",
        os.environ.get("TRUSTFLOOR_URL") or "the file `token` of the data folder",
        "name its own data folder (TRUSTFLOOR_DATA_DIR, --data-dir), or set TRUSTFLOOR_TOKEN",
    )
