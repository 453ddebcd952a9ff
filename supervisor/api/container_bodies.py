"""The containers as clients get them."""

from datetime import datetime

from supervisor.api.bodies import View


class ContainerView(View):
    """One container, in use (`live`) or left over; `state` is the engine's word.

    Of those in use, `waiting` ones are ready for their session's next message, or for whoever's if
    they have no session yet; `turnId` is a mark of their own then, and stays so.
    """

    id: str
    session_id: str | None
    turn_id: str | None
    image: str
    state: str
    since: datetime | None
    live: bool
    waiting: bool


class ContainersView(View):
    """All containers of this supervisor's, the oldest first."""

    containers: list[ContainerView]
