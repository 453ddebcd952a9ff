"""The last words of a turn: one terminal event, from how it ended and what was heard of it."""

from dataclasses import dataclass, replace

from supervisor.errors import TrustfloorError, TurnInterrupted
from supervisor.events.schema import (
    AbortedEvent,
    DoneEvent,
    ErrorEvent,
    Event,
    PermissionDeniedEvent,
)
from supervisor.ids import SessionId
from supervisor.runtimes.contract import RunResult
from supervisor.sessions.turn import Ending, Heard, Stopped
from supervisor.sessions.turn_plan import TurnPlan
from supervisor.storage.turns import EndState


@dataclass(frozen=True, slots=True)
class LastWords:
    """The terminal event, and the state the turn's row ends in."""

    event: Event
    state: EndState
    error_code: str | None = None


def last_words(  # noqa: PLR0913  (all that an ending tells)
    plan: TurnPlan,
    ending: Ending,
    heard: Heard,
    *,
    denials: tuple[PermissionDeniedEvent, ...],
    duration_ms: int,
    message_count: int,
) -> LastWords:
    """What is said of a turn that ended like this."""
    match ending:
        case RunResult(text=text, model=model):
            return LastWords(
                DoneEvent(
                    response=text or heard.partial_response,
                    session_id=plan.run.session_id,
                    working_directory=plan.working_directory,
                    message_count=message_count,
                    model=model,
                    duration_ms=duration_ms,
                    tool_calls=heard.tool_calls,
                    permission_denials=denials,
                    session_resume=plan.resume,
                    spending=heard.spending,
                    scripted=plan.scripted,
                ),
                "done",
            )
        case Stopped(reason):
            return LastWords(
                AbortedEvent(
                    message=reason,
                    session_id=plan.run.session_id,
                    partial_response=heard.partial_response,
                ),
                "aborted",
            )
        case failure:
            return failed(plan.run.session_id, failure, heard.partial_response)


def failed(session_id: SessionId, failure: TrustfloorError, partial: str = "") -> LastWords:
    """The last words of a turn that an error ended."""
    event = ErrorEvent(
        code=failure.code,
        error=failure.message,
        session_id=session_id,
        where=failure.where,
        remedy=failure.remedy,
        can_retry=failure.retryable,
        partial_response=partial,
    )
    return LastWords(event, "error", failure.code)


def cut_off(session_id: SessionId, partial: str = "") -> LastWords:
    """The last words of a turn that ended with its supervisor."""
    cut = TurnInterrupted(
        "the supervisor stopped while the turn ran", remedy="send the message again"
    )
    return replace(failed(session_id, cut, partial), state="interrupted")
