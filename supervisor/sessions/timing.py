"""How long a turn took to what its person waits for: its cage, and the first word of its agent."""

import time

from supervisor.events.schema import (
    Event,
    InitEvent,
    IsolationEvent,
    ModelEvent,
    TextEvent,
    ThinkingEvent,
    ToolUseEvent,
)
from supervisor.observability.metrics import METRICS
from supervisor.trust.levels import TrustLevel

_OF_THE_AGENT = (ModelEvent, InitEvent, TextEvent, ThinkingEvent, ToolUseEvent)


class Timing:
    """Of one turn that begins now; told of each event, and counts the first of each kind."""

    def __init__(self, level: TrustLevel) -> None:
        self._level = level
        self._began = time.monotonic()
        self._heard = False

    @property
    def seconds(self) -> float:
        """Since the turn began."""
        return time.monotonic() - self._began

    def note(self, event: Event) -> None:
        """Look at one event."""
        if isinstance(event, IsolationEvent):
            if event.accepted and self._level is TrustLevel.SANDBOXED:
                METRICS.container_start_seconds.observe(self.seconds)
        elif not self._heard and isinstance(event, _OF_THE_AGENT):
            self._heard = True
            METRICS.first_event_seconds.labels(self._level.value).observe(self.seconds)
