"""The only way to a verdict: facts → decision → a person, where policy says so → event → audit."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from supervisor.approvals.grants import AskedBefore, GrantBook
from supervisor.approvals.offer import Offer
from supervisor.approvals.open_requests import Sink, TurnContext
from supervisor.approvals.pending import Answer, Approvals
from supervisor.approvals.questions import Questions
from supervisor.events.schema import PermissionDeniedEvent
from supervisor.events.size import is_light
from supervisor.gate.facts import fetch_facts
from supervisor.gate.policy_files import PolicySource
from supervisor.gate.unasked import Unasked
from supervisor.ids import RequestId
from supervisor.observability.logs import fields, log_context
from supervisor.policy.call import Allow, Ask, Deny, Facts, ToolCall, Verdict
from supervisor.policy.compiled import Category, CompiledPolicy
from supervisor.policy.decide import internal_error
from supervisor.policy.needs import Asking
from supervisor.policy.permissions import Bounds, Permissions
from supervisor.policy.wanted import wanted
from supervisor.runtimes.honeytokens import Honeytokens
from supervisor.trust.levels import TrustLevel

LARGEST_INPUT = 16 * 1024 * 1024
"""Bytes of a call's input as JSON."""
LARGEST_SHOWN = 256 * 1024
"""Bytes of an input as JSON that is put to a person: nobody reads more before they decide."""
INLINE_CHARS = 16_384
"""Characters of an input (at most 64 KiB) that are judged at once; more takes a thread."""
CHECKED_AT_ONCE = 8
"""Calls of a turn that are worked on at once; more wait. One that waits for a person isn't."""
LONGEST_NAME = 256
"""Characters of a tool's name, and of the ids that come with a call."""
LONGEST_REASON = 4_096
"""Characters of a reason, as it is told."""
MOST_DENIALS = 100
"""Of a turn, the refusals that are kept for its end; each is told as it happens in any case."""

T = TypeVar("T")

_LONGEST_LOGGED = 100
"""Characters of a word in the log; a tool's name is the agent's."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision as the audit log records it: enough to decide it again.

    `policy_verdict` is what the rules said, `verdict` what came of it once a person was asked.
    `by_default`: `permissions` are what the policy has for the level, but for the grants.
    `judged` is False for a call that was refused before the rules saw it: its input isn't kept.
    """

    turn: TurnContext
    call: ToolCall
    facts: Facts
    policy_hash: str
    policy_verdict: Verdict
    verdict: Allow | Deny
    request_id: RequestId | None = None
    permissions: Permissions | None = None
    now: float = 0.0
    by_default: bool = False
    judged: bool = True


