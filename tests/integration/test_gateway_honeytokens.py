"""A request to the model that holds a honeytoken is not passed on, whatever part of it holds it."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from pydantic import SecretStr

from supervisor.gateway.door import Gateway
from supervisor.gateway.proxy import Upstream
from supervisor.ids import new_session_id, new_turn_id
from supervisor.runtimes.honeytokens import Honeytokens, Trip
from tests.worlds.model import Recorder, access, client, recorder, request_body

LARGE = "x" * 1_000_000
"""More than is judged in the event loop's own thread."""


@asynccontextmanager
async def watched(
    folder: Path, honeytokens: Honeytokens | None
) -> AsyncIterator[tuple[Recorder, aiohttp.ClientSession]]:
    """A model that records, behind a door that looks for these honeytokens."""
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(recorder(folder))
        gateway = await stack.enter_async_context(
            Gateway(Upstream("http://upstream", SecretStr("k"), upstream.socket_path))
        )
        await stack.enter_async_context(
            gateway.open_door(
                session_id=new_session_id(),
                turn_id=new_turn_id(),
                access=access(),
                socket_path=folder / "door.sock",
                watch=honeytokens,
            )
        )
        yield upstream, await stack.enter_async_context(client(folder / "door.sock"))


def in_body(form: str, around: str, token: str) -> dict[str, Any]:
    said = base64.encodebytes(token.encode()).decode() if form == "base64" else token
    return {"json": request_body(around + said)}


@pytest.mark.parametrize("around", ["", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("form", ["plain", "base64"])
async def test_a_body_with_a_token_rings_the_alarm_and_is_not_passed_on(
    form: str, around: str, tmp_path: Path
) -> None:
    honeytokens = Honeytokens(b"this turn's")
    request = in_body(form, around, honeytokens.decoy(".env").decode())
    async with watched(tmp_path, honeytokens) as (upstream, http):
        async with http.post("/v1/messages", **request) as answer:
            assert answer.status == 403
            assert honeytokens.trip(await answer.text()) is None
        assert upstream.bodies == []
    assert honeytokens.tripped == Trip(".env", "a request to the model")


@pytest.mark.parametrize("where", ["header", "query", "refused"])
async def test_other_parts_are_looked_at_too_also_of_what_is_refused(
    where: str, tmp_path: Path
) -> None:
    honeytokens = Honeytokens(b"this turn's")
    token = honeytokens.decoy(".env").decode().split()[-1]
    path, headers = "/v1/messages", {}
    if where == "header":
        headers["x-stainless-lang"] = token
    elif where == "query":
        path += f"?beta={token}"
    else:
        path = f"/v1/files/{token}"
    async with watched(tmp_path, honeytokens) as (upstream, http):
        async with http.post(path, json=request_body(), headers=headers) as answer:
            assert answer.status == 403
        assert upstream.bodies == []
    assert honeytokens.tripped is not None


async def test_control_without_anyone_looking_it_is_passed_on_as_any_other_is(
    tmp_path: Path,
) -> None:
    honeytokens = Honeytokens(b"this turn's")
    request = in_body("plain", "", honeytokens.decoy(".env").decode())
    async with (
        watched(tmp_path, None) as (upstream, http),
        http.post("/v1/messages", **request) as answer,
    ):
        assert answer.status == 200
        assert honeytokens.trip(upstream.bodies[0]) == ".env"


async def test_a_request_without_one_is_passed_on_byte_for_byte(tmp_path: Path) -> None:
    honeytokens = Honeytokens(b"this turn's")
    honeytokens.decoy(".env")
    body = json.dumps(request_body("what is a decoy?")).encode()
    async with (
        watched(tmp_path, honeytokens) as (upstream, http),
        http.post(
            "/v1/messages", data=body, headers={"content-type": "application/json"}
        ) as answer,
    ):
        assert answer.status == 200
        assert upstream.bodies == [body]
    assert honeytokens.tripped is None
