"""What is entered into the audit log passes here: without known secrets, and counted."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from supervisor.observability.metrics import METRICS

Append = Callable[[str, str | None, str | None, Mapping[str, Any]], Awaitable[object]]
"""Appends to the audit log: kind, session, turn, body."""

_ALREADY: Final = frozenset({"decision"})
"""Kinds whose bodies come without secrets; some are large, and cleaned in a thread."""


class Recording:
    """Enters into the log what its parts record. `clean` takes known secrets out of a value."""

    def __init__(self, append: Append, clean: Callable[[], Callable[[Any], Any]]) -> None:
        self._append = append
        self._clean = clean

    async def record(
        self, kind: str, session_id: str | None, turn_id: str | None, body: Mapping[str, Any]
    ) -> object:
        """Returns once it is written. Raises ConfigurationError if it can't be."""
        said = dict(body) if kind in _ALREADY else self._clean()(dict(body))
        entered = await self._append(kind, session_id, turn_id, said)
        METRICS.recorded(kind, said)
        return entered
