"""Sessions by the beginning of their id, as at least as many characters of it as tell it apart."""

import re
from typing import Final

from supervisor.cli.client import Client
from supervisor.cli.moments import told_moment
from supervisor.errors import InvalidRequest, SessionNotFound
from supervisor.ids import is_session_id

LEAST: Final = 4
"""Characters that the beginning of an id has to have."""
_SHOWN: Final = 5
_LIST: Final = "list them: trustfloor sessions"
_BEGINNING: Final = re.compile(r"[0-9a-f-]{1,36}")


async def whole_id(client: Client, said: str) -> str:
    """The id of the one session whose id begins so; a whole id is taken as it is.

    Raises SessionNotFound, InvalidRequest (too short, or of several), Unreachable or Refused.
    """
    beginning = said.strip().lower()
    if is_session_id(beginning):
        return beginning
    if _BEGINNING.fullmatch(beginning) is None:
        raise SessionNotFound("no session has this id", where=said, remedy=_LIST)
    if len(beginning) < LEAST:
        raise InvalidRequest(
            f"an id is told apart by {LEAST} characters at least", where=said, remedy=_LIST
        )
    found = (await client.get(f"/api/chat/sessions?id={beginning}"))["sessions"]
    if not found:
        raise SessionNotFound("no session's id begins so", where=said, remedy=_LIST)
    if len(found) > 1:
        named = [
            f"{each['id']}  {each['title'] or 'no title'}  ({told_moment(each['lastAccessed'])})"
            for each in found[:_SHOWN]
        ]
        more = len(found) - _SHOWN
        named += [f"and {more} more"] * (more > 0)
        raise InvalidRequest(
            "the ids of several sessions begin so:\n    " + "\n    ".join(named),
            where=said,
            remedy="give more of the one that you mean",
        )
    return str(found[0]["id"])


async def whole_id_if_any(client: Client, said: str | None) -> str | None:
    """The same, where naming a session is optional."""
    return None if said is None else await whole_id(client, said)
