"""The logins there are: how long each counts, who its holder is, and which token it came of."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from supervisor.access.holder import Holder
from supervisor.access.indexed import Indexed
from supervisor.access.rows import moment, scopes_of, slugs_of, words_of
from supervisor.access.secrets import digest, new_id
from supervisor.clock import Instant
from supervisor.storage.access import AccessStore, LoginRow

IDLE_SECONDS: Final = 12 * 3600
"""A login that isn't used for so long has ended."""
LOGIN_SECONDS: Final = 7 * 24 * 3600
"""A login ends after so long, used or not."""
MOST_LOGINS: Final = 20
"""Logins of one token."""

_NOTED_EVERY: Final = 60.0
"""Seconds between two notes of when a login was used last."""


@dataclass(frozen=True, slots=True)
class Login:
    """A login as a request shows it: its holder, and the digest of its page's secret.

    The cookie alone is no login: a browser sends it to every port of this machine. What it says
    besides is told to the page once and kept where no other port's page can read it.
    """

    holder: Holder
    page_digest: str


class Logins:
    """In memory and written through. `owner_id` is what the owner's token is noted as."""

    def __init__(self, store: AccessStore, owner_id: str) -> None:
        self._store = store
        self._owner_id = owner_id
        self._rows: Indexed[LoginRow] = Indexed()

    def __iter__(self) -> Iterator[LoginRow]:
        return iter(self._rows)

    async def load(self, now: Instant) -> None:
        """Read what is stored; what ended long ago is forgotten."""
        await self._store.forget_logins(now - LOGIN_SECONDS)
        self._rows = Indexed(await self._store.logins())

    async def of_cookie(self, cookie: str, now: Instant) -> Login | None:
        """The login that a cookie belongs to; None if there is none, or it has ended."""
        row = self._rows.by_digest(digest(cookie))
        if row is None or not _counts(row, now):
            return None
        if now - row.used_at.timestamp() > _NOTED_EVERY:
            row = await self._keep(replace(row, used_at=moment(now)))
        return Login(self.holder_of(row), row.page_digest)

    async def make(
        self, maker: Holder, maker_id: str, secrets: tuple[str, str], now: Instant
    ) -> LoginRow:
        """A login of the maker's; `secrets` are its cookie and its page's."""
        ends = now + LOGIN_SECONDS
        if maker.expires_at is not None:
            ends = min(ends, maker.expires_at)
        cookie, page = secrets
        return await self._keep(
            LoginRow(
                id=new_id("log_"),
                digest=digest(cookie),
                page_digest=digest(page),
                token_id=maker_id,
                scopes=words_of(maker.scopes),
                workspaces=None if maker.workspaces is None else tuple(sorted(maker.workspaces)),
                created_at=moment(now),
                used_at=moment(now),
                expires_at=moment(ends),
            )
        )

    async def end(self, row: LoginRow, now: Instant) -> None:
        """Note that a login has ended."""
        await self._keep(replace(row, ended_at=moment(now)))

    def by_id(self, login_id: str) -> LoginRow | None:
        """The login with this id, ended or not."""
        return self._rows.by_id(login_id)

    def live(self, now: Instant) -> list[LoginRow]:
        """Those that count, the newest first."""
        counting = (row for row in self._rows if _counts(row, now))
        return sorted(counting, key=lambda row: row.created_at, reverse=True)

    def too_many_of(self, payer: str, now: Instant) -> Iterable[LoginRow]:
        """Those of a token that have to end for another one, the longest unused first."""
        own = [row for row in self.live(now) if self.holder_of(row).payer == payer]
        own.sort(key=lambda row: row.used_at)
        return own[: max(0, len(own) - MOST_LOGINS + 1)]

    def drop_ended(self, now: Instant) -> None:
        """Forget, in memory alone, what counts no more."""
        self._rows.drop_unless(lambda row: _counts(row, now))

    def counts(self, login_id: str, now: Instant) -> bool:
        """Whether a login counts still."""
        row = self._rows.by_id(login_id)
        return row is not None and _counts(row, now)

    def ends_by_now(self, login_id: str) -> Instant:
        """When a login is over if it isn't used any more: that moves on while it is."""
        row = self._rows.by_id(login_id)
        return Instant(0) if row is None else _ends(row)

    def holder_of(self, row: LoginRow) -> Holder:
        """Who the login's holder is."""
        root = self._root_of(row)
        whose = "the owner's token" if root == "owner" else root
        return Holder(
            id=row.id,
            name=f"the console ({row.id}, of {whose})",
            scopes=scopes_of(row.scopes),
            kind="login",
            workspaces=slugs_of(row.workspaces),
            expires_at=_ends(row),
            root=root,
        )

    def _root_of(self, row: LoginRow) -> str:
        """The token that a login came of, by way of other logins or not."""
        maker, seen = row.token_id, {row.id}
        while maker not in seen and (above := self._rows.by_id(maker)) is not None:
            seen.add(maker)
            maker = above.token_id
        return "owner" if maker == self._owner_id else maker

    async def _keep(self, row: LoginRow) -> LoginRow:
        await self._store.put_login(row)
        self._rows.put(row)
        return row


def _counts(row: LoginRow, now: Instant) -> bool:
    return row.ended_at is None and now < _ends(row)


def _ends(row: LoginRow) -> Instant:
    return Instant(min(row.expires_at.timestamp(), row.used_at.timestamp() + IDLE_SECONDS))
