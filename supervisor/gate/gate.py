"""The only way to a verdict: facts → decision → a person, where policy says so → event → audit."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from supervisor.approvals.open_requests import Sink, TurnContext
from supervisor.approvals.pending import Answer, Approvals
from supervisor.approvals.questions import Questions
from supervisor.events.schema import PermissionDeniedEvent
from supervisor.gate.facts import fetch_facts
from supervisor.gate.policy_files import PolicySource
from supervisor.ids import RequestId
from supervisor.policy.call import Allow, Ask, Deny, Facts, ToolCall, Verdict
from supervisor.policy.compiled import Category, CompiledPolicy
from supervisor.policy.decide import decide, internal_error
from supervisor.trust.levels import TrustLevel

LARGEST_INPUT = 16 * 1024 * 1024
"""Bytes of a call's input as JSON."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision as the audit log records it: enough to decide it again.

    `policy_verdict` is what the rules said, `verdict` what came of it once a person was asked.
    """

    turn: TurnContext
    call: ToolCall
    facts: Facts
    policy_hash: str
    policy_verdict: Verdict
    verdict: Allow | Deny
    request_id: RequestId | None = None


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
        vault: str,
        policy: PolicySource,
        approvals: Approvals,
        questions: Questions,
        sink: Sink,
        audit: Audit | None = None,
    ) -> None:
        self._turn = turn
        self._level = level
        self._as_seen_vault = as_seen_vault
        self._as_seen_cwd = as_seen_cwd
        self._vault = vault
        self._policy = policy
        self._approvals = approvals
        self._questions = questions
        self._sink = sink
        self._audit = audit
        self._calls = 0
        self._denials: list[PermissionDeniedEvent] = []

    @property
    def calls(self) -> int:
        """How many calls were checked so far."""
        return self._calls

    @property
    def denials(self) -> tuple[PermissionDeniedEvent, ...]:
        """What was refused so far, in order."""
        return tuple(self._denials)

    async def check(
        self, tool: str, input: Mapping[str, Any], tool_use_id: str, agent: str | None
    ) -> Allow | Deny:
        """Decide about one call, asking a person where policy says so.

        Never raises, but passes a cancellation on, which voids what it waits for.
        """
        self._calls += 1
        request_id: RequestId | None = None
        try:
            verdict, request_id = await self._check(tool, input, tool_use_id, agent)
        except Exception as error:  # noqa: BLE001  (a guard that fails must fail closed)
            verdict = internal_error(tool_use_id, error)
        if isinstance(verdict, Deny):
            await self._tell(tool, tool_use_id, verdict, request_id)
        return verdict

    async def _check(
        self, tool: str, input: Mapping[str, Any], tool_use_id: str, agent: str | None
    ) -> tuple[Allow | Deny, RequestId | None]:
        frozen = _copy_of(input)
        if isinstance(frozen, Deny):
            return frozen, None
        call = ToolCall(
            tool=tool,
            input=frozen,
            tool_use_id=tool_use_id,
            level=self._level,
            as_seen_vault=self._as_seen_vault,
            as_seen_cwd=self._as_seen_cwd,
            agent=agent,
        )
        policy = self._policy.current
        facts, said = await self._judge(call, policy)
        verdict, request_id = await self._settle(call, said, policy)
        if self._audit is not None:
            decided = Decided(self._turn, call, facts, policy.hash, said, verdict, request_id)
            await self._audit(decided)
        return verdict, request_id

    async def _judge(self, call: ToolCall, policy: CompiledPolicy) -> tuple[Facts, Verdict]:
        facts = await fetch_facts(call, policy, self._vault)
        return facts, decide(call, facts, policy)

    async def _settle(
        self, call: ToolCall, said: Verdict, policy: CompiledPolicy
    ) -> tuple[Allow | Deny, RequestId | None]:
        category = policy.category(call.tool)
        if isinstance(said, Deny):
            return said, None
        if category is Category.QUESTION:
            return await self._ask_questions(call, said)
        if isinstance(said, Allow):
            return said, None
        answer = await self._approvals.ask(self._turn, call, said.rule, said.reason, category.value)
        if answer.decision != "granted":
            return _refused(said, answer, self._approvals.timeout_s), answer.request_id
        # The person took their time: the files and the policy may be others by now.
        _facts, again = await self._judge(call, self._policy.current)
        if isinstance(again, Deny):
            return again, answer.request_id
        granted = Allow(rule=said.rule, reason="a person granted this call", input=call.input)
        return granted, answer.request_id

    async def _ask_questions(
        self, call: ToolCall, said: Allow | Ask
    ) -> tuple[Allow | Deny, RequestId | None]:
        replies = await self._questions.ask(self._turn, call.tool_use_id, call.input)
        if replies.answers is None:
            return Deny(rule="not-answered", reason=replies.reason), replies.request_id
        answered = {**call.input, "answers": dict(replies.answers)}
        return Allow(rule=said.rule, reason="a person answered", input=answered), replies.request_id

    async def _tell(
        self, tool: str, tool_use_id: str, verdict: Deny, request_id: RequestId | None
    ) -> None:
        if verdict.cause is not None:
            _log.error("the gate failed closed: %s", verdict.reason, exc_info=verdict.cause)
        try:
            event = PermissionDeniedEvent(
                request_id=request_id,
                tool_use_id=tool_use_id,
                tool_name=tool,
                rule=verdict.rule,
                reason=verdict.reason,
            )
            self._denials.append(event)
            await self._sink.emit(event)
        except Exception:  # noqa: BLE001  (the refusal stands, whatever becomes of its event)
            _log.exception("a refusal could not be told")


def _copy_of(input: Mapping[str, Any]) -> dict[str, Any] | Deny:
    """The input as a value that nobody else holds: what is judged and shown is what runs."""
    refusal = Deny(rule="malformed-input", reason="the tool's input isn't valid JSON or Unicode")
    try:
        text = json.dumps(input, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError):
        return refusal
    if size > LARGEST_INPUT:
        return Deny(
            rule="malformed-input", reason=f"the tool's input is larger than {LARGEST_INPUT} bytes"
        )
    copy = json.loads(text)
    return copy if isinstance(copy, dict) else refusal


def _refused(said: Ask, answer: Answer, timeout_s: float) -> Deny:
    if answer.decision == "server_overloaded":
        return Deny(
            rule="server_overloaded",
            reason="too many requests wait for a person; try again later, or go on without",
        )
    reasons = {
        "denied": "a person refused this call",
        "timed_out": f"nobody answered within {timeout_s:g} s",
        "void": "the request is no longer open",
    }
    reason = reasons[answer.decision]
    if answer.message:
        reason = f"{reason}: {answer.message}"
    return Deny(rule=said.rule, reason=reason)
