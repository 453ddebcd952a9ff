"""Who calls, and what their token lets them do.

There is one token today, and it may do all. Where tokens get scopes of their own, they are read
here; the routes ask already.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from fastapi import Depends

from supervisor.errors import TrustfloorError


class Scope(StrEnum):
    """What a token may be good for."""

    CHAT = "chat"
    APPROVE = "approve"
    ADMIN = "admin"


class NotAllowed(TrustfloorError):
    """The token isn't good for this; `where` names the scope that it lacks."""

    code = "forbidden"
    status = 403
    title = "Not allowed"


@dataclass(frozen=True, slots=True)
class Caller:
    """One who calls: a name that isn't secret, for the audit log, and the token's scopes."""

    name: str
    scopes: AbstractSet[Scope]

    def require(self, scope: Scope) -> None:
        """Raise NotAllowed unless the token has the scope."""
        if scope not in self.scopes:
            raise NotAllowed(
                f"this takes a token with the scope `{scope.value}`", where=scope.value
            )


THE_TOKEN = Caller("the token's holder", frozenset(Scope))
"""The caller that the door has let in: nobody else has the token."""


def _the_caller() -> Caller:
    return THE_TOKEN


Calling = Annotated[Caller, Depends(_the_caller)]
"""In a route's signature: who calls."""
