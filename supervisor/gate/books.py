"""The books of one turn's gate: decisions for the audit log, refusals as events and for the end."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from unicodedata import normalize

from supervisor.approvals.open_requests import Sink, TurnContext
from supervisor.events.schema import PermissionDeniedEvent
from supervisor.gate.decided import Audit, Decided
from supervisor.gate.inputs import LONGEST_NAME, short
from supervisor.ids import RequestId
from supervisor.observability.logs import fields, log_context
from supervisor.policy.call import Deny, Facts, ToolCall
from supervisor.trust.levels import TrustLevel

LONGEST_REASON: Final = 4_096
"""Characters of a reason, as it is told."""
MOST_DENIALS: Final = 100
"""Of a turn, the refusals that are kept for its end; each is told as it happens in any case."""

_LONGEST_LOGGED: Final = 100
"""Characters of a word in the log; a tool's name is the agent's."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Seen:
    """What of the file system an agent sees, as absolute paths of its own."""

    vault: str
    cwd: str
    home: str


@dataclass(slots=True)
class Books:
    """What was decided in one turn. `policy_hash` is that of the policy in force."""

    turn: TurnContext
    level: TrustLevel
    seen: Seen
    sink: Sink
    policy_hash: Callable[[], str]
    audit: Audit | None = None
    denials: list[PermissionDeniedEvent] = field(default_factory=list, init=False)

    def call(
        self,
        tool: str,
        input: Mapping[str, Any],
        tool_use_id: str,
        agent: str | None,
        cwd: str | None = None,
    ) -> ToolCall:
        """A call of this turn's, made in `cwd`; None: where the turn began."""
        return ToolCall(
            tool=tool,
            input=input,
            tool_use_id=tool_use_id,
            level=self.level,
            as_seen_vault=self.seen.vault,
            as_seen_cwd=self._begins(cwd),
            as_seen_home=self.seen.home,
            agent=agent,
        )

    def _begins(self, cwd: str | None) -> str:
        """The folder as it is spelt on the disk: the agent program composes letters and accents."""
        began = self.seen.cwd
        return began if cwd is None or normalize("NFC", cwd) == normalize("NFC", began) else cwd

    async def record(self, decided: Decided) -> None:
        """Audit a decision before it takes effect. Raises where that fails."""
        if self.audit is not None:
            await self.audit(decided)

    async def record_cancelled(self, decided: Decided) -> None:
        """Audit what nobody answered any more; the turn ends in any case."""
        try:
            await self.record(decided)
        except Exception:  # noqa: BLE001  (the call doesn't run, whatever becomes of its record)
            _log.exception("a call whose turn ended could not be audited")

    async def record_unjudged(
        self, tool: object, tool_use_id: object, agent: object, verdict: Deny
    ) -> None:
        """Audit a refusal that stands whether or not it can be audited. No input is kept."""
        try:
            call = self.call(
                short(tool, LONGEST_NAME),
                {},
                short(tool_use_id, LONGEST_NAME),
                None if agent is None else short(agent, LONGEST_NAME),
            )
            await self.record(
                Decided(
                    self.turn, call, Facts(), self.policy_hash(), verdict, verdict, judged=False
                )
            )
        except Exception:  # noqa: BLE001  (the refusal stands, whatever becomes of its record)
            _log.exception("a refusal could not be audited")

    async def tell(
        self, tool: str, tool_use_id: str, verdict: Deny, request_id: RequestId | None
    ) -> None:
        """Tell of a refusal, which stands whether or not it can be told."""
        if verdict.cause is not None:
            _log.error("the gate failed closed: %s", verdict.reason, exc_info=verdict.cause)
        self.note("call denied", tool=short(tool, LONGEST_NAME), rule=verdict.rule)
        try:
            event = PermissionDeniedEvent(
                request_id=request_id,
                tool_use_id=short(tool_use_id, LONGEST_NAME),
                tool_name=short(tool, LONGEST_NAME),
                rule=verdict.rule,
                reason=short(verdict.reason, LONGEST_REASON),
            )
            if len(self.denials) < MOST_DENIALS:
                self.denials.append(event)
            await self.sink.emit(event)
        except Exception:  # noqa: BLE001  (the refusal stands, whatever becomes of its event)
            _log.exception("a refusal could not be told")

    def note(self, what: str, **known: str) -> None:
        """A line in the log: what happened, without the call's input, which may hold anything."""
        brief = {name: value[:_LONGEST_LOGGED] for name, value in known.items()}
        with log_context(session_id=self.turn.session_id, turn_id=self.turn.turn_id):
            _log.info(what, extra=fields(trust=self.level.value, **brief))