Audit = Callable[[Decided], Awaitable[None]]


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
    ) -> None:
        self._turn = turn
        self._level = level
        self._as_seen_vault = as_seen_vault
        self._as_seen_cwd = as_seen_cwd
        self._as_seen_home = as_seen_home
        self._vault = vault
        self._policy = policy
        self._approvals = approvals
        self._questions = questions
        self._sink = sink
        self._audit = audit
        self._honeytokens = honeytokens
        self._unasked = Unasked(turn, level, vault, grants, asked, honeytokens, confined, bounds)
        self._calls = 0
        self._denials: list[PermissionDeniedEvent] = []
        self._working = asyncio.Semaphore(CHECKED_AT_ONCE)

    @property
    def calls(self) -> int:
        """How many calls were checked so far."""
        return self._calls

    @property
    def denials(self) -> tuple[PermissionDeniedEvent, ...]:
        """What was refused so far, in order; the first of it, if it is very much."""
        return tuple(self._denials)

    async def check(
        self, tool: str, input: Mapping[str, Any], tool_use_id: str, agent: str | None
    ) -> Allow | Deny:
        """Decide about one call, asking a person where policy says so.

        Never raises, but passes a cancellation on, which voids what it waits for.
        """
        self._calls += 1
        if await self._is_betrayed(tool, input, tool_use_id, agent):
            # Said to the agent alone: an event of the refusal would hold what must not be kept.
            return Deny("honeytoken", "this call holds what stands in for a denied file")
        request_id: RequestId | None = None
        try:
            verdict, request_id = await self._check(tool, input, tool_use_id, agent)
        except Exception as error:  # noqa: BLE001  (a guard that fails must fail closed)
            verdict = internal_error(tool_use_id, error)
            await self._record_unjudged(tool, tool_use_id, agent, verdict)
        if isinstance(verdict, Deny):
            await self._tell(tool, tool_use_id, verdict, request_id)
        return verdict

    async def _is_betrayed(
        self, tool: str, input: Any, tool_use_id: str, agent: str | None
    ) -> bool:
        """Whether a honeytoken is in the call; then the turn's alarm is rung."""
        if self._honeytokens is None:
            return False
        try:
            text = await _run(input, json.dumps, [tool, tool_use_id, agent, input])
        except (TypeError, ValueError, RecursionError):
            return False  # refused as no JSON by `_copy_of`
        path = await _run(input, self._honeytokens.trip, text)
        if path is not None:
            self._honeytokens.report(path, f"the input of the tool {_short(tool, _LONGEST_LOGGED)}")
        return path is not None

    async def _check(
        self, tool: str, input: Mapping[str, Any], tool_use_id: str, agent: str | None
    ) -> tuple[Allow | Deny, RequestId | None]:
        if any(len(name) > LONGEST_NAME for name in (tool, tool_use_id, agent or "")):
            refused = Deny("malformed-input", f"a name or id has over {LONGEST_NAME} characters")
            await self._record_unjudged(tool, tool_use_id, agent, refused)
            return refused, None
        async with self._working:
            copied = await _run(input, _copy_of, input)
        if isinstance(copied, Deny):
            await self._record_unjudged(tool, tool_use_id, agent, copied)
            return copied, None
        frozen, size = copied
        call = ToolCall(
            tool=tool,
            input=frozen,
            tool_use_id=tool_use_id,
            level=self._level,
            as_seen_vault=self._as_seen_vault,
            as_seen_cwd=self._as_seen_cwd,
            as_seen_home=self._as_seen_home,
            agent=agent,
        )
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
            by_default=_is_default(asking),
        )
        try:
            verdict, request_id = await self._settle(asking, said)
        except asyncio.CancelledError:
            await self._record_cancelled(
                decided(Deny(said.rule, "the turn ended before an answer"))
            )
            raise
        if self._audit is not None:
            await self._audit(decided(verdict, request_id=request_id))
        return verdict, request_id

    async def _record_cancelled(self, decided: Decided) -> None:
        """Audit what nobody answered any more; the turn ends in any case."""
        try:
            if self._audit is not None:
                await self._audit(decided)
        except Exception:  # noqa: BLE001  (the call doesn't run, whatever becomes of its record)
            _log.exception("a call whose turn ended could not be audited")

    async def _record_unjudged(
        self, tool: object, tool_use_id: object, agent: object, verdict: Deny
    ) -> None:
        """Audit a refusal that stands whether or not it can be audited."""
        if self._audit is None:
            return
        try:
            call = ToolCall(
                tool=_short(tool, LONGEST_NAME),
                input={},
                tool_use_id=_short(tool_use_id, LONGEST_NAME),
                level=self._level,
                as_seen_vault=self._as_seen_vault,
                as_seen_cwd=self._as_seen_cwd,
                as_seen_home=self._as_seen_home,
                agent=None if agent is None else _short(agent, LONGEST_NAME),
            )
            policy_hash = self._policy.current.hash
            await self._audit(
                Decided(self._turn, call, Facts(), policy_hash, verdict, verdict, judged=False)
            )
        except Exception:  # noqa: BLE001  (the refusal stands, whatever becomes of its record)
            _log.exception("a refusal could not be audited")

    async def _judge(self, call: ToolCall, policy: CompiledPolicy) -> tuple[Asking, Verdict]:
        async with self._working:
            wants = await _run(call.input, wanted, call, policy)
            facts = await fetch_facts(call, policy, self._vault, wants=wants)
            # Looked up last: a grant that was given or ended meanwhile counts, or doesn't any more.
            permissions, now = self._unasked.permissions(policy)
            asking = Asking(call, wants, facts, policy, permissions, now)
            return asking, await _run(call.input, asking.verdict)

    async def _settle(self, asking: Asking, said: Verdict) -> tuple[Allow | Deny, RequestId | None]:
        call, category = asking.call, asking.policy.category(asking.call.tool)
        if isinstance(said, Deny):
            return said, None
        if category is Category.QUESTION:
            return await self._ask_questions(call, said)
        if isinstance(said, Allow):
            return said, None
        answer = await self._approvals.ask(
            self._turn,
            call,
            said.rule,
            said.reason,
            category.value,
            offer=await self._offer(asking),
        )
        self._note("permission asked for", tool=call.tool, rule=said.rule, outcome=answer.decision)
        if answer.decision != "granted":
            return _refused(said, answer, self._approvals.timeout_s), answer.request_id
        # The person took their time: the files and the policy may be others by now.
        _asking, again = await self._judge(call, self._policy.current)
        if isinstance(again, Deny):
            return again, answer.request_id
        granted = Allow(rule=said.rule, reason="a person granted this call", input=call.input)
        return granted, answer.request_id

    async def _offer(self, asking: Asking) -> Offer:
        async def is_covered() -> bool:
            _asking, said = await self._judge(asking.call, self._policy.current)
            return isinstance(said, Allow)

        async with self._working:
            return await self._unasked.offer(asking, is_covered)

    async def _ask_questions(
        self, call: ToolCall, said: Allow | Ask
    ) -> tuple[Allow | Deny, RequestId | None]:
        replies = await self._questions.ask(self._turn, call.tool_use_id, call.input)
        outcome = "unanswered" if replies.answers is None else "answered"
        self._note("question asked", tool=call.tool, rule=said.rule, outcome=outcome)
        if replies.answers is None:
            return Deny(rule="not-answered", reason=replies.reason), replies.request_id
        answered = {**call.input, "answers": dict(replies.answers)}
        return Allow(rule=said.rule, reason="a person answered", input=answered), replies.request_id

    async def _tell(
        self, tool: str, tool_use_id: str, verdict: Deny, request_id: RequestId | None
    ) -> None:
        if verdict.cause is not None:
            _log.error("the gate failed closed: %s", verdict.reason, exc_info=verdict.cause)
        self._note("call denied", tool=_short(tool, LONGEST_NAME), rule=verdict.rule)
        try:
            event = PermissionDeniedEvent(
                request_id=request_id,
                tool_use_id=_short(tool_use_id, LONGEST_NAME),
                tool_name=_short(tool, LONGEST_NAME),
                rule=verdict.rule,
                reason=_short(verdict.reason, LONGEST_REASON),
            )
            if len(self._denials) < MOST_DENIALS:
                self._denials.append(event)
            await self._sink.emit(event)
        except Exception:  # noqa: BLE001  (the refusal stands, whatever becomes of its event)
            _log.exception("a refusal could not be told")

    def _note(self, what: str, **known: str) -> None:
        """A line in the log: what happened, without the call's input, which may hold anything."""
        short = {name: value[:_LONGEST_LOGGED] for name, value in known.items()}
        with log_context(session_id=self._turn.session_id, turn_id=self._turn.turn_id):
            _log.info(what, extra=fields(trust=self._level.value, **short))


