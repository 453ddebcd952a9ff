"""The containers of ours that exist now, in use by a turn or left."""

from fastapi import APIRouter

from supervisor.api.container_bodies import ContainersView, ContainerView
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.errors import EngineRefused, EngineUnreachable

router = APIRouter(prefix="/containers", tags=["health"])


@router.get("", responses=refusals(EngineUnreachable, EngineRefused))
async def list_containers(supervisor: Supervisor) -> ContainersView:
    """What the engine says there is now, by our own label. Refused while it doesn't answer."""
    found = await supervisor.containers()
    return ContainersView(
        containers=[
            ContainerView(
                id=each.id,
                session_id=each.session_id,
                turn_id=each.turn_id,
                image=each.image,
                state=each.state,
                since=each.since,
                live=each.live,
                waiting=each.waiting,
            )
            for each in found
        ]
    )
