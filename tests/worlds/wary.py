"""A whole supervisor that asks about each command, at every level, with its API on a port."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from supervisor.api.main import make_api
from tests.worlds.house import House, Told, a_house
from tests.worlds.http import listening
from tests.worlds.policy_world import SHIPPED
from tests.worlds.waiting import A_WHILE

WARY = """
version: 1
rules:
  - id: ask-about-commands
    reason: this house asks about each command
    answer: ask
    tools: [Bash]
    levels: [full, sandboxed]
    examples: {match: [Bash], other: [Read]}
defaults:
  vault: {trust_mode: false, read: [], write: [], bash: []}
"""


@dataclass(frozen=True)
class WaryHouse:
    """The supervisor, and a client of it."""

    house: House
    client: httpx.AsyncClient
    url: str

    async def grant(self, request: Told, **more: Any) -> httpx.Response:
        """Say yes to what was shown."""
        body = {"contentHash": request["contentHash"], **more}
        return await self.client.post(f"/api/permissions/{request['id']}/grant", json=body)

    async def deny(self, request: Told, **said: Any) -> httpx.Response:
        """Say no."""
        return await self.client.post(f"/api/permissions/{request['id']}/deny", json=said)


@asynccontextmanager
async def wary_house(**settings: Any) -> AsyncIterator[WaryHouse]:
    """Open one in a folder with a short path, for sockets."""
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as folder:
        policies = Path(folder) / "policies"
        shutil.copytree(SHIPPED, policies, ignore=shutil.ignore_patterns("examples"))
        (policies / "wary.yaml").write_text(WARY)
        async with a_house(Path(folder), policies=policies, **settings) as house:
            headers = {"Authorization": f"Bearer {house.parts.token.get_secret_value()}"}
            async with (
                listening(make_api(house.parts)) as at,
                httpx.AsyncClient(base_url=at.url, headers=headers, timeout=A_WHILE) as client,
            ):
                yield WaryHouse(house, client, at.url)
