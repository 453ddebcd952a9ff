"""The error tree: each says what happened, where, and what to do; `code` is its name on the wire.

Raised where the fact is known, turned into problem+json, an `error` event or an exit code in one
place each, and never swallowed in between.
"""

from collections.abc import Mapping
from typing import Any, Final

BROKEN_OFF: Final = "the turn's events ended before it did"


class TrustfloorError(Exception):
    """Base of all errors a person may see.

    `code` is stable and machine-readable, `status` the HTTP status it becomes, `retryable` whether
    the same request can succeed later without a change.
    """

    code: str = "internal_error"
    status: int = 500
    title: str = "Internal error"
    retryable: bool = False

    def __init__(
        self, message: str, *, where: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy


class InvalidRequest(TrustfloorError):
    """The request can't be understood; `where` names the field."""

    code = "invalid_request"
    status = 422
    title = "Invalid request"


class KeyReused(TrustfloorError):
    """A key that stands for one message came with another."""

    code = "idempotency_key_reused"
    status = 422
    title = "The key stands for another message"


class TurnForgotten(TrustfloorError):
    """A message was taken before, and what came of it isn't stored any more."""

    code = "turn_forgotten"
    status = 410
    title = "The turn's events are gone"


class NotFound(TrustfloorError):
    """No such thing, or none that the caller may see."""

    code = "not_found"
    status = 404
    title = "Not found"


class SessionNotFound(NotFound):
    """No session has this id; `where` is what was given, where that is an id at all."""

    code = "session_not_found"
    title = "Session not found"

    def __init__(
        self, message: str, *, where: str | None = None, remedy: str | None = None
    ) -> None:
        known = "list the sessions with GET /api/chat/sessions, or name none to begin a new one"
        super().__init__(message, where=where, remedy=remedy or known)


class AlreadyThere(TrustfloorError):
    """What was to be new has the name of one that is there; `where` is the name."""

    code = "already_there"
    status = 412
    title = "There is one of this name"


class SessionBusy(TrustfloorError):
    """A turn of this session is still running: one at a time."""

    code = "session_busy"
    status = 409
    title = "The session is busy"
    retryable = True


class LooserThanFloor(TrustfloorError):
    """A trust level was asked for that is looser than a floor; `where` names whose floor."""

    code = "looser_than_floor"
    status = 409
    title = "Looser than the trust floor"


class AlreadyAnswered(TrustfloorError):
    """Somebody else's answer came first."""

    code = "already_answered"
    status = 409
    title = "Already answered"


class RequestVoid(TrustfloorError):
    """The request is no longer open: it timed out, its turn ended, or the supervisor restarted."""

    code = "request_void"
    status = 410
    title = "No longer open"


class ConfigurationError(TrustfloorError):
    """A setting or a file of ours is wrong; `where` has file, line and field."""

    code = "configuration_error"
    status = 500
    title = "Configuration error"


class DataFolderInUse(ConfigurationError):
    """Another supervisor holds this data folder; `where` names the holder."""

    code = "data_folder_in_use"
    title = "The data folder is in use"


class VaultInUse(DataFolderInUse):
    """Another supervisor works on this vault, whatever its data folder; `where` names it."""

    code = "vault_in_use"
    title = "The vault is in use"


class DatabaseTooNew(ConfigurationError):
    """The database was written by a newer version; it is left untouched."""

    code = "database_too_new"
    title = "The database is from a newer version"


class StorageBusy(TrustfloorError):
    """Another process held the database longer than we wait."""

    code = "storage_busy"
    status = 503
    title = "The database is busy"
    retryable = True


class ShuttingDown(TrustfloorError):
    """The supervisor was told to stop: turns that run may end, new ones aren't begun."""

    code = "shutting_down"
    status = 503
    title = "The supervisor is stopping"
    retryable = True


class TurnFailed(TrustfloorError):
    """Base of what ends a turn in an `error` event."""

    code = "turn_failed"
    status = 502
    title = "The turn failed"
    retryable = True


class TurnAborted(TrustfloorError):
    """A turn was ended by a person before it was done."""

    code = "turn_aborted"
    status = 409
    title = "The turn was aborted"


class RuntimeMissing(TurnFailed):
    """No runtime for the effective trust level is set up; nothing looser runs instead."""

    code = "runtime_missing"
    status = 503
    title = "No runtime for this trust level"


class EngineUnreachable(TurnFailed):
    """The container engine can't be reached or does not answer."""

    code = "engine_unreachable"
    status = 503
    title = "The container engine is unreachable"


class EngineLost(TurnFailed):
    """The engine went away while the turn ran."""

    code = "engine_lost"
    status = 503
    title = "The container engine went away"


class EngineRefused(TurnFailed):
    """The engine answered, and said no (no space, bad option, conflict)."""

    code = "engine_refused"
    status = 503
    title = "The container engine refused"


class ImageMissing(TurnFailed):
    """The runner image isn't there."""

    code = "image_missing"
    status = 503
    title = "The runner image is missing"


class IsolationRefused(TurnFailed):
    """The isolation measured is weaker than the level demands; the message was not handed over.

    `receipt` is what was measured, a `runtimes.contract.Receipt`, if it came that far.
    """

    code = "isolation_refused"
    status = 503
    title = "Isolation is weaker than required"

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        remedy: str | None = None,
        receipt: object = None,
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.receipt = receipt


class VaultUnavailable(TurnFailed):
    """The vault, or the view of it, can't be made."""

    code = "vault_unavailable"
    status = 503
    title = "The vault is unavailable"


class SandboxOutOfMemory(TurnFailed):
    """The agent's process itself ran into the container's memory limit."""

    code = "sandbox_out_of_memory"
    title = "The sandbox ran out of memory"


class SandboxKilled(TurnFailed):
    """The container was ended from outside."""

    code = "sandbox_killed"
    title = "The sandbox was killed"


class SandboxPaused(TurnFailed):
    """The container was frozen from outside; nothing in it goes on until somebody thaws it."""

    code = "sandbox_paused"
    title = "The sandbox was paused"


class AgentProcessFailed(TurnFailed):
    """The CLI process ended or broke its protocol before the turn was over."""

    code = "agent_process_failed"
    title = "The agent process failed"


class ModelFailed(TurnFailed):
    """The model's API answered with an error that retries did not mend."""

    code = "model_failed"
    title = "The model's API failed"


class BudgetExhausted(TurnFailed):
    """The token or cost budget of the turn or the session is used up."""

    code = "budget_exhausted"
    status = 402
    title = "The budget is used up"
    retryable = False


class HoneytokenTripped(TurnFailed):
    """What stands in a denied file's place was read and showed up again; `where` says in what."""

    code = "honeytoken"
    status = 403
    title = "A honeytoken showed up"
    retryable = False


class TurnTimedOut(TurnFailed):
    """The turn ran into its wall-clock limit."""

    code = "turn_timed_out"
    title = "The turn took too long"


class TurnInterrupted(TurnFailed):
    """The supervisor ended or was killed while the turn ran."""

    code = "turn_interrupted"
    title = "The turn was interrupted"


def known_kind(code: str) -> type[TrustfloorError]:
    """The class of the error tree with this code, or the root if there is none."""
    waiting: list[type[TrustfloorError]] = [TrustfloorError]
    while waiting:
        kind = waiting.pop()
        if kind.code == code:
            return kind
        waiting.extend(kind.__subclasses__())
    return TrustfloorError


def unhappy_end(event: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """What the end of a turn that isn't `done` is as a problem: its members by name.

    `event` is the last event's type and `said` what it says; nothing, if the events broke off.
    """
    kind = TurnAborted if event == "aborted" else known_kind(said.get("code") or "turn_interrupted")
    return {
        "status": kind.status,
        "code": said.get("code") or kind.code,
        "title": kind.title,
        "detail": said.get("error") or said.get("message") or BROKEN_OFF,
        "where": said.get("where"),
        "remedy": said.get("remedy"),
        "retryable": said.get("canRetry"),
    }
