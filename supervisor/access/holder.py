"""Who calls: a token's or a login's holder, and what that lets them do."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from supervisor.clock import Instant
from supervisor.errors import TrustfloorError

LONGEST_TOKEN_SECONDS: Final = 10 * 365 * 24 * 3600
"""How long a token counts at most, where it has an end at all."""


class Scope(StrEnum):
    """What a token may be good for; none includes another."""

    CHAT = "chat"
    APPROVE = "approve"
    ADMIN = "admin"
    METRICS = "metrics"


class NotAllowed(TrustfloorError):
    """The token isn't good for this; `where` names the scope that it lacks, or its workspaces."""

    code = "forbidden"
    status = 403
    title = "Not allowed"


Kind = Literal["owner", "token", "login"]


@dataclass(frozen=True, slots=True)
class Holder:
    """One who calls. `id` and `name` aren't secret; `workspaces` are slugs, or None for all.

    `expires_at`: from then on the token counts no more. `root`: the token that a login came of.
    """

    id: str
    name: str
    scopes: AbstractSet[Scope]
    kind: Kind = "token"
    workspaces: AbstractSet[str] | None = None
    expires_at: Instant | None = None
    root: str = ""

    @property
    def payer(self) -> str:
        """Whose limits count: a login's are those of the token that it came of."""
        return self.root or self.id

    def require(self, scope: Scope) -> None:
        """Raise NotAllowed unless the token has the scope."""
        if scope not in self.scopes:
            raise NotAllowed(
                f"this takes a token with the scope `{scope.value}`", where=scope.value
            )

    def may_see(self, workspace: str) -> bool:
        """Whether what is of this workspace is there at all, for this caller."""
        return self.workspaces is None or workspace in self.workspaces

    def require_whole(self) -> None:
        """Raise NotAllowed for a token that is limited to workspaces."""
        if self.workspaces is not None:
            raise NotAllowed(
                "this is of the whole vault, and the token is limited to workspaces",
                where="workspaces",
            )


OWNER: Final = Holder("owner", "the owner's token", frozenset(Scope), kind="owner")
"""Who has the token in the data folder."""
