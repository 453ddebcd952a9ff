"""The tour's count of containers is what happened, however much else happens on the engine."""

import asyncio
import json
import time
from pathlib import Path

import httpx
import pytest

from supervisor.cli.tour.witness import Engine
from supervisor.settings import Settings
from tests.worlds.engine_image import IMAGE, tools_image_fixture  # noqa: F401
from tests.worlds.waiting import A_WHILE

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("tools_image")]

REMEMBERED = 256
"""How many events the engine keeps for who asks later (moby, daemon/events)."""


async def made_and_removed(http: httpx.AsyncClient, labels: dict[str, str], times: int = 1) -> None:
    """Containers that are made and removed, and never run."""
    for _ in range(times):
        made = await http.post(
            "/containers/create", json={"Image": IMAGE, "Cmd": ["true"], "Labels": labels}
        )
        made.raise_for_status()
        (await http.delete(f"/containers/{made.json()['Id']}")).raise_for_status()


async def test_a_container_is_counted_however_many_others_come_after_it() -> None:
    socket = Settings().engine_socket
    instance = f"tour-witness-{time.time_ns()}"
    mine = {"trustfloor.instance": instance, "trustfloor.turn": "turn_1"}
    engine = Engine(socket)
    transport = httpx.AsyncHTTPTransport(uds=str(socket))
    async with httpx.AsyncClient(transport=transport, base_url="http://e", timeout=A_WHILE) as http:
        async with engine.creations(instance, time.time()) as creations:
            await made_and_removed(http, mine)
            await asyncio.gather(
                *(made_and_removed(http, {}, REMEMBERED // 8 + 1) for _ in range(4))
            )
            assert [*(await creations.made()).values()] == ["turn_1"]
        # The control: who asks now is told of none.
        asked = {"since": "0", "until": str(time.time())}
        label = f"trustfloor.instance={instance}"
        filters = json.dumps({"event": ["create"], "label": [label]})
        late = await http.get("/events", params={**asked, "filters": filters})
        assert late.text == ""
    await engine.aclose()


async def test_one_that_is_made_before_it_listens_is_counted_too() -> None:
    socket: Path = Settings().engine_socket
    instance, began = f"tour-witness-{time.time_ns()}", time.time()
    transport = httpx.AsyncHTTPTransport(uds=str(socket))
    engine = Engine(socket)
    async with httpx.AsyncClient(transport=transport, base_url="http://e", timeout=A_WHILE) as http:
        await made_and_removed(http, {"trustfloor.instance": instance, "trustfloor.turn": "early"})
        async with engine.creations(instance, began) as creations:
            await made_and_removed(http, {"trustfloor.instance": instance})
            assert sorted((await creations.made()).values()) == ["", "early"]
    await engine.aclose()
