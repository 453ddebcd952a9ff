"""Who may call, kept in one place: the owner's token, further tokens, logins and their codes.

All of it is in memory and written through, so that a request is judged without a wait.
"""

import asyncio
import hmac
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from supervisor.access.holder import OWNER, Holder, NotAllowed, Scope
from supervisor.access.rows import (
    OWNER_PREFIX,
    is_over,
    moment,
    of_token,
    require_narrower,
    scopes_of,
    slugs_of,
    words_of,
)
from supervisor.access.secrets import digest, new_code, new_id, new_secret, plain_code
from supervisor.clock import Clock, Instant
from supervisor.errors import InvalidRequest, NotFound
from supervisor.storage.access import AccessStore, LoginRow, TokenRow

CODE_SECONDS: Final = 300
"""How long a login's code is good for."""
IDLE_SECONDS: Final = 12 * 3600
"""A login that isn't used for so long has ended."""
LOGIN_SECONDS: Final = 7 * 24 * 3600
"""A login ends after so long, used or not."""
MOST_CODES: Final = 5
"""Codes of one token that wait to be typed in."""
MOST_LOGINS: Final = 20
"""Logins of one token."""
MOST_TOKENS: Final = 1_000
LONGEST_NAME: Final = 100
LONGEST_TOKEN_SECONDS: Final = 10 * 365 * 24 * 3600

_NOTED_EVERY: Final = 60.0
"""Seconds between two notes of when a login was used last."""
_LONGEST_WAIT: Final = 24 * 3600.0

