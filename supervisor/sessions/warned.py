"""What a session was warned of already: what goes on turn after turn is told when it begins.

Of an MCP server that a session has to do without the first turn tells; the next ones only if there
was a turn without that trouble in between, or it is another one.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from supervisor.events.schema import Event, WarningEvent
from supervisor.ids import SessionId
from supervisor.mcp.chosen import LEFT_OUT
from supervisor.runtimes.translate import CONNECTION_FAILED

LASTING: Final = frozenset({LEFT_OUT, CONNECTION_FAILED})
"""The codes of warnings that mostly come with every turn."""
MOST_SESSIONS: Final = 1_000
"""Sessions that this is known of; one that is forgotten is warned anew."""
MOST_OF_A_TURN: Final = 200
"""Warnings of a turn that are remembered; an agent's program can make up any number."""


@dataclass(slots=True)
class _Heard:
    before: frozenset[int] = frozenset()
    now: set[int] = field(default_factory=set)


class Warned:
    """Knows what the last turn of each session was warned of."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[SessionId, _Heard] = OrderedDict()

    def turn_begins(self, session_id: SessionId) -> None:
        """What was heard since is of the turn before."""
        heard = self._sessions.pop(session_id, None)
        self._sessions[session_id] = _Heard(frozenset() if heard is None else frozenset(heard.now))
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)

    def is_told(self, session_id: SessionId, event: Event) -> bool:
        """Whether a turn's event is a warning that its session knows."""
        if not isinstance(event, WarningEvent) or event.code not in LASTING:
            return False
        heard = self._sessions.get(session_id)
        if heard is None:
            return False
        said = hash((event.code, event.message))
        known = said in heard.before or said in heard.now
        if len(heard.now) < MOST_OF_A_TURN:
            heard.now.add(said)
        return known
