"""What a step of the tour works with: it sends a message, hears the turn, and shows both."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from supervisor.cli.client import Client, Heard
from supervisor.cli.tour.claims import Told
from supervisor.cli.tour.teller import Teller
from supervisor.cli.tour.world import World
from supervisor.errors import TrustfloorError

_TURN_SECONDS: Final = 120.0

Hook = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Does something at an event, given its data, before the next one is heard."""


class TurnBroke(TrustfloorError):
    """A turn of the tour came to no good end, so that nothing can be claimed of it."""

    code = "turn_broke"
    title = "A turn of the tour broke off"


@dataclass
class Stage:
    """One tour's supervisor, world and teller, and all turns heard so far."""

    client: Client
    world: World
    teller: Teller
    supervisor_pid: int
    restart: Callable[[], Awaitable[int]]
    """Stops the supervisor and starts it again; the exit status that it ended with."""
    told: list[Told] = field(default_factory=list)

    @property
    def secrets(self) -> dict[str, str]:
        """Everything that must not come out: the files' secrets and the key."""
        return {**self.world.secrets, "the API key": self.world.key}

    async def play(  # noqa: PLR0913  (all that a message comes with)
        self,
        says: str,
        *,
        session: str | None = None,
        workspace: str | None = None,
        trust: str | None = None,
        agent: str | None = None,
        at: Mapping[str, Hook] = MappingProxyType({}),
        ends: Collection[str] = ("done",),
    ) -> Told:
        """Send a message, to which the scenario has a script; what the turn told.

        `at` has hooks by type of event. Bounded in time. Raises Unreachable or Refused if the
        supervisor doesn't take the message, TurnBroke if the turn ends otherwise than in `ends`.
        """
        wanted = {
            "sessionId": session,
            "workspace": workspace,
            "trustLevel": trust,
            "agentPath": agent,
        }
        body = {name: value for name, value in wanted.items() if value is not None}
        same = bool(self.told) and self.told[-1].session_id == session
        going_on = "the same session" if same else "an earlier session"
        terms = going_on if session else "a new session"
        terms += f", workspace {workspace}" if workspace else ""
        terms += f", agent {agent}" if agent else ""
        terms += f", asking for {trust}" if trust else ""
        self.teller.message(says, terms)
        body["message"] = says
        heard: list[Heard] = []
        async with asyncio.timeout(_TURN_SECONDS):
            async for event in self.client.turn(body).events():
                heard.append(event)
                if event.type == "tool_use":
                    self.teller.act(Told((event,)).acts[0])
                if event.type in at:
                    await at[event.type](event.data)
        told = Told(tuple(heard))
        if told.answer:
            self.teller.answer(told.answer)
        self.told.append(told)
        if told.ended.partition(":")[0] not in ends:
            raise TurnBroke(f"the turn did not end well: {told.ended}", remedy=told.remedy)
        return told
