"""Reads the recorded decisions of an audit log, as far as its chain holds."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from supervisor.observability.chain import BadLine
from supervisor.observability.verification import BrokenChain, verified
from supervisor.policy.replay import Recorded, recorded_decision
from supervisor.storage.timestamp import from_text


@dataclass(slots=True)
class RecordedDecisions:
    """The decisions of a log, from a moment on, the oldest first; one pass.

    Once they were all taken, `broken` is the first line that doesn't fit the chain, if one didn't:
    what stands from there on isn't told, as anybody may have written it.
    """

    path: Path
    since: datetime | None = None
    broken: BadLine | None = None
    lines: int = field(default=0)

    def __iter__(self) -> Iterator[Recorded]:
        """Raises OSError if the log can't be read."""
        try:
            for position, line in verified(self.path):
                self.lines = position
                if b'"kind":"decision"' not in line:
                    continue
                record = recorded_decision(position, json.loads(line))
                if record is not None and self._counts(record):
                    yield record
        except BrokenChain as error:
            self.broken = error.bad

    def _counts(self, record: Recorded) -> bool:
        if self.since is None:
            return True
        try:
            return from_text(record.at) >= self.since
        except ValueError:
            return False
