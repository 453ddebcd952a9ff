"""Who may call, kept in one place: the owner's token, further tokens, logins and their codes.

All of it is in memory and written through, so that a request is judged without a wait.
"""

import asyncio
import hmac
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from supervisor.access.codes import Codes
from supervisor.access.holder import OWNER, Holder, NotAllowed, Scope
from supervisor.access.indexed import Indexed
from supervisor.access.logins import Login, Logins
from supervisor.access.rows import (
    OWNER_PREFIX,
    is_over,
    moment,
    of_token,
    require_narrower,
    words_of,
)
from supervisor.access.secrets import digest, new_id, new_secret
from supervisor.clock import Clock, Instant
from supervisor.errors import InvalidRequest, NotFound
from supervisor.storage.access import AccessStore, LoginRow, TokenRow

MOST_TOKENS: Final = 1_000
LONGEST_NAME: Final = 100

_LONGEST_WAIT: Final = 24 * 3600.0

Record = Callable[[str, None, None, Mapping[str, Any]], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A login that was just made: what the cookie is, and what the page keeps."""

    holder: Holder
    cookie: str
    page_secret: str


class Keeper:
    """Open after `load`. What ends a token or a login wakes those that wait in `gone`."""

    def __init__(self, owner_token: str, store: AccessStore, record: Record, clock: Clock) -> None:
        self._owner = digest(owner_token)
        self._owner_id = f"{OWNER_PREFIX}{self._owner[:12]}"
        self._store = store
        self._record = record
        self._clock = clock
        self._tokens: Indexed[TokenRow] = Indexed()
        self._logins = Logins(store, self._owner_id)
        self._codes = Codes()
        self._ended: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def load(self) -> None:
        """Read what is stored."""
        await self._logins.load(self._clock.now())
        self._tokens = Indexed(await self._store.tokens())
        makers = {row.created_by for row in self._tokens} | {row.token_id for row in self._logins}
        for maker in makers:  # the owner's token was replaced: what it made ends with it
            if maker.startswith(OWNER_PREFIX) and maker != self._owner_id:
                await self._end_all({maker}, OWNER)

    def bearer(self, token: str) -> Holder | None:
        """The holder of a token; None if it is none, or has ended."""
        given = digest(token)
        if hmac.compare_digest(given, self._owner):
            return OWNER
        row = self._tokens.by_digest(given)
        return None if row is None or is_over(row, self._clock.now()) else of_token(row)

    async def login(self, cookie: str) -> Login | None:
        """The login that a cookie belongs to; None if there is none, or it has ended."""
        return await self._logins.of_cookie(cookie, self._clock.now())

    def counts(self, holder: Holder) -> bool:
        """Whether a holder counts still."""
        return self._counts(holder, self._clock.now())

    async def gone(self, holder: Holder) -> None:
        """Return when this holder counts no more."""
        if holder.kind == "owner":
            await asyncio.Event().wait()
        event = self._ended[holder.id]
        while holder.expires_at is None or self._clock.now() < self._now_ends(holder):
            left = (
                _LONGEST_WAIT
                if holder.expires_at is None
                else (self._now_ends(holder) - self._clock.now())
            )
            try:
                async with asyncio.timeout(min(max(left, 0.05), _LONGEST_WAIT)):
                    await event.wait()
                    return
            except TimeoutError:
                continue

    # tokens

    def tokens(self) -> list[TokenRow]:
        """All there are, the newest first, ended ones too."""
        return sorted(self._tokens, key=lambda row: row.created_at, reverse=True)

    async def make_token(
        self,
        maker: Holder,
        name: str,
        scopes: Iterable[Scope],
        workspaces: Iterable[str] | None,
        expires_in: float | None,
    ) -> tuple[TokenRow, str]:
        """A new token: its row, and the secret, which is nowhere else.

        Raises NotAllowed if it could do more than its maker, InvalidRequest.
        """
        wanted, slugs = frozenset(scopes), None if workspaces is None else frozenset(workspaces)
        require_narrower(maker, wanted, slugs)
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
            raise InvalidRequest(
                f"a name has 1 to {LONGEST_NAME} printable characters", where="name"
            )
        if sum(row.revoked_at is None for row in self._tokens) >= MOST_TOKENS:
            raise InvalidRequest(
                f"there are {MOST_TOKENS} tokens already", remedy="revoke some first"
            )
        now = self._clock.now()
        secret = new_secret("tf_")
        ends = None if expires_in is None else moment(now + expires_in)
        if maker.expires_at is not None:
            own = moment(maker.expires_at)
            ends = own if ends is None else min(ends, own)
        row = TokenRow(
            id=new_id("tok_"),
            name=name.strip(),
            digest=digest(secret),
            scopes=words_of(wanted),
            workspaces=None if slugs is None else tuple(sorted(slugs)),
            created_at=moment(now),
            created_by=self._id_of(maker),
            expires_at=ends,
        )
        await self._store.put_token(row)
        self._tokens.put(row)
        await self._told("token_made", maker, token=row.id, name=row.name, scopes=row.scopes)
        if not self.counts(maker):  # it ended meanwhile, and what it makes with it
            await self._end_all({row.id}, maker)
            raise NotAllowed("the token that asked has ended")
        return row, secret

    async def revoke(self, maker: Holder, token_id: str) -> TokenRow:
        """End a token, the tokens made with it, and their logins. Raises NotFound."""
        row = self._tokens.by_id(token_id)
        if row is None:
            raise NotFound(
                "no token has this id", where=token_id, remedy="list them: trustfloor tokens"
            )
        await self._end_all({row.id}, maker)
        return self._tokens.by_id(row.id) or row

    # logins

    async def make_code(self, maker: Holder) -> tuple[str, Instant]:
        """A code with which a page logs in once, as its maker; and until when it is good."""
        code, ends = self._codes.make(maker, self._clock.now())
        await self._told("login_code_made", maker)
        return code, ends

    async def redeem(self, typed: str) -> LoggedIn | None:
        """Log in, with secrets that are new each time. None for a code that is none.

        The code is spent before anything is waited for. Of too many logins of one token the one
        that wasn't used the longest ends.
        """
        now = self._clock.now()
        maker = self._codes.spend(typed, now)
        if maker is None or not self._counts(maker, now):
            return None
        for old in self._logins.too_many_of(maker.payer, now):
            await self._end_all({old.id}, OWNER)
        self._logins.drop_ended(self._clock.now())
        cookie, page = new_secret("tfl_"), new_secret("tfp_")
        row = await self._logins.make(maker, self._id_of(maker), (cookie, page), now)
        await self._told("login", maker, login=row.id)
        if not self._counts(maker, now):
            await self._end_all({row.id}, maker)
            return None
        return LoggedIn(self._logins.holder_of(row), cookie, page)

    def logins(self) -> list[LoginRow]:
        """Those that count, the newest first."""
        return self._logins.live(self._clock.now())

    async def log_out(self, maker: Holder, login_id: str) -> LoginRow:
        """End a login. Raises NotFound."""
        row = self._logins.by_id(login_id)
        if row is None:
            raise NotFound(
                "no login has this id", where=login_id, remedy="list them: trustfloor login --list"
            )
        await self._end_all({row.id}, maker)
        return self._logins.by_id(row.id) or row

    # both

    async def _end_all(self, ids: set[str], by: Holder) -> None:
        """End these, and all that was made with them, however far down; those that ended, too.

        Each is ended by itself, so that what a failure leaves is ended by asking again.
        """
        grown = 0
        while len(ids) > grown:
            grown = len(ids)
            ids |= {row.id for row in self._tokens if row.created_by in ids}
            ids |= {row.id for row in self._logins if row.token_id in ids}
        self._codes.drop(lambda holder: self._id_of(holder) in ids)
        for token in [row for row in self._tokens if row.id in ids]:
            if token.revoked_at is None:
                ended = replace(token, revoked_at=moment(self._clock.now()))
                await self._store.put_token(ended)
                self._tokens.put(ended)
                self._wake(ended.id)
                await self._told("token_revoked", by, token=ended.id, name=ended.name)
        for login in [row for row in self._logins if row.id in ids]:
            if login.ended_at is None:
                await self._logins.end(login, self._clock.now())
                self._wake(login.id)
                await self._told("logout", by, login=login.id)

    def _id_of(self, maker: Holder) -> str:
        return self._owner_id if maker.kind == "owner" else maker.id

    def _now_ends(self, holder: Holder) -> Instant:
        """When a holder's time is over by now: a login's end moves on while it is used."""
        if holder.kind == "login":
            return self._logins.ends_by_now(holder.id)
        return Instant(0) if holder.expires_at is None else holder.expires_at

    def _counts(self, holder: Holder, now: Instant) -> bool:
        if holder.kind == "owner":
            return True
        if holder.kind == "login":
            return self._logins.counts(holder.id, now)
        row = self._tokens.by_id(holder.id)
        return row is not None and not is_over(row, now)

    def _wake(self, holder_id: str) -> None:
        self._ended[holder_id].set()

    async def _told(self, what: str, by: Holder, **more: Any) -> None:
        await self._record("access", None, None, {"what": what, "by": by.name, **more})
