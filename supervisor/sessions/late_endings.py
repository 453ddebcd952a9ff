"""What of a turn's ending couldn't be written, as a disk was full or busy: tried until it can be.

Below `course.py`, which writes endings. Without it a turn would stay marked as running, and its
session could neither go on nor be deleted, until the next start puts it right.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Self

from supervisor.errors import SessionNotFound, TrustfloorError
from supervisor.ids import SessionId
from supervisor.later import Later
from supervisor.observability.logs import log_context

logger = logging.getLogger(__name__)

SECONDS: Final = 5.0
"""How long after a failure they are tried again."""

Write = Callable[[], Awaitable[object]]


class LateEndings:
    """Endings that are still to be written, session by session. An async context manager.

    Leaving it gives up those that can't be written by then; the next start finds them.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._kept: dict[SessionId, list[Write]] = {}
        self._turn = asyncio.Lock()
        self._later = Later(self._settle_all, soonest=seconds, latest=seconds)

    async def __aenter__(self) -> Self:
        await self._later.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._later.__aexit__(*exception)

    def keep(self, session_id: SessionId, writes: Sequence[Write]) -> None:
        """Write these later, one after the other."""
        self._kept.setdefault(session_id, []).extend(writes)
        self._later.want()

    async def settle(self, session_id: SessionId) -> None:
        """Write what is left of the session's last ending. Raises what the writing raises."""
        async with self._turn:
            writes = self._kept.get(session_id)
            if writes is None:
                return
            while writes:
                write = writes.pop(0)  # one that is broken off may have been done all the same
                try:
                    await write()
                except SessionNotFound:
                    continue  # there is nothing any more that it could be written to
                except TrustfloorError:
                    writes.insert(0, write)
                    raise
            del self._kept[session_id]
        with log_context(session_id=session_id):
            logger.info("what was missing of the last turn's ending is stored")

    async def _settle_all(self) -> None:
        for session_id in list(self._kept):
            await self._try(session_id)
        if not self._kept:
            self._later.drop()

    async def _try(self, session_id: SessionId) -> None:
        try:
            await self.settle(session_id)
        except TrustfloorError:
            return  # another time
        except Exception:
            # One that breaks otherwise must not keep the others from being stored.
            self._kept.pop(session_id, None)
            logger.exception("an ending could not be stored")
