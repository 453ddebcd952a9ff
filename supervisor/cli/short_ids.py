"""Sessions, requests and the like by the beginning of their id: as much as tells one apart."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from supervisor.cli.client import Client
from supervisor.cli.moments import told_moment
from supervisor.cli.neutral import one_line
from supervisor.errors import InvalidRequest, SessionNotFound
from supervisor.ids import is_session_id

LEAST: Final = 4
"""Characters that the beginning of an id has to have."""
_SHOWN: Final = 5
_LISTS: Final = {
    "sessions": "trustfloor sessions",
    "requests": "trustfloor approvals list",
    "grants": "trustfloor grants",
    "tokens": "trustfloor tokens",
    "logins": "trustfloor login --list",
}
_REQUEST: Final = "req_"
"""What each request's id begins with; it needs not be said."""
_WHOLE: Final = 36
"""Characters of a request's id."""
_BEGINNING: Final = re.compile(r"[0-9a-f-]{1,36}")


async def whole_id(client: Client, said: str) -> str:
    """The id of the one session whose id begins so; a whole id is taken as it is.

    Raises SessionNotFound, InvalidRequest (too short, or of several), Unreachable or Refused.
    """
    beginning = said.strip().lower()
    if is_session_id(beginning):
        return beginning
    if _BEGINNING.fullmatch(beginning) is None:
        raise SessionNotFound("no session has this id", where=said, remedy=_listing("sessions"))
    _require_long_enough(beginning, said, _listing("sessions"))
    found = (await client.get(f"/api/chat/sessions?id={beginning}"))["sessions"]
    if not found:
        raise SessionNotFound("no session's id begins so", where=said, remedy=_listing("sessions"))
    if len(found) > 1:
        raise _several(
            "sessions",
            said,
            [
                f"{each['id']}  {each['title'] or 'no title'}"
                f"  ({told_moment(each['lastAccessed'])})"
                for each in found
            ],
        )
    return str(found[0]["id"])


async def whole_id_if_any(client: Client, said: str | None) -> str | None:
    """The same, where naming a session is optional."""
    return None if said is None else await whole_id(client, said)


async def whole_request_id(client: Client, said: str) -> str:
    """The id of the one permission request that waits and whose id begins so.

    A whole id, and one that none of those has, is taken as it is: the supervisor knows of requests
    that no longer wait. Raises InvalidRequest (too short, or of several), Unreachable or Refused.
    """
    given = said.strip()
    if len(given) >= _WHOLE:
        return given
    _require_long_enough(given.removeprefix(_REQUEST), said, _listing("requests"))
    waiting = (await client.get("/api/permissions"))["permissions"]
    return _one_of("requests", _REQUEST, {each["id"]: each["toolName"] for each in waiting}, said)


async def whole_grant_id(client: Client, said: str) -> str:
    """The id of the one grant that counts and whose id begins so; else what was said.

    Raises InvalidRequest where that is too short to tell, or of several; so for all of these.
    """
    there = (await client.get("/api/grants"))["grants"]
    shown = {each["id"]: f"{each['kind']} {each['pattern']}" for each in there}
    return _one_of("grants", "grant_", shown, said)


async def whole_token_id(client: Client, said: str) -> str:
    """The id of the one token whose id begins so; else what was said."""
    there = (await client.get("/api/tokens"))["tokens"]
    return _one_of("tokens", "tok_", {each["id"]: each["name"] for each in there}, said)


async def whole_login_id(client: Client, said: str) -> str:
    """The id of the one login whose id begins so; else what was said."""
    there = (await client.get("/api/logins"))["logins"]
    shown = {each["id"]: f"since {told_moment(each['createdAt'])}" for each in there}
    return _one_of("logins", "log_", shown, said)


def _one_of(things: str, prefix: str, there: Mapping[str, str], said: str) -> str:
    """The one id among these that begins so; what was said where none does.

    Raises InvalidRequest where several do, or where it is too short to say which.
    """
    given = said.strip()
    beginning = given.removeprefix(prefix)
    found = [each for each in there if each.startswith(prefix + beginning)]
    if not found:
        return given
    _require_long_enough(beginning, said, _listing(things))
    if len(found) > 1:
        raise _several(things, said, [one_line(f"{each}  {there[each]}") for each in found])
    return found[0]


def _listing(things: str) -> str:
    return f"list them: {_LISTS[things]}"


def _require_long_enough(beginning: str, said: str, remedy: str) -> None:
    if len(beginning) < LEAST:
        what = f"an id is told apart by {LEAST} characters at least"
        raise InvalidRequest(what, where=said, remedy=remedy)


def _several(things: str, said: str, named: Sequence[str]) -> InvalidRequest:
    shown = [*named[:_SHOWN], *(f"and {more} more" for more in [len(named) - _SHOWN] if more > 0)]
    return InvalidRequest(
        f"the ids of several {things} begin so:\n    " + "\n    ".join(shown),
        where=said,
        remedy="give more of the one that you mean",
    )
