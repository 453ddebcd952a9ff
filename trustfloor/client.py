"""A typed client of a supervisor: `AsyncClient`, and `Client` where there is no event loop."""

from supervisor.trust.levels import TrustLevel
from trustfloor.aio.client import AsyncClient
from trustfloor.aio.turn import AsyncTurn
from trustfloor.errors import Refused, Unexpected, Unreachable
from trustfloor.heard import Heard, Page
from trustfloor.sync.client import Client
from trustfloor.sync.turn import Turn

__all__ = [
    "AsyncClient",
    "AsyncTurn",
    "Client",
    "Heard",
    "Page",
    "Refused",
    "TrustLevel",
    "Turn",
    "Unexpected",
    "Unreachable",
]
