"""How many sandboxes there may be at once: each may take what the limits of one allow."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import quote

from supervisor.engine_filter.calls import Refused
from supervisor.engine_filter.creates import Grounds, is_ours
from supervisor.engine_filter.engine_side import EngineSide
from supervisor.runtimes.container.spec import LABEL_INSTANCE

_OK, _TOO_MANY, _UNKNOWN = 200, 429, 503
_LIST: Final = "/containers/json?all=1&filters=" + quote(json.dumps({"label": [LABEL_INSTANCE]}))


class Room:
    """Room for so many sandboxes over a supervisor's folders: made, running, and ended ones too."""

    def __init__(self, engine: EngineSide, grounds: Grounds, most: int) -> None:
        self._engine = engine
        self._grounds = grounds
        self._most = most
        self._counting = asyncio.Lock()
        self._creating: set[str] = set()

    @asynccontextmanager
    async def taken_by(self, name: str) -> AsyncIterator[None]:
        """Hold a place for a sandbox of this name while it is made. Raises Refused without one.

        What is under way is noted before the engine is asked what it has: else one that is made
        between question and answer would be in neither.
        """
        async with self._counting:
            under_way = set(self._creating)
            there = under_way | await self._names()
            if len(there | {name}) > self._most:
                raise Refused(
                    f"there are {len(there)} sandboxes, and {self._most} may be there at once"
                    " (TRUSTFLOOR_SANDBOX_COUNT)",
                    _TOO_MANY,
                )
            self._creating.add(name)
        try:
            yield
        finally:
            self._creating.discard(name)

    async def _names(self) -> set[str]:
        """The names of all there are, whatever instance they say they are of."""
        said = await self._engine.ask("GET", _LIST)
        if said.status != _OK:
            raise Refused("the engine doesn't say what there is", _UNKNOWN)
        return {_name(each) for each in said.json() if is_listed(each, self._grounds)}


def is_listed(each: Mapping[str, Any], grounds: Grounds) -> bool:
    """Whether a container in the engine's list is one of this supervisor's sandboxes."""
    sources = [mount.get("Source") for mount in each.get("Mounts") or ()]
    return is_ours(each.get("Labels"), sources, grounds)


def _name(listed: Mapping[str, Any]) -> str:
    return str((listed.get("Names") or [listed["Id"]])[0]).removeprefix("/")
