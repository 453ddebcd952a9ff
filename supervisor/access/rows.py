"""What stored tokens and logins mean, and what a new one may be."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from supervisor.access.holder import Holder, NotAllowed, Scope
from supervisor.clock import Instant
from supervisor.errors import InvalidRequest
from supervisor.storage.access import TokenRow

OWNER_PREFIX: Final = "owner-"
"""Begins what an owner's token is noted as; a part of its digest follows."""


def require_narrower(
    maker: Holder, scopes: frozenset[Scope], workspaces: frozenset[str] | None
) -> None:
    """Raise NotAllowed for more than the maker has, InvalidRequest for nothing at all."""
    if not scopes:
        raise InvalidRequest("a token needs a scope", where="scopes")
    if workspaces is not None and not workspaces:
        raise InvalidRequest("name a workspace, or leave them out for all", where="workspaces")
    for scope in sorted(scopes):
        maker.require(scope)
    own = maker.workspaces
    if own is not None and (workspaces is None or not workspaces <= own):
        raise NotAllowed("a token can't reach further than its maker's", where="workspaces")


def is_over(row: TokenRow, now: Instant) -> bool:
    """Whether a token has ended by now."""
    return row.revoked_at is not None or (
        row.expires_at is not None and now >= row.expires_at.timestamp()
    )


def of_token(row: TokenRow) -> Holder:
    """Who a token's holder is."""
    return Holder(
        id=row.id,
        name=f"{row.name} ({row.id})",
        scopes=scopes_of(row.scopes),
        workspaces=slugs_of(row.workspaces),
        expires_at=None if row.expires_at is None else Instant(row.expires_at.timestamp()),
    )


def scopes_of(words: Iterable[str]) -> frozenset[Scope]:
    """The scopes of stored words; what is none is left out."""
    return frozenset(Scope(word) for word in words if word in set(Scope))


def slugs_of(slugs: Iterable[str] | None) -> frozenset[str] | None:
    """Stored slugs as a set; None: all workspaces."""
    return None if slugs is None else frozenset(slugs)


def words_of(scopes: Iterable[Scope]) -> tuple[str, ...]:
    """Scopes as they are stored."""
    return tuple(sorted(each.value for each in scopes))


def moment(instant: float) -> datetime:
    """An instant (seconds since the epoch) as a moment in UTC."""
    return datetime.fromtimestamp(instant, UTC)


def told_maker(maker: str) -> str:
    """Who made a token or a login, as people are told; not which of the owner's tokens it was."""
    return "owner" if maker.startswith(OWNER_PREFIX) else maker