Record = Callable[[str, None, None, Mapping[str, Any]], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Login:
    """A login as a request shows it: its holder, and the digest of its page's secret.

    The cookie alone is no login: a browser sends it to every port of this machine. What it says
    besides is told to the page once and kept where no other port's page can read it.
    """

    holder: Holder
    page_digest: str


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A login that was just made: what the cookie is, and what the page keeps."""

    holder: Holder
    cookie: str
    page_secret: str


@dataclass(frozen=True, slots=True)
class _Code:
    digest: str
    holder: Holder
    ends: Instant


class Keeper:
    """Open after `load`. What ends a token or a login wakes those that wait in `gone`."""

    def __init__(self, owner_token: str, store: AccessStore, record: Record, clock: Clock) -> None:
        self._owner = digest(owner_token)
        self._owner_id = f"{OWNER_PREFIX}{self._owner[:12]}"
        self._store = store
        self._record = record
        self._clock = clock
        self._tokens: dict[str, TokenRow] = {}
        self._logins: dict[str, LoginRow] = {}
        self._codes: list[_Code] = []
        self._ended: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def load(self) -> None:
        """Read what is stored."""
        now = self._clock.now()
        await self._store.forget_logins(now - LOGIN_SECONDS)
        self._tokens = {row.digest: row for row in await self._store.tokens()}
        self._logins = {row.digest: row for row in await self._store.logins()}
        makers = {row.created_by for row in self._tokens.values()}
        makers |= {row.token_id for row in self._logins.values()}
        for maker in makers:  # the owner's token was replaced: what it made ends with it
            if maker.startswith(OWNER_PREFIX) and maker != self._owner_id:
                await self._end_all({maker}, OWNER)

    def bearer(self, token: str) -> Holder | None:
        """The holder of a token; None if it is none, or has ended."""
        given = digest(token)
        if hmac.compare_digest(given, self._owner):
            return OWNER
        row = self._tokens.get(given)
        return None if row is None or is_over(row, self._clock.now()) else of_token(row)

    async def login(self, cookie: str) -> Login | None:
        """The login that a cookie belongs to; None if there is none, or it has ended."""
        row = self._logins.get(digest(cookie))
        now = self._clock.now()
        if row is None or row.ended_at is not None or now >= self._ends(row):
            return None
        if now - row.used_at.timestamp() > _NOTED_EVERY:
            row = await self._keep_login(replace(row, used_at=moment(now)))
        return Login(self._of_login(row), row.page_digest)

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
        return sorted(self._tokens.values(), key=lambda row: row.created_at, reverse=True)

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
        if sum(row.revoked_at is None for row in self._tokens.values()) >= MOST_TOKENS:
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
        self._tokens[row.digest] = row
        await self._told("token_made", maker, token=row.id, name=row.name, scopes=row.scopes)
        if not self.counts(maker):  # it ended meanwhile, and what it makes with it
            await self._end_all({row.id}, maker)
            raise NotAllowed("the token that asked has ended")
        return row, secret

    async def revoke(self, maker: Holder, token_id: str) -> TokenRow:
        """End a token, the tokens made with it, and their logins. Raises NotFound."""
        row = next((each for each in self._tokens.values() if each.id == token_id), None)
        if row is None:
            raise NotFound(
                "no token has this id", where=token_id, remedy="list them: trustfloor tokens"
            )
        await self._end_all({row.id}, maker)
        return self._tokens[row.digest]

    async def _end_all(self, ids: set[str], by: Holder) -> None:
        """End these, and all that was made with them, however far down; those that ended, too.

        Each is ended by itself, so that what a failure leaves is ended by asking again.
        """
        grown = 0
        while len(ids) > grown:
            grown = len(ids)
            ids |= {row.id for row in self._tokens.values() if row.created_by in ids}
            ids |= {row.id for row in self._logins.values() if row.token_id in ids}
        self._codes = [each for each in self._codes if self._id_of(each.holder) not in ids]
        for token in [row for row in self._tokens.values() if row.id in ids]:
            if token.revoked_at is None:
                ended = replace(token, revoked_at=moment(self._clock.now()))
                await self._store.put_token(ended)
                self._tokens[ended.digest] = ended
                self._wake(ended.id)
                await self._told("token_revoked", by, token=ended.id, name=ended.name)
        for login in [row for row in self._logins.values() if row.id in ids]:
            if login.ended_at is None:
                await self._keep_login(replace(login, ended_at=moment(self._clock.now())))
                self._wake(login.id)
                await self._told("logout", by, login=login.id)

    def _id_of(self, maker: Holder) -> str:
        return self._owner_id if maker.kind == "owner" else maker.id

    # logins

    async def make_code(self, maker: Holder) -> tuple[str, Instant]:
        """A code with which a page logs in once, as its maker; and until when it is good."""
        now = self._clock.now()
        live = [each for each in self._codes if each.ends > now]
        own = [each for each in live if each.holder.payer == maker.payer]
        for old in own[: max(0, len(own) - MOST_CODES + 1)]:
            live.remove(old)
        code = new_code()
        ends = Instant(now + CODE_SECONDS)
        self._codes = [*live, _Code(digest(plain_code(code)), maker, ends)]
        await self._told("login_code_made", maker)
        return code, ends

    async def redeem(self, typed: str) -> LoggedIn | None:
        """Log in, with secrets that are new each time. None for a code that is none.

        The code is spent before anything is waited for. Of too many logins of one token the one
        that wasn't used the longest ends.
        """
        given, now = digest(plain_code(typed)), self._clock.now()
        found = next((each for each in self._codes if each.digest == given), None)
        if found is None or found.ends <= now:
            return None
        self._codes.remove(found)
        if not self._counts(found.holder, now):
            return None
        cookie, page = new_secret("tfl_"), new_secret("tfp_")
        await self._make_room(found.holder.payer)
        ends = now + LOGIN_SECONDS
        if found.holder.expires_at is not None:
            ends = min(ends, found.holder.expires_at)
        row = await self._keep_login(
            LoginRow(
                id=new_id("log_"),
                digest=digest(cookie),
                page_digest=digest(page),
                token_id=self._id_of(found.holder),
                scopes=words_of(found.holder.scopes),
                workspaces=None
                if found.holder.workspaces is None
                else tuple(sorted(found.holder.workspaces)),
                created_at=moment(now),
                used_at=moment(now),
                expires_at=moment(ends),
            )
        )
        await self._told("login", found.holder, login=row.id)
        if not self._counts(found.holder, now):
            await self._end_all({row.id}, found.holder)
            return None
        return LoggedIn(self._of_login(row), cookie, page)

    async def _make_room(self, payer: str) -> None:
        own = [row for row in self.logins() if self._of_login(row).payer == payer]
        own.sort(key=lambda row: row.used_at)
        for row in own[: max(0, len(own) - MOST_LOGINS + 1)]:
            await self._end_all({row.id}, OWNER)
        now = self._clock.now()
        self._logins = {
            key: row
            for key, row in self._logins.items()
            if row.ended_at is None and now < self._ends(row)
        }

    def logins(self) -> list[LoginRow]:
        """Those that count, the newest first."""
        now = self._clock.now()
        live = (r for r in self._logins.values() if r.ended_at is None and now < self._ends(r))
        return sorted(live, key=lambda row: row.created_at, reverse=True)

    async def log_out(self, maker: Holder, login_id: str) -> LoginRow:
        """End a login. Raises NotFound."""
        row = next((each for each in self._logins.values() if each.id == login_id), None)
        if row is None:
            raise NotFound("no login has this id", where=login_id)
        await self._end_all({row.id}, maker)
        return self._logins[row.digest]

    async def _keep_login(self, row: LoginRow) -> LoginRow:
        await self._store.put_login(row)
        self._logins[row.digest] = row
        return row

    def _of_login(self, row: LoginRow) -> Holder:
        return Holder(
            id=row.id,
            name=f"the console ({row.id})",
            scopes=scopes_of(row.scopes),
            kind="login",
            workspaces=slugs_of(row.workspaces),
            expires_at=self._ends(row),
            root=self._root_of(row),
        )

    def _root_of(self, row: LoginRow) -> str:
        """The token that a login came of, by way of other logins or not."""
        by_id = {each.id: each for each in self._logins.values()}
        maker, seen = row.token_id, {row.id}
        while maker in by_id and maker not in seen:
            seen.add(maker)
            maker = by_id[maker].token_id
        return "owner" if maker == self._owner_id else maker

    def _ends(self, row: LoginRow) -> Instant:
        return Instant(min(row.expires_at.timestamp(), row.used_at.timestamp() + IDLE_SECONDS))

    def _now_ends(self, holder: Holder) -> Instant:
        """When a holder's time is over by now: a login's end moves on while it is used."""
        if holder.kind == "login":
            row = next((each for each in self._logins.values() if each.id == holder.id), None)
            return Instant(0) if row is None else self._ends(row)
        return Instant(0) if holder.expires_at is None else holder.expires_at

    def _counts(self, holder: Holder, now: Instant) -> bool:
        if holder.kind == "owner":
            return True
        if holder.kind == "token":
            rows = (each for each in self._tokens.values() if each.id == holder.id)
            return any(not is_over(each, now) for each in rows)
        return any(
            row.id == holder.id and row.ended_at is None and now < self._ends(row)
            for row in self._logins.values()
        )

    def _wake(self, holder_id: str) -> None:
        self._ended[holder_id].set()

    async def _told(self, what: str, by: Holder, **more: Any) -> None:
        await self._record("access", None, None, {"what": what, "by": by.name, **more})
