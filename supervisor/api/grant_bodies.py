"""What is sent and got about grants: what people allow, one call or more."""

from datetime import datetime
from typing import Annotated

from pydantic import AliasChoices, Field

from supervisor.api.bodies import Body, View, for_example
from supervisor.api.waiting_bodies import AnsweredView
from supervisor.approvals.given import MOST_AT_ONCE
from supervisor.policy.permissions import GrantKind, GrantScope
from supervisor.trust.levels import TrustLevel


class GrantView(View):
    """A grant: whose it is, what it covers, at which trust level, and until when.

    It counts at that level only. `expiresAt` null: until its session (or agent) is gone, or it is
    revoked.
    """

    id: str
    scope: GrantScope
    session_id: str | None
    agent: str | None
    kind: GrantKind
    pattern: str
    trust_level: TrustLevel
    given_by: str
    given_at: datetime
    request_id: str
    expires_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None


class GrantsView(View):
    """Grants, the newest first."""

    grants: list[GrantView]


SuggestionId = Annotated[str, Field(max_length=64)]


class GrantBody(Body):
    """A permission is given. `contentHash` is that of the request shown, and has to be sent.

    `scope` is `once` unless a suggestion or a pattern is given, and then `session`. `suggestion` is
    the id of one of the request's suggestions, or a list of them. `pattern` is an own one, of
    `kind`, or of the kind that the call needs. `expiresIn` are seconds.
    """

    model_config = for_example(
        contentHash="0" * 64, scope="session", pattern="Projects/garden/**/*", expiresIn=3600
    )

    content_hash: str | None = None
    scope: GrantScope | None = None
    suggestion: (
        SuggestionId | Annotated[list[SuggestionId], Field(max_length=MOST_AT_ONCE)] | None
    ) = None
    pattern: Annotated[str, Field(max_length=20_000)] | None = None
    kind: GrantKind | None = None
    expires_in: float | None = Field(
        None,
        allow_inf_nan=False,
        validation_alias=AliasChoices("expiresIn", "expires_in", "expiresInSeconds"),
    )

    def chosen(self) -> tuple[str, ...]:
        """The ids of the suggestions."""
        if self.suggestion is None:
            return ()
        return (self.suggestion,) if isinstance(self.suggestion, str) else tuple(self.suggestion)


class GrantedView(AnsweredView):
    """What was granted: the call, with `grants` what goes beyond it.

    `also` are requests that waited, and that the grants have answered.
    """

    scope: GrantScope
    grants: list[GrantView]
    also: list[str]
