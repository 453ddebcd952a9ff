"""Who may call, kept in one place: the owner's token, further tokens, logins and their codes.

All of it is in memory and written through, so that a request is judged without a wait.
"""

import asyncio
import hmac
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from supervisor.access.holder import OWNER, Holder, NotAllowed, Scope
from supervisor.access.secrets import csrf_of, digest, new_code, new_id, new_secret, plain_code
from supervisor.clock import Clock, Instant
from supervisor.errors import InvalidRequest, NotFound
from supervisor.storage.access import AccessStore, LoginRow, TokenRow

CODE_SECONDS: Final = 300
"""How long a login's code is good for."""
IDLE_SECONDS: Final = 12 * 3600
"""A login that isn't used for so long has ended."""
LOGIN_SECONDS: Final = 7 * 24 * 3600
"""A login ends after so long, used or not."""
MOST_CODES: Final = 20
MOST_TOKENS: Final = 1_000
LONGEST_NAME: Final = 100
LONGEST_TOKEN_SECONDS: Final = 10 * 365 * 24 * 3600

_NOTED_EVERY: Final = 60.0
"""Seconds between two notes of when a login was used last."""
_LONGEST_WAIT: Final = 24 * 3600.0

Record = Callable[[str, None, None, Mapping[str, Any]], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Login:
    """A login as a request shows it: its holder, and what changes must send along."""

    holder: Holder
    csrf: str


@dataclass(frozen=True, slots=True)
class _Code:
    digest: str
    holder: Holder
    ends: Instant


class Keeper:
    """Open after `load`. What ends a token or a login wakes those that wait in `gone`."""

    def __init__(self, owner_token: str, store: AccessStore, record: Record, clock: Clock) -> None:
        self._owner = digest(owner_token)
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

    def bearer(self, token: str) -> Holder | None:
        """The holder of a token; None if it is none, or has ended."""
        given = digest(token)
        if hmac.compare_digest(given, self._owner):
            return OWNER
        row = self._tokens.get(given)
        return None if row is None or _is_over(row, self._clock.now()) else _of_token(row)

    async def login(self, cookie: str) -> Login | None:
        """The login that a cookie belongs to; None if there is none, or it has ended."""
        row = self._logins.get(digest(cookie))
        now = self._clock.now()
        if row is None or row.ended_at is not None or now >= self._ends(row):
            return None
        if now - row.used_at.timestamp() > _NOTED_EVERY:
            row = await self._keep_login(replace(row, used_at=_moment(now)))
        return Login(self._of_login(row), csrf_of(cookie))

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
        _require_narrower(maker, wanted, slugs)
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
        ends = None if expires_in is None else _moment(now + expires_in)
        if maker.expires_at is not None:
            own = _moment(maker.expires_at)
            ends = own if ends is None else min(ends, own)
        row = TokenRow(
            id=new_id("tok_"),
            name=name.strip(),
            digest=digest(secret),
            scopes=_words(wanted),
            workspaces=None if slugs is None else tuple(sorted(slugs)),
            created_at=_moment(now),
            created_by=maker.id,
            expires_at=ends,
        )
        await self._store.put_token(row)
        self._tokens[row.digest] = row
        await self._told("token_made", maker, token=row.id, name=row.name, scopes=row.scopes)
        return row, secret

    async def revoke(self, maker: Holder, token_id: str) -> TokenRow:
        """End a token, the tokens made with it, and their logins. Raises NotFound."""
        row = next((each for each in self._tokens.values() if each.id == token_id), None)
        if row is None:
            raise NotFound(
                "no token has this id", where=token_id, remedy="list them: trustfloor tokens"
            )
        if row.revoked_at is not None:
            return row
        row = replace(row, revoked_at=_moment(self._clock.now()))
        await self._store.put_token(row)
        self._tokens[row.digest] = row
        self._wake(row.id)
        await self._told("token_revoked", maker, token=row.id, name=row.name)
        for child in [each for each in self._tokens.values() if each.created_by == row.id]:
            await self.revoke(maker, child.id)
        for login in [each for each in self._logins.values() if each.token_id == row.id]:
            await self._end_login(login, maker)
        return row

    # logins

    async def make_code(self, maker: Holder) -> tuple[str, Instant]:
        """A code with which a page logs in once, as its maker; and until when it is good."""
        now = self._clock.now()
        live = [each for each in self._codes if each.ends > now]
        code = new_code()
        ends = Instant(now + CODE_SECONDS)
        self._codes = [*live[-(MOST_CODES - 1) :], _Code(digest(plain_code(code)), maker, ends)]
        await self._told("login_code_made", maker)
        return code, ends

    async def redeem(self, typed: str) -> tuple[Login, str] | None:
        """Log in: the login and its cookie, which is new each time. None for a code that is none.

        The code is spent before anything is waited for.
        """
        given, now = digest(plain_code(typed)), self._clock.now()
        found = next((each for each in self._codes if each.digest == given), None)
        if found is None or found.ends <= now:
            return None
        self._codes.remove(found)
        if not self._counts(found.holder, now):
            return None
        cookie = new_secret("tfl_")
        ends = now + LOGIN_SECONDS
        if found.holder.expires_at is not None:
            ends = min(ends, found.holder.expires_at)
        row = await self._keep_login(
            LoginRow(
                id=new_id("log_"),
                digest=digest(cookie),
                token_id=found.holder.id,
                scopes=_words(found.holder.scopes),
                workspaces=None
                if found.holder.workspaces is None
                else tuple(sorted(found.holder.workspaces)),
                created_at=_moment(now),
                used_at=_moment(now),
                expires_at=_moment(ends),
            )
        )
        await self._told("login", found.holder, login=row.id)
        return Login(self._of_login(row), csrf_of(cookie)), cookie

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
        return await self._end_login(row, maker)

    async def _end_login(self, row: LoginRow, maker: Holder) -> LoginRow:
        if row.ended_at is None:
            row = await self._keep_login(replace(row, ended_at=_moment(self._clock.now())))
            self._wake(row.id)
            await self._told("logout", maker, login=row.id)
        return row

    async def _keep_login(self, row: LoginRow) -> LoginRow:
        self._logins[row.digest] = row
        await self._store.put_login(row)
        return row

    def _of_login(self, row: LoginRow) -> Holder:
        return Holder(
            id=row.id,
            name=f"the console ({row.id})",
            scopes=_scopes(row.scopes),
            kind="login",
            workspaces=_slugs(row.workspaces),
            expires_at=self._ends(row),
        )

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
            return any(not _is_over(each, now) for each in rows)
        return any(
            row.id == holder.id and row.ended_at is None and now < self._ends(row)
            for row in self._logins.values()
        )

    def _wake(self, holder_id: str) -> None:
        self._ended[holder_id].set()

    async def _told(self, what: str, by: Holder, **more: Any) -> None:
        await self._record("access", None, None, {"what": what, "by": by.name, **more})


def _require_narrower(
    maker: Holder, scopes: frozenset[Scope], workspaces: frozenset[str] | None
) -> None:
    if not scopes:
        raise InvalidRequest("a token needs a scope", where="scopes")
    if workspaces is not None and not workspaces:
        raise InvalidRequest("name a workspace, or leave them out for all", where="workspaces")
    for scope in sorted(scopes):
        maker.require(scope)
    own = maker.workspaces
    if own is not None and (workspaces is None or not workspaces <= own):
        raise NotAllowed("a token can't reach further than its maker's", where="workspaces")


def _is_over(row: TokenRow, now: Instant) -> bool:
    return row.revoked_at is not None or (
        row.expires_at is not None and now >= row.expires_at.timestamp()
    )


def _of_token(row: TokenRow) -> Holder:
    return Holder(
        id=row.id,
        name=f"{row.name} ({row.id})",
        scopes=_scopes(row.scopes),
        workspaces=_slugs(row.workspaces),
        expires_at=None if row.expires_at is None else Instant(row.expires_at.timestamp()),
    )


def _scopes(words: Iterable[str]) -> frozenset[Scope]:
    return frozenset(Scope(word) for word in words if word in set(Scope))


def _slugs(slugs: Iterable[str] | None) -> frozenset[str] | None:
    return None if slugs is None else frozenset(slugs)


def _words(scopes: Iterable[Scope]) -> tuple[str, ...]:
    return tuple(sorted(each.value for each in scopes))


def _moment(instant: float) -> datetime:
    return datetime.fromtimestamp(instant, UTC)
