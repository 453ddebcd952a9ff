"""A person's yes: the call runs, and what they grant beyond it is kept and counts from then on."""

from collections.abc import Sequence
from dataclasses import dataclass

from supervisor.approvals.given import MOST_AT_ONCE
from supervisor.approvals.grants import LONGEST_GRANT_SECONDS, GrantBook, moment, new_grant_id
from supervisor.approvals.offer import BETRAYS
from supervisor.approvals.open_requests import Beyond, Open
from supervisor.approvals.pending import Approvals, Said, Waiting
from supervisor.errors import InvalidRequest, TrustfloorError
from supervisor.events.schema import GivenGrant
from supervisor.policy.own_pattern import problem_of, usual_kind
from supervisor.policy.permissions import GrantKind, GrantScope
from supervisor.storage.grants import GrantRow


@dataclass(frozen=True, slots=True)
class Yes:
    """What a person grants. `suggestions` are ids of the request's; `pattern` is their own.

    `kind` is the own pattern's, None for the kind that the call needs. `expires_in` in seconds,
    None for no end but the session's (or the agent's). `given_by` says who they are, and
    `content_hash` which call they saw.
    """

    given_by: str
    scope: GrantScope = GrantScope.ONCE
    suggestions: tuple[str, ...] = ()
    pattern: str | None = None
    kind: GrantKind | None = None
    expires_in: float | None = None
    content_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Granted:
    """What came of it: the grants, and the other requests that they answered."""

    rows: tuple[GrantRow, ...] = ()
    also: tuple[str, ...] = ()


class Granting:
    """Answers requests with a yes."""

    def __init__(self, approvals: Approvals, book: GrantBook) -> None:
        self._approvals = approvals
        self._book = book

    async def grant(self, request_id: str, yes: Yes) -> Granted:
        """Let the call run, and grant what was chosen. The first answer to a request wins.

        Other requests of the session (of the agent, if it is the agent's grant) that wait, and
        that nothing is needed for any more, are answered with it. Raises AlreadyAnswered,
        RequestVoid, NotFound, or InvalidRequest, which leaves the request open.
        """
        request = await self._approvals.find(request_id, yes.content_hash)
        chosen = _chosen(request, yes)
        if yes.content_hash is None:
            raise InvalidRequest(
                "a yes names the call that was shown",
                where="contentHash",
                remedy="send the request's `contentHash` along",
            )
        if not chosen:
            self._approvals.settle(
                request, Said("granted", None, Beyond(GrantScope.ONCE), yes.given_by)
            )
            return Granted()
        rows = self._rows(request, yes, chosen)
        beyond = Beyond(yes.scope, tuple(_given(row) for row in rows))
        said = Said("granted", beyond=beyond, by=yes.given_by)
        await self._book.give(
            rows, request.turn.turn_id, lambda: self._approvals.settle(request, said)
        )
        return Granted(rows, await self._settle_others(request, yes, rows))

    def _rows(
        self, request: Open[Waiting, Said], yes: Yes, chosen: Sequence[tuple[GrantKind, str]]
    ) -> tuple[GrantRow, ...]:
        now = self._book.now()
        ends = None if yes.expires_in is None else moment(now + yes.expires_in)
        of_agent = yes.scope is GrantScope.AGENT
        return tuple(
            GrantRow(
                id=new_grant_id(),
                scope=yes.scope,
                session_id=None if of_agent else request.turn.session_id,
                agent=request.turn.agent if of_agent else None,
                kind=kind,
                pattern=pattern,
                level=request.subject.event.trust_level,
                given_by=yes.given_by,
                given_at=moment(now),
                request_id=request.id,
                expires_at=ends,
            )
            for kind, pattern in chosen
        )

    async def _settle_others(
        self, answered: Open[Waiting, Said], yes: Yes, rows: Sequence[GrantRow]
    ) -> tuple[str, ...]:
        """Answer what waits and would not be asked any more: the calls are judged anew."""
        session_id, agent = answered.turn.session_id, answered.turn.agent
        of_agent = yes.scope is GrantScope.AGENT
        also: list[str] = []
        for each in self._approvals.waiting(None if of_agent else session_id):
            concerned = each.turn.agent == agent if of_agent else True
            if not concerned or each.id == answered.id:
                continue
            if await each.subject.offer.is_covered():
                beyond = Beyond(yes.scope, covered_by=tuple(row.id for row in rows))
                try:
                    self._approvals.settle(each, Said("granted", None, beyond, yes.given_by))
                except TrustfloorError:
                    continue  # somebody, or its time, was faster
                also.append(each.id)
        return tuple(also)


def _given(row: GrantRow) -> GivenGrant:
    ends = None if row.expires_at is None else row.expires_at.timestamp()
    return GivenGrant(id=row.id, kind=row.kind, pattern=row.pattern, expires_at=ends)


def _chosen(request: Open[Waiting, Said], yes: Yes) -> list[tuple[GrantKind, str]]:
    """What is granted beyond the call. Raises InvalidRequest, naming the field."""
    if yes.pattern is not None and request.subject.offer.betrays(yes.pattern, "a grant"):
        raise InvalidRequest(BETRAYS, where="pattern")
    if yes.scope is GrantScope.ONCE:
        for field, value in (
            ("suggestion", yes.suggestions),
            ("pattern", yes.pattern),
            ("expiresIn", yes.expires_in),
        ):
            if value not in (None, ()):
                raise InvalidRequest(
                    "a grant for this call only takes none",
                    where=field,
                    remedy="leave it out, or give the scope `session`",
                )
        return []
    if yes.scope is GrantScope.AGENT and request.turn.agent is None:
        raise InvalidRequest(
            "this session has no agent of its own", where="scope", remedy="grant it to the session"
        )
    if yes.expires_in is not None and not 0 < yes.expires_in <= LONGEST_GRANT_SECONDS:
        raise InvalidRequest(
            f"a grant ends after more than 0 and at most {LONGEST_GRANT_SECONDS:.0f} seconds",
            where="expiresIn",
        )
    chosen = [_suggested(request, each) for each in yes.suggestions]
    if yes.pattern is not None:
        chosen.append(_own(request, yes.kind, yes.pattern))
    if not 0 < len(chosen) <= MOST_AT_ONCE:
        raise InvalidRequest(
            "say what is granted",
            where="suggestion",
            remedy=f"give ids of the request's suggestions, at most {MOST_AT_ONCE}, or a pattern",
        )
    return list(dict.fromkeys(chosen))


def _suggested(request: Open[Waiting, Said], suggestion_id: str) -> tuple[GrantKind, str]:
    found = request.subject.offer.find(suggestion_id)
    if found is None:
        known = ", ".join(each.id for each in request.subject.offer.suggested)
        raise InvalidRequest(
            "the request has no suggestion of this id",
            where="suggestion",
            remedy=f"use one of: {known}" if known else "grant the call once",
        )
    return found.kind, found.pattern


def _own(
    request: Open[Waiting, Said], kind: GrantKind | None, pattern: str
) -> tuple[GrantKind, str]:
    offer = request.subject.offer
    if offer.asking is None or offer.needs is None:
        raise InvalidRequest(
            "no grant could keep a call like this from asking",
            where="pattern",
            remedy="grant the call once",
        )
    kind = kind or usual_kind(offer.needs)
    problem = problem_of(kind, pattern, offer.asking, offer.needs)
    if problem is not None:
        raise InvalidRequest(problem, where="pattern")
    return kind, pattern
