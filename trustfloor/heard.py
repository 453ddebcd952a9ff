"""Events as they are heard."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from supervisor.events.schema import Event

TERMINAL: Final = frozenset({"done", "aborted", "error"})
"""The types of event that end a turn."""

UNNUMBERED: Final = -1
"""`seq` of what is said in a stream without numbers: that of what waits for people."""

_ENVELOPE: Final = frozenset({"seq", "turn_id", "ts", "session_id"})


@dataclass(frozen=True, slots=True)
class Heard:
    """One event. `seq` is its number in its stream: of the session, or over all sessions."""

    seq: int
    type: str
    data: Mapping[str, Any]

    @property
    def session_id(self) -> str:
        """The session that it is of."""
        return str(self.data["session_id"])

    def event(self) -> "Event":
        """The event as its model. Raises Unexpected for one that this client doesn't know."""
        from pydantic import TypeAdapter  # noqa: PLC0415 - slow to load, and not always wanted

        from supervisor.events.schema import AnyEvent, Event  # noqa: PLC0415 - as above
        from trustfloor.wire import understood  # noqa: PLC0415 - as above

        adapter: TypeAdapter[Event] = TypeAdapter(AnyEvent)
        return understood(adapter, self.said)

    @property
    def said(self) -> Mapping[str, Any]:
        """What the event says, without its envelope (number, turn, moment, session)."""
        return {key: value for key, value in self.data.items() if key not in _ENVELOPE}


@dataclass(frozen=True, slots=True)
class Page:
    """A page of stored events; `next` is the `after` of the following one, `more`: there is one.

    `numbers` are those of the events over all sessions, as `after` takes them.
    `gap`: some events behind the page's `after` aren't stored any more.
    """

    events: tuple[Heard, ...]
    next: int
    more: bool
    gap: bool
    numbers: tuple[int, ...] = ()
