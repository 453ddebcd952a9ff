"""The only way to a verdict: facts → decision → a person, where policy says so → event → audit."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from supervisor.approvals.grants import AskedBefore, GrantBook
from supervisor.approvals.offer import Offer
from supervisor.approvals.open_requests import Sink, TurnContext
from supervisor.approvals.pending import Answer, Approvals
from supervisor.approvals.questions import Questions
from supervisor.events.schema import PermissionDeniedEvent
from supervisor.gate.betrayal import REFUSED, betrayed
from supervisor.gate.books import Books, Seen
from supervisor.gate.decided import Audit, Decided, is_default
from supervisor.gate.facts import fetch_facts
from supervisor.gate.found import effects_of
from supervisor.gate.inputs import copy_of, names_fit, place_fits, run
from supervisor.gate.policy_files import PolicySource
from supervisor.gate.swapped import swapped
from supervisor.gate.unasked import Unasked
from supervisor.ids import RequestId
from supervisor.observability.traces import span
from supervisor.policy.call import Allow, Ask, Deny, ToolCall, Verdict, verdict_word
from supervisor.policy.compiled import Category, CompiledPolicy
from supervisor.policy.decide import internal_error
from supervisor.policy.needs import Asking
from supervisor.policy.permissions import Bounds
from supervisor.policy.session_permissions import SessionPermissions
from supervisor.policy.shown import shown
from supervisor.policy.wanted import wanted
from supervisor.runtimes.honeytokens import Honeytokens
from supervisor.trust.levels import TrustLevel

LARGEST_SHOWN = 256 * 1024
"""Bytes of an input as JSON that is put to a person: nobody reads more before they decide."""
CHECKED_AT_ONCE = 8
"""Calls of a turn that are worked on at once; more wait. One that waits for a person isn't."""


