"""What is ours and used by no turn is removed: containers, processes, turn folders, views.

Beside the composition root: what is swept was made by parts that don't know each other.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from supervisor.errors import ConfigurationError, TurnFailed
from supervisor.ids import InstanceId, SessionId, TurnId
from supervisor.later import Later
from supervisor.observability.health import Leftovers, Sandbox
from supervisor.observability.metrics import METRICS
from supervisor.observability.recording import Append
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.reaper import reap_containers
from supervisor.runtimes.container.spec import LABEL_SESSION, LABEL_TURN
from supervisor.runtimes.container.vault_view import VaultViews
from supervisor.runtimes.local.leftovers import count_marked, end_leftovers
from supervisor.runtimes.turn_folder import remove_leftover_turns
from supervisor.storage.reserve import Reserve

logger = logging.getLogger(__name__)

_SOONEST_SECONDS: Final = 2.0
_LATEST_SECONDS: Final = 60.0
"""Between two looks for an engine that was away: the longer it stays, the rarer they are."""


class Sweeper:
    """Removes and counts what is ours. Never raises: what stays is found the next time.

    An async context manager: within it, a sweep that met no engine, or one that refused, is made up
    for later. `living` are the marks of what is in use, `waiting` those of them that wait for a
    message, and `owners` whose they are where no label says so.
    """

    def __init__(  # noqa: PLR0913 - all that may be left over, and who is told
        self,
        engine: Engine,
        views: VaultViews,
        living: Callable[[], Collection[TurnId]],
        instance: InstanceId,
        turns: Path,
        *,
        waiting: Callable[[], Collection[TurnId]] = frozenset,
        owners: Callable[[], Mapping[TurnId, SessionId]] = dict,
        record: Append | None = None,
        reserve: Reserve | None = None,
    ) -> None:
        self._record = record
        self._reserve = reserve
        self._engine = engine
        self._views = views
        self._living = living
        self._waiting = waiting
        self._owners = owners
        self._instance = instance
        self._turns = turns
        self._missed = Later(self._make_up, soonest=_SOONEST_SECONDS, latest=_LATEST_SECONDS)

    async def __aenter__(self) -> Self:
        await self._missed.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._missed.__aexit__(*exception)

    async def _make_up(self) -> None:
        if await self._sweep_containers():
            await self._sweep_rest()

    async def sweep_all(self) -> None:
        """At the start: what a supervisor before us left, its processes included."""
        ended = await asyncio.to_thread(end_leftovers, self._instance, self._living)
        if ended:
            logger.warning("ended %d left-over processes", ended)
        await self._tell("processes", ended)
        await self.sweep_after_turn()

    def sweep_soon(self) -> None:
        """After what belongs to no turn: a moment later, and again as long as no engine answers."""
        self._missed.want()

    async def sweep_after_turn(self) -> None:
        """What no living turn uses; its processes a turn has ended itself."""
        await self._sweep_containers()
        await self._sweep_rest()

    async def _sweep_containers(self) -> bool:
        """Whether they could be looked at."""
        was_missed = self._missed.is_wanted
        self._missed.drop()  # before: what is wanted while they are looked at isn't seen any more
        try:
            reaped = await reap_containers(self._engine, self._instance, self._living)
        except TurnFailed as error:
            if not was_missed:
                logger.info("containers were not looked at: %s", error.message)
            self._missed.want()
            return False
        if reaped.refused:
            self._missed.want()
        if reaped.removed:
            logger.warning("removed %d left-over containers", reaped.removed)
        await self._tell("containers", reaped.removed)
        return True

    async def _sweep_rest(self) -> None:
        try:
            await self._tell("folders", await asyncio.to_thread(self._sweep_folders))
        except OSError as error:
            logger.warning("left-overs could not be removed: %s", error)
        if self._reserve is not None:  # only now: what was removed may have been what was missing
            await asyncio.to_thread(self._reserve.hold)

    async def _tell(self, what: str, count: int) -> None:
        """Enter what was ended or removed into the audit log; it is gone in any case."""
        if not count:
            return
        METRICS.reaped.labels(what).inc(count)
        if self._record is not None:
            try:
                await self._record("kill", None, None, {"what": f"left-over {what}", "n": count})
            except ConfigurationError as error:
                logger.warning("%s", error.message)

    def _sweep_folders(self) -> int:
        folders = remove_leftover_turns(self._turns, self._living)
        views = self._views.leftovers()
        living = self._living()
        for name in views:
            if name not in living:
                self._views.discard(name)
        if folders:
            logger.warning("removed %d left-over turn folders", folders)
        return folders

    async def sandboxes(self) -> tuple[Sandbox, ...]:
        """The containers of ours that exist now, the oldest first. Raises EngineUnreachable."""
        found = await self._engine.list_ours(self._instance)
        living, waiting, owners = self._living(), self._waiting(), self._owners()
        return tuple(
            Sandbox(
                id=each.id,
                session_id=each.labels.get(LABEL_SESSION)
                or owners.get(TurnId(each.labels.get(LABEL_TURN, ""))),
                turn_id=each.labels.get(LABEL_TURN),
                image=each.image,
                state=each.state,
                since=datetime.fromtimestamp(each.created, UTC) if each.created else None,
                live=each.labels.get(LABEL_TURN) in living,
                waiting=each.labels.get(LABEL_TURN) in waiting,
            )
            for each in sorted(found, key=lambda each: each.created)
        )

    async def counts(self) -> Leftovers:
        """What of ours exists now."""
        living, waiting = self._living(), self._waiting()
        try:
            containers = await self._engine.list_ours(self._instance)
        except TurnFailed:
            containers = ()
        marks = [each.labels.get(LABEL_TURN) for each in containers]
        waits = sum(mark in waiting for mark in marks)
        live = sum(mark in living for mark in marks) - waits
        folders = list(self._turns.iterdir()) if self._turns.is_dir() else []
        return Leftovers(
            containers_live=live,
            containers_waiting=waits,
            containers_left=len(containers) - live - waits,
            turn_folders=len(folders),
            sockets=sum((each / "run" / "model.sock").exists() for each in folders),
            processes=await asyncio.to_thread(count_marked, self._instance),
        )