async def _run(input: Any, work: Callable[..., T], *arguments: Any) -> T:
    """Do it at once, or in a thread where the input is so large that others would have to wait."""
    if is_light(input, INLINE_CHARS, INLINE_CHARS):
        return work(*arguments)
    return await asyncio.to_thread(work, *arguments)


def _copy_of(input: Mapping[str, Any]) -> tuple[dict[str, Any], int] | Deny:
    """The input as a value that nobody else holds: what is judged and shown is what runs.

    With its size in bytes of JSON.
    """
    refusal = Deny(rule="malformed-input", reason="the tool's input isn't valid JSON or Unicode")
    if not is_light(input, LARGEST_INPUT, LARGEST_INPUT):
        return _too_large()
    try:
        text = json.dumps(input, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError):
        return refusal
    if size > LARGEST_INPUT:
        return _too_large()
    copy = json.loads(text)
    return (copy, size) if isinstance(copy, dict) else refusal


def _is_default(asking: Asking) -> bool:
    base, held = asking.policy.defaults[asking.call.level], asking.permissions
    same = replace(held, grants=base.grants, confined=base.confined, bounds=base.bounds)
    return same == base


def _too_large() -> Deny:
    return Deny("malformed-input", f"the tool's input is larger than {LARGEST_INPUT} bytes")


def _needs_a_person(said: Verdict, category: Category) -> bool:
    return isinstance(said, Ask) or (category is Category.QUESTION and isinstance(said, Allow))


def _too_large_to_show() -> Deny:
    return Deny(
        rule="too-large-to-show",
        reason="a person would have to decide, but the input is too large to be shown: more than "
        f"{LARGEST_SHOWN} bytes; do it in smaller calls",
    )


def _short(text: object, longest: int) -> str:
    whole = text if isinstance(text, str) else type(text).__name__
    return whole if len(whole) <= longest else whole[: longest - 1] + "…"


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
