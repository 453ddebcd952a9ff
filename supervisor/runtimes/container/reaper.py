"""Removes what is provably ours and in use by nobody: at start, and after each turn.

Provably: the engine's record of a container carries this instance's label. Names prove nothing.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from supervisor.errors import EngineRefused
from supervisor.ids import InstanceId, TurnId
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.spec import LABEL_INSTANCE, LABEL_TURN


@dataclass(frozen=True, slots=True)
class Reaped:
    """How many containers were removed, were left to their living turns, could not be removed."""

    removed: int = 0
    in_use: int = 0
    refused: int = 0


async def reap_containers(
    engine: Engine, instance: InstanceId, living: Callable[[], Collection[TurnId]]
) -> Reaped:
    """Remove this instance's containers, in any state, whose turn is not living.

    `living` is asked after the list is made: a turn counts as living before it makes its container,
    so none can slip in between. Raises EngineUnreachable.
    """
    removed = in_use = refused = 0
    for found in await engine.list_ours(instance):
        if found.labels.get(LABEL_INSTANCE) != instance:
            continue
        if found.labels.get(LABEL_TURN) in living():
            in_use += 1
            continue
        try:
            removed += await engine.remove(found.id)
        except EngineRefused:  # one that can't be removed must not save the others
            refused += 1
    return Reaped(removed, in_use, refused)