class Gate:
    """The gate of one turn (a `ToolGate`).

    `as_seen_vault` and `as_seen_cwd` are paths as the agent sees them, `vault` the vault's resolved
    path on this host. `audit` is told of each decision before it takes effect; where it fails, the
    call is refused.
    """

    def __init__(  # noqa: PLR0913  (all that one turn is known by)
        self,
        turn: TurnContext,
        level: TrustLevel,
        *,
        as_seen_vault: str,
        as_seen_cwd: str,
        as_seen_home: str = "/root",
        vault: str,
        policy: PolicySource,
        approvals: Approvals,
        questions: Questions,
        sink: Sink,
        audit: Audit | None = None,
        honeytokens: Honeytokens | None = None,
        grants: GrantBook | None = None,
        asked: AskedBefore | None = None,
        confined: bool = True,
        bounds: Bounds | None = None,
        permissions: SessionPermissions | None = None,
    ) -> None:
        self._turn = turn
        self._vault = vault
        self._policy = policy
        self._approvals = approvals
        self._questions = questions
        self._honeytokens = honeytokens
        seen = Seen(as_seen_vault, as_seen_cwd, as_seen_home)
        self._books = Books(turn, level, seen, sink, lambda: policy.current.hash, audit)
        self._unasked = Unasked(
            turn, level, vault, grants, asked, honeytokens, confined, bounds, permissions
        )
        self._calls = 0
        self._working = asyncio.Semaphore(CHECKED_AT_ONCE)

    @property
    def calls(self) -> int:
        """How many calls were checked so far."""
        return self._calls

    @property
    def denials(self) -> tuple[PermissionDeniedEvent, ...]:
        """What was refused so far, in order; the first of it, if it is very much."""
        return tuple(self._books.denials)

    async def check(
        self,
        tool: str,
        input: Mapping[str, Any],
        tool_use_id: str,
        agent: str | None,
        cwd: str | None = None,
    ) -> Allow | Deny:
        """Decide about one call, asking a person where policy says so.

        `cwd` is where the agent's process stands by now, as it sees it; None: where it began.

        Never raises, but passes a cancellation on, which voids what it waits for.
        """
        self._calls += 1
        found = await betrayed(self._honeytokens, tool, input, tool_use_id, agent)
        if found is not None:
            await self._books.record_unjudged(found.tool, found.tool_use_id, found.agent, REFUSED)
            return REFUSED
        request_id: RequestId | None = None
        try:
            with span("tool call") as told:
                verdict, request_id = await self._check(tool, input, tool_use_id, agent, cwd)
                told.set_attribute("trustfloor.verdict", verdict_word(verdict))
                told.set_attribute("trustfloor.rule", verdict.rule)
        except Exception as error:  # noqa: BLE001  (a guard that fails must fail closed)
            verdict = internal_error(tool_use_id, error)
            await self._books.record_unjudged(tool, tool_use_id, agent, verdict)
        if isinstance(verdict, Deny):
            await self._books.tell(tool, tool_use_id, verdict, request_id)
        return verdict

    async def _check(
        self,
        tool: str,
        input: Mapping[str, Any],
        tool_use_id: str,
        agent: str | None,
        cwd: str | None,
    ) -> tuple[Allow | Deny, RequestId | None]:
        copied: tuple[dict[str, Any], int] | Deny | None
        copied = names_fit(tool, tool_use_id, agent) or place_fits(cwd)
        if copied is None:
            async with self._working:
                copied = await run(input, copy_of, input)
        if isinstance(copied, Deny):
            await self._books.record_unjudged(tool, tool_use_id, agent, copied)
            return copied, None
        frozen, size = copied
        call = self._books.call(tool, frozen, tool_use_id, agent, cwd)
        policy = self._policy.current
        asking, said = await self._judge(call, policy)
        if size > LARGEST_SHOWN and _needs_a_person(said, policy.category(tool)):
            said = _too_large_to_show()
        decided = partial(
            Decided,
            self._turn,
            call,
            asking.facts,
            policy.hash,
            said,
            permissions=asking.permissions,
            now=asking.now,
            by_default=is_default(asking),
        )
        try:
            verdict, request_id = await self._settle(asking, said)
        except asyncio.CancelledError:
            await self._books.record_cancelled(
                decided(Deny(said.rule, "the turn ended before an answer"))
            )
            raise
        await self._books.record(decided(verdict, request_id=request_id))
        return verdict, request_id

    async def _judge(self, call: ToolCall, policy: CompiledPolicy) -> tuple[Asking, Verdict]:
        async with self._working:
            wants = await run(call.input, wanted, call, policy)
            facts = await fetch_facts(call, policy, self._vault, wants=wants)
            # Looked up last: a grant that was given or ended meanwhile counts, or doesn't any more.
            permissions, now = self._unasked.permissions(policy)
            asking = Asking(call, wants, facts, policy, permissions, now)
            return asking, await run(call.input, asking.verdict)

    async def _settle(self, asking: Asking, said: Verdict) -> tuple[Allow | Deny, RequestId | None]:
        call, category = asking.call, asking.policy.category(asking.call.tool)
        if isinstance(said, Deny):
            return said, None
        if category is Category.QUESTION:
            return await self._ask_questions(call, said)
        if isinstance(said, Allow):
            return said, None
        offer = await self._offer(asking)
        reason = f"{said.reason}; {offer.why_none}" if offer.why_none else said.reason
        effects = await run(call.input, effects_of, asking, said)
        answer = await self._approvals.ask(
            self._turn, call, said.rule, reason, category.value, offer=offer, effects=effects
        )
        self._books.note(
            "permission asked for", tool=call.tool, rule=said.rule, outcome=answer.decision
        )
        if answer.decision != "granted":
            return _refused(said, answer, self._approvals.timeout_s), answer.request_id
        granted = Allow(rule=said.rule, reason="a person granted this call", input=call.input)
        return await self._against(asking) or granted, answer.request_id

    async def _against(self, asked: Asking) -> Deny | None:
        """Why a call that was granted may not run; None: it may.

        The person took their time: the files and the policy may be others by now.
        """
        anew, said = await self._judge(asked.call, self._policy.current)
        if isinstance(said, Deny):
            return said
        moved = swapped(asked.facts, anew.facts)
        return None if moved is None or isinstance(said, Allow) else _led_elsewhere(moved)

    async def _offer(self, asking: Asking) -> Offer:
        async def is_covered() -> bool:
            _asking, said = await self._judge(asking.call, self._policy.current)
            return isinstance(said, Allow)

        async with self._working:
            return await self._unasked.offer(asking, is_covered)

    async def _ask_questions(
        self, call: ToolCall, said: Allow | Ask
    ) -> tuple[Allow | Deny, RequestId | None]:
        replies = await self._questions.ask(
            self._turn, call.tool_use_id, call.input, self._unasked.betrays, call.agent
        )
        outcome = "unanswered" if replies.answers is None else "answered"
        self._books.note("question asked", tool=call.tool, rule=said.rule, outcome=outcome)
        if replies.answers is None:
            return Deny(rule="not-answered", reason=replies.reason), replies.request_id
        answered = {**call.input, "answers": dict(replies.answers)}
        return Allow(rule=said.rule, reason="a person answered", input=answered), replies.request_id


def _needs_a_person(said: Verdict, category: Category) -> bool:
    return isinstance(said, Ask) or (category is Category.QUESTION and isinstance(said, Allow))


def _too_large_to_show() -> Deny:
    return Deny(
        rule="too-large-to-show",
        reason="a person would have to decide, but the input is too large to be shown: more than "
        f"{LARGEST_SHOWN} bytes; do it in smaller calls",
    )


def _led_elsewhere(name: str) -> Deny:
    return Deny(
        rule="changed-meanwhile",
        reason=f"{shown(name)} leads elsewhere than when a person was asked about it; ask again",
    )


def _refused(said: Ask, answer: Answer, timeout_s: float) -> Deny:
    if answer.decision == "server_overloaded":
        return Deny(
            rule="server_overloaded",
            reason="too many requests wait for a person; try again later, or go on without",
        )
    reasons = {
        "denied": "permission was refused",
        "timed_out": f"nobody answered within {timeout_s:g} s",
        "void": "the request is no longer open",
    }
    reason = reasons[answer.decision]
    if answer.message:
        reason = f"{reason}: {answer.message}"
    return Deny(rule=said.rule, reason=reason)
