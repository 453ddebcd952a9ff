"""A conversation as it is read: its record, its messages, and how it was taken up again."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict

from supervisor.events.schema import SessionResume
from supervisor.storage.session import Session


class SessionWithMessages(Session):
    """A session's record with the messages of its transcript, the oldest first."""

    messages: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(cls, session: Session, messages: Iterable[Mapping[str, Any]]) -> Self:
        """The record together with these messages."""
        return cls(**dict(session), messages=tuple(dict(each) for each in messages))


class ResumeInfo(BaseModel):
    """In short, whether an earlier conversation was taken up; `SessionResume` tells it in full."""

    model_config = ConfigDict(frozen=True)

    method: Literal["new", "sdk_resume", "context_injection"]
    is_new_session: bool
    previous_message_count: int = 0
    sdk_session_available: bool = False

    @classmethod
    def of(cls, resume: SessionResume) -> Self:
        """The same in short."""
        return cls(
            method=resume.method,
            is_new_session=resume.method == "new",
            previous_message_count=resume.previous_message_count,
            sdk_session_available=resume.sdk_session_valid,
        )
