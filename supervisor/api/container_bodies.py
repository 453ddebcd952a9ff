"""The containers as clients get them."""

from datetime import datetime

from supervisor.api.bodies import View


class ContainerView(View):
    """One container; `live` is whether a turn that runs uses it. `state` is the engine's word."""

    id: str
    session_id: str | None
    turn_id: str | None
    image: str
    state: str
    since: datetime | None
    live: bool


class ContainersView(View):
    """All containers of this supervisor's, the oldest first."""

    containers: list[ContainerView]
