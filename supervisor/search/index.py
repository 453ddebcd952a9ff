"""Keeps the index up to date while the supervisor runs: one pass at a time, in the background.

A pass is made at the start, after turns, and when one is asked for. Those that nobody waits for
leave ten times as long between them as they take, so a large vault costs little.
"""

import asyncio
import hashlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from supervisor.ids import SessionId
from supervisor.policy.deny_list import DenyList
from supervisor.runtimes.visible import VisibleFile
from supervisor.search.embeds import EmbeddingsFailed, Similar
from supervisor.search.passes import Counted
from supervisor.search.session_pass import SessionPass
from supervisor.search.vault_pass import VaultPass
from supervisor.storage.index_rows import IndexRows

logger = logging.getLogger(__name__)

REST: Final = 10.0
"""A pass that nobody waits for begins so many times the last one's length after its end."""
SHORTEST_REST: Final = 1.0
"""Seconds."""
AFTER_A_FAILURE: Final = 60.0
"""Seconds."""

_JUDGED_BY: Final = "judged_by"

Look = Callable[[DenyList, threading.Event], Iterable[VisibleFile]]
"""Finds the vault's files that a sandbox would see under a deny list; blocks."""


@dataclass(frozen=True, slots=True)
class PassReport:
    """A pass that has ended: its number, how long it took (seconds), and what it found.

    `error`: why it did not come to its end; what it had done by then counts.
    """

    number: int
    seconds: float
    sessions: Counted
    texts: Counted
    error: str | None = None


@dataclass(slots=True)
class _Wanted:
    """What is to be done next. `full`: a pass over all; `soon`: without a rest before it."""

    full: bool = True
    soon: bool = True
    anew: bool = False
    deleted: bool = False
    sessions: set[SessionId] = field(default_factory=set)


class Index:
    """The index's keeper. An async context manager: while it is open, passes are made."""

    def __init__(  # noqa: PLR0913 - all that it keeps the index of, and with
        self,
        rows: IndexRows,
        vault: Path,
        *,
        look: Look,
        hidden: Callable[[], DenyList],
        home: Path | None = None,
        similar: Similar | None = None,
    ) -> None:
        self._rows = rows
        self._vault = vault
        self._look = look
        self._hidden = hidden
        self._home = home
        self._similar = similar
        self._wanted = _Wanted()
        self._wake = asyncio.Event()
        self._ended = asyncio.Condition()
        self._stop = threading.Event()
        self._task: asyncio.Task[None] | None = None
        self._begun = 0
        self._rest_until = 0.0
        self._judged_by: str | None = None
        self.is_running = False
        self.last: PassReport | None = None

    async def __aenter__(self) -> Self:
        self._judged_by = await self._rows.remembered(_JUDGED_BY)
        self._task = asyncio.create_task(self._keep(), name="search-index")
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self._stop.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def turn_ended(self, session_id: SessionId) -> None:
        """Index what was said in the session, now, and what the turn may have written, soon."""
        self._wanted.sessions.add(session_id)
        self.changed()

    def changed(self, *, deleted: bool = False) -> None:
        """Something else may have changed: look through all of it before long."""
        self._wanted.full = True
        self._wanted.deleted = self._wanted.deleted or deleted
        self._wake.set()

    def begin(self, *, anew: bool = False) -> int:
        """Ask for a pass now; its number. `anew`: all is read, whether it has changed or not."""
        self._wanted.full = self._wanted.soon = True
        self._wanted.anew = self._wanted.anew or anew
        self._wake.set()
        return self._begun + 1

    def judge(self) -> None:
        """Look through the vault now, as the deny list has changed, unless that is being done."""
        if not self.is_running:
            self.begin()

    async def ended(self, number: int) -> PassReport:
        """Wait until that pass has ended; the report of the last one that has."""
        async with self._ended:
            await self._ended.wait_for(lambda: self.last is not None and self.last.number >= number)
        assert self.last is not None  # noqa: S101 - waited for
        return self.last

    async def counts(self) -> dict[str, int]:
        """How many contents of each type are indexed."""
        return await self._rows.counts()

    def is_judged_by(self, hidden: DenyList) -> bool:
        """Whether the texts in the index are those that this deny list lets through."""
        return self._judged_by == _fingerprint(hidden)

    async def _keep(self) -> None:
        is_mended = False
        while True:
            try:
                if not is_mended:
                    while await self._rows.mend():
                        pass
                    is_mended = True
                await self._sessions_of_turns()
                if self._is_due():
                    await self._pass()
            except Exception as error:  # noqa: BLE001 - whatever ends it must be seen, and mended
                logger.warning("the search index is not up to date: %s", error)
                self._wanted.full, self._wanted.soon = True, False
                self._rest_until = time.monotonic() + AFTER_A_FAILURE
            await self._until_wanted()

    def _is_due(self) -> bool:
        wanted = self._wanted
        if not self.is_judged_by(self._hidden()):
            return True
        return wanted.full and (wanted.soon or time.monotonic() >= self._rest_until)

    async def _until_wanted(self) -> None:
        wanted = self._wanted
        if wanted.sessions or (wanted.full and wanted.soon):
            return
        pause = max(0.0, self._rest_until - time.monotonic()) if wanted.full else None
        try:
            async with asyncio.timeout(pause):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    async def _sessions_of_turns(self) -> None:
        while self._wanted.sessions:
            one = SessionPass(self._rows, self._vault, self._home)
            await one.one(self._wanted.sessions.pop())

    async def _pass(self) -> None:
        wanted, self._wanted = self._wanted, _Wanted(full=False, soon=False)
        self._wanted.sessions = wanted.sessions
        self._begun += 1
        self.is_running = True
        began = time.monotonic()
        hidden = self._hidden()
        sessions = SessionPass(self._rows, self._vault, self._home)
        texts = VaultPass(self._rows, self._vault, lambda: self._look(hidden, self._stop))
        error: str | None = "it was stopped"
        try:
            await texts.all(anew=wanted.anew)
            await self._rows.remember(_JUDGED_BY, _fingerprint(hidden))
            self._judged_by = _fingerprint(hidden)
            await sessions.all(anew=wanted.anew)
            if wanted.deleted or sessions.counted.has_deleted or texts.counted.has_deleted:
                await self._forget()
            await self._measure()
            error = None
        except Exception as fault:
            error = str(fault) or type(fault).__name__
            raise
        finally:
            seconds = time.monotonic() - began
            self._rest_until = time.monotonic() + max(SHORTEST_REST, REST * seconds)
            self.is_running = False
            self.last = PassReport(
                self._begun, round(seconds, 3), sessions.counted, texts.counted, error
            )
            async with self._ended:
                self._ended.notify_all()

    async def _measure(self) -> None:
        """Give pieces their vectors, if anybody makes some; never what is denied by now."""
        if self._similar is None:
            return
        try:
            made = await self._similar.embed_pieces(lambda: self.is_judged_by(self._hidden()))
        except EmbeddingsFailed as error:
            logger.warning("%s; %s", error.message, error.remedy)
        else:
            logger.info("%d pieces got a vector", made)

    async def _forget(self) -> None:
        """Rid the index's file of the words that were deleted."""
        more = await self._rows.forget_more(first=True)
        while more:
            more = await self._rows.forget_more(first=False)


def left_out(report: PassReport) -> Counter[str]:
    """What a pass left out, by cause."""
    return report.sessions.left_out + report.texts.left_out


def _fingerprint(hidden: DenyList) -> str:
    return hashlib.sha256(repr(hidden.rules).encode("utf-8", "surrogateescape")).hexdigest()
