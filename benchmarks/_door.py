"""A gateway with one door, in a process of its own; for `gateway.py` only.

python -m benchmarks._door DOOR_SOCKET MODEL_SOCKET
"""

import asyncio
import sys
from pathlib import Path

from pydantic import SecretStr

from supervisor.gateway.access import Budget, ModelAccess
from supervisor.gateway.door import Gateway
from supervisor.gateway.proxy import Upstream
from supervisor.ids import new_session_id, new_turn_id


async def serve(door_socket: Path, model_socket: Path) -> None:
    """Until it is killed."""
    upstream = Upstream("http://model", SecretStr("a-benchmark's"), model_socket)
    access = ModelAccess(
        models=("*",), server_tools=False, budget=Budget(tokens=None, cost_usd=None)
    )
    async with (
        Gateway(upstream) as gateway,
        gateway.open_door(
            session_id=new_session_id(),
            turn_id=new_turn_id(),
            access=access,
            socket_path=door_socket,
        ),
    ):
        print("open", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2])))
