"""Watches the policy files: a change is in force from the next decision on, whole or not at all.

The kernel tells of changes (inotify, through `watchfiles`); nothing is asked again and again. Each
step of the way to the files is watched, links too, so that a folder that is replaced, a link set
anew and an editor's rename are seen as well.
"""

import asyncio
import contextlib
import logging
import os
import stat
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from watchfiles import Change, awatch

from supervisor.gate.policy_files import PolicySource, Reading
from supervisor.observability.logs import fields
from supervisor.policy.fault import PolicyFault

Record = Callable[[str, str | None, str | None, Mapping[str, Any]], Awaitable[object]]
"""Appends to the audit log: kind, session, turn, body."""

QUIET_MS: Final = 100
"""A change is taken in once nothing more has come for so long, …"""
LONGEST_MS: Final = 1_000
"""… and after so long in any case."""
PAUSES_SECONDS: Final = (0.5, 2.0, 10.0, 60.0)
"""Before a watch that failed is begun anew; the last one again and again."""
_MOST_LINKS: Final = 40

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Places:
    """Where changes matter: anything in `folder`, and `names` in the directories above and beside.

    All of them are absolute, as the kernel tells them.
    """

    folder: str | None
    directories: frozenset[str]
    names: frozenset[str]

    def concern(self, _change: Change, path: str) -> bool:
        """Whether a change of this path may change what the files say."""
        return path in self.names or os.path.dirname(path) == self.folder  # noqa: PTH120 - a text


def places_of(folder: Path) -> Places:
    """Every directory in which a step of the way to the policy files lies, through all links."""
    names: set[str] = set()
    real = _walk(str(folder), names)
    if real is not None:
        with contextlib.suppress(OSError), os.scandir(real) as entries:
            for entry in entries:
                if entry.is_symlink():
                    _walk(entry.path, names)
    above = {os.path.dirname(each) for each in names} | ({real} if real else set())  # noqa: PTH120
    directories = frozenset(each for each in above if os.path.isdir(each))  # noqa: PTH112
    return Places(real, directories, frozenset(names))


def _walk(path: str, names: set[str]) -> str | None:
    """Where the path leads, each step of the way added to `names`; None where it breaks off."""
    ahead = [part for part in reversed(path.split("/")) if part not in ("", ".")]
    here, links = "/", 0
    while ahead:
        part = ahead.pop()
        if part == "..":
            here = os.path.dirname(here)  # noqa: PTH120
            continue
        step = os.path.join(here, part)  # noqa: PTH118
        names.add(step)
        try:
            if not stat.S_ISLNK(os.lstat(step).st_mode):
                here = step
                continue
            target = os.readlink(step)  # noqa: PTH115
        except OSError:
            return None
        links += 1
        if links > _MOST_LINKS:
            return None
        ahead += [each for each in reversed(target.split("/")) if each not in ("", ".")]
        here = "/" if target.startswith("/") else here
    return here


def kernel_changes(places: Places) -> AsyncGenerator[object]:
    """Yields when something that matters has changed, and it has been quiet again for a moment.

    The watch is in place once the first item is waited for. Raises OSError if it can't be set up.
    """
    return awatch(
        *sorted(places.directories),
        watch_filter=places.concern,
        debounce=LONGEST_MS,
        step=QUIET_MS,
        recursive=False,
        ignore_permission_denied=True,  # a folder above that may be entered but not listed
    )


class PolicyWatch:
    """Keeps a source up to date, while the `async with` lasts.

    What is loaded and what is rejected is audited before it takes effect, and logged. A watch that
    dies is begun anew; `source.unwatched` says so in the meantime.
    """

    def __init__(
        self,
        source: PolicySource,
        record: Record,
        *,
        changes: Callable[[Places], AsyncGenerator[object]] = kernel_changes,
        pauses: tuple[float, ...] = PAUSES_SECONDS,
    ) -> None:
        self._source = source
        self._record = record
        self._changes = changes
        self._pauses = pauses
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        policy = self._source.current
        await self._record(
            "policy",
            None,
            None,
            {"outcome": "loaded", "hash": policy.hash, "files": list(self._source.files)},
        )
        self._task = asyncio.create_task(self._watch(), name="policy-watch")
        return self

    async def __aexit__(self, *_exception: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        self._source.unwatched = "the watch has ended"

    async def _watch(self) -> None:
        failures = 0
        while True:
            try:
                await self._until_a_change()
            except Exception as error:  # noqa: BLE001 - whatever ends it must be seen, and mended
                self._source.unwatched = str(error) or type(error).__name__
                _log.warning("policy files are not watched: %s", self._source.unwatched)
                pause = self._pauses[min(failures, len(self._pauses) - 1)]
                failures += 1
                await asyncio.sleep(pause)
            else:
                failures = 0

    async def _until_a_change(self) -> None:
        """One round: watch, take in what there is, wait. A round each, as folders come and go."""
        folder = self._source.folder
        places = await asyncio.to_thread(places_of, folder)
        async with aclosing(self._changes(places)) as changes:
            first = asyncio.ensure_future(anext(changes, None))
            try:
                await asyncio.sleep(0)  # the watch comes first: no change falls between
                await self._take_in()
                if await asyncio.to_thread(places_of, folder) != places:
                    return
                if not first.done():
                    self._source.unwatched = None
                await first
            finally:
                first.cancel()
                await asyncio.gather(first, return_exceptions=True)

    async def _take_in(self) -> None:
        reading = await asyncio.to_thread(self._source.read)
        if reading is None:
            return
        await self._record("policy", None, None, self._entry(reading))
        self._source.adopt(reading)
        if reading.error is None:
            _log.info("policy loaded", extra=fields(hash=self._source.current.hash))
            return
        fault = PolicyFault.of(reading.error)
        _log.error(
            "policy rejected, the last good one stays in force",
            extra=fields(in_force=self._source.current.hash, **fault.parts()),
        )

    def _entry(self, reading: Reading) -> Mapping[str, Any]:
        files = list(reading.files)
        in_force = self._source.current.hash
        if reading.policy is not None:
            return {
                "outcome": "loaded",
                "hash": reading.policy.hash,
                "before": in_force,
                "files": files,
            }
        fault = PolicyFault.of(reading.error) if reading.error is not None else None
        parts = {} if fault is None else dict(fault.parts())
        return {"outcome": "rejected", "inForce": in_force, "files": files, **parts}
