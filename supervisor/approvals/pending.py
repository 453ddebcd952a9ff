"""Approvals: a call that policy leaves to a person is asked about once, and answered once."""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from supervisor.approvals.board import Board
from supervisor.approvals.display import display_call
from supervisor.approvals.offer import BETRAYS, NOTHING, Offer
from supervisor.approvals.open_requests import (
    MOST_OPEN,
    Beyond,
    End,
    Open,
    OpenRequests,
    Outcome,
    Record,
    Sinks,
    TurnContext,
    WasAsked,
    nothing_recorded,
)
from supervisor.clock import Clock
from supervisor.errors import InvalidRequest
from supervisor.events.schema import FoundEffect, PermissionRequestEvent
from supervisor.events.size import is_light
from supervisor.ids import RequestId, SessionId, TurnId, new_request_id
from supervisor.policy.call import ToolCall
from supervisor.policy.permissions import GrantScope
from supervisor.policy.suggest import server_of

__all__ = ("Answer", "Approvals", "Decision", "TurnContext", "content_hash")

INLINE_CHARS = 16_384
"""Characters of an input (at most 64 KiB) that are rendered at once; more takes a thread."""
RENDERED_AT_ONCE = 2
"""Large inputs, over all turns; more wait."""
LONGEST_MESSAGE = 2_000
"""Characters of a person's message to the agent."""

Effects = tuple[tuple[FoundEffect, ...], int]
NO_EFFECTS: Final[Effects] = ((), 0)

