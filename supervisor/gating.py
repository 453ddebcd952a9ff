"""What stands between a turn and its acts: its gate, and the people whom the gate asks.

Beside the composition root, which knows the rest that they are made of.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from supervisor.approvals.board import Board
from supervisor.approvals.grants import AskedBefore, GrantBook
from supervisor.approvals.open_requests import Record, Sink, TurnContext
from supervisor.approvals.pending import Approvals
from supervisor.approvals.questions import Questions
from supervisor.events.log import EventLog
from supervisor.events.schema import Event
from supervisor.gate.audit_entries import record_decision
from supervisor.gate.gate import Gate
from supervisor.gate.policy_files import PolicySource
from supervisor.observability.recording import Append
from supervisor.sessions.house import GateTerms, TurnGate
from supervisor.sessions.lane import Lanes
from supervisor.settings import Settings
from supervisor.storage.timestamp import SystemClock
from supervisor.trust.levels import TrustLevel


@dataclass(frozen=True, slots=True)
class Gates:
    """Makes the gate of each turn.

    `caged` says whether what runs on this machine in `vault` mode is kept in by the kernel.
    """

    vault: Path
    policy: PolicySource
    approvals: Approvals
    questions: Questions
    lanes: Lanes
    log: EventLog
    record: Append
    grants: GrantBook
    caged: Callable[[], bool]
    asked: AskedBefore = field(init=False, default_factory=AskedBefore)

    def make(self, terms: GateTerms) -> TurnGate:
        """The gate of the turn that the terms name."""
        return Gate(
            terms.context,
            terms.level,
            as_seen_vault=terms.as_seen_vault,
            as_seen_cwd=terms.as_seen_cwd,
            as_seen_home=terms.as_seen_home or str(Path.home()),
            vault=str(self.vault),
            policy=self.policy,
            approvals=self.approvals,
            questions=self.questions,
            sink=_LaneSink(self.lanes, terms.context),
            audit=partial(record_decision, self.record, lambda: self.log.redactor),
            honeytokens=terms.honeytokens,
            bounds=terms.bounds,
            permissions=terms.permissions,
            grants=self.grants,
            asked=self.asked,
            confined=terms.level is not TrustLevel.VAULT or self.caged(),
        )


def people(
    settings: Settings, log: EventLog, lanes: Lanes, board: Board, record: Record
) -> tuple[Approvals, Questions]:
    """Those who are asked to approve, and those who are asked a question."""

    def sink_of(turn: TurnContext) -> Sink:
        return _LaneSink(lanes, turn)

    approvals = Approvals(
        sink_of,
        SystemClock(),
        timeout_s=settings.approval_seconds,
        was_asked=log.has_asked,
        board=board,
        record=record,
    )
    questions = Questions(
        sink_of,
        SystemClock(),
        timeout_s=settings.question_seconds,
        was_asked=log.has_asked,
        board=board,
        record=record,
    )
    return approvals, questions


@dataclass(frozen=True, slots=True)
class _LaneSink:
    """A turn's events, through its lane, which keeps the books and knows when it is over."""

    lanes: Lanes
    turn: TurnContext

    async def emit(self, event: Event) -> None:
        await self.lanes.say(self.turn.session_id, self.turn.turn_id, event)