Decision = Literal["granted", "denied", "timed_out", "void", "server_overloaded"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request; `message` is the person's, for the agent."""

    decision: Decision
    request_id: RequestId | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What a person says to a request, and what they grant beyond it."""

    decision: Literal["granted", "denied"]
    message: str | None = None
    beyond: Beyond | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that waits for a person: what they see, and what they could grant."""

    event: PermissionRequestEvent
    offer: Offer = NOTHING


def content_hash(tool: str, input: Mapping[str, Any]) -> str:
    """SHA-256 over the tool and its input as canonical JSON: what a person approves."""
    content = {"tool": tool, "input": input}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Approvals:
    """Open permission requests of all turns. `timeout_s` in seconds; nobody's answer is a denial.

    `was_asked` tells requests of an earlier run (void) from ids that never were (not found).
    """

    def __init__(  # noqa: PLR0913  (all that bounds it, and where it is told)
        self,
        sinks: Sinks,
        clock: Clock,
        *,
        timeout_s: float = 120.0,
        capacity: int = MOST_OPEN,
        was_asked: WasAsked | None = None,
        board: Board | None = None,
        record: Record = nothing_recorded,
    ) -> None:
        self.clock = clock
        self._requests: OpenRequests[Waiting, Said] = OpenRequests(
            sinks,
            timeout_s=timeout_s,
            capacity=capacity,
            was_asked=was_asked,
            board=board,
            record=record,
        )
        self._rendering = asyncio.Semaphore(RENDERED_AT_ONCE)

    def now(self) -> float:
        """The moment by the clock that requests expire by, in seconds since the epoch."""
        return self.clock.now()

    @property
    def timeout_s(self) -> float:
        """How long a request stays open, in seconds."""
        return self._requests.timeout_s

    async def ask(  # noqa: PLR0913  (all that a person is told)
        self,
        turn: TurnContext,
        call: ToolCall,
        rule: str,
        reason: str,
        permission_type: str,
        *,
        offer: Offer = NOTHING,
        effects: Effects = NO_EFFECTS,
    ) -> Answer:
        """Put the call to a person and wait for the answer, which is always one of `Answer`'s.

        `effects` are what the call would do, and how many more there are than are told.
        Cancelled, it voids the request. Both the request and what became of it are events.
        """
        event = await self._rendered(call, rule, reason, permission_type)
        found, more = effects
        told = {**offer.told(), "effects": found, "more_effects": more}
        event = event.model_copy(update=told)
        request_id = RequestId(event.id)
        outcome = await self._requests.ask(request_id, turn, event, Waiting(event, offer))
        return Answer("server_overloaded") if outcome is None else _answer(request_id, outcome)

    async def answer(
        self,
        request_id: str,
        decision: Literal["granted", "denied"],
        *,
        message: str | None = None,
        content_hash: str | None = None,
        by: str | None = None,
    ) -> None:
        """A person's answer; `by` is who they are. The first wins.

        `content_hash`, if given, must be that of the request: the person saw this call and no
        other. Raises AlreadyAnswered, RequestVoid, NotFound or InvalidRequest.
        """
        request = await self.find(request_id, content_hash)
        if message is not None and len(message) > LONGEST_MESSAGE:
            raise InvalidRequest(
                f"a message has at most {LONGEST_MESSAGE} characters", where="message"
            )
        if message and request.subject.offer.betrays(message, "a person's answer"):
            raise InvalidRequest(BETRAYS, where="message")
        beyond = Beyond(GrantScope.ONCE) if decision == "granted" else None
        self._requests.answer(request, Said(decision, message, beyond, by))

    async def find(self, request_id: str, content_hash: str | None = None) -> Open[Waiting, Said]:
        """The open request of this id, whose call has this hash, if one is given.

        Raises AlreadyAnswered, RequestVoid, NotFound or InvalidRequest.
        """
        request = await self._requests.find(request_id)
        if content_hash is not None and content_hash != request.subject.event.content_hash:
            raise InvalidRequest(
                "this isn't the hash of the call that waits",
                where="contentHash",
                remedy="look at the request again",
            )
        return request

    def settle(self, request: Open[Waiting, Said], said: Said) -> None:
        """Answer a request that was found. Raises AlreadyAnswered: the first answer wins."""
        self._requests.answer(request, said)

    def waiting(self, session_id: SessionId | None = None) -> tuple[Open[Waiting, Said], ...]:
        """The open requests with what could be granted, oldest first; of one session, if given."""
        return self._requests.pending(session_id)

    def pending(self, session_id: SessionId | None = None) -> tuple[PermissionRequestEvent, ...]:
        """The open requests, oldest first; of one session, if given."""
        return tuple(each.subject.event for each in self._requests.pending(session_id))

    def end_turn(self, turn_id: TurnId) -> None:
        """Void all that is open of a turn that is over."""
        self._requests.end_turn(turn_id)

    async def _rendered(
        self, call: ToolCall, rule: str, reason: str, permission_type: str
    ) -> PermissionRequestEvent:
        if is_light(call.input, INLINE_CHARS):
            return self._event(call, rule, reason, permission_type)
        async with self._rendering:
            return await asyncio.to_thread(self._event, call, rule, reason, permission_type)

    def _event(
        self, call: ToolCall, rule: str, reason: str, permission_type: str
    ) -> PermissionRequestEvent:
        shown = display_call(call.tool, call.input)
        now = self.clock.now()
        server = server_of(call.tool)
        path = call.input.get("file_path", call.input.get("notebook_path"))
        return PermissionRequestEvent(
            id=new_request_id(),
            tool_use_id=call.tool_use_id,
            tool_name=call.tool,
            agent_name=call.agent,
            trust_level=call.level,
            permission_type=permission_type,
            input=dict(call.input),
            display=shown.text,
            has_hidden_characters=shown.has_hidden_characters,
            content_hash=content_hash(call.tool, call.input),
            rule=rule,
            reason=reason,
            file_path=path if isinstance(path, str) else None,
            mcp_server=server,
            mcp_tool=None if server is None else call.tool,
            asked_at=now,
            expires_at=now + self._requests.timeout_s,
        )


def _answer(request_id: RequestId, outcome: Outcome[Said]) -> Answer:
    if outcome.answer is not None:
        return Answer(outcome.answer.decision, request_id, outcome.answer.message)
    return Answer("timed_out" if outcome.end is End.TIMED_OUT else "void", request_id)
