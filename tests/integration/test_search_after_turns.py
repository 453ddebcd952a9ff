"""Search over a whole supervisor: what real turns said and wrote is found, at any level."""

from collections.abc import AsyncIterator

import httpx
import pytest

from supervisor.api.main import make_api
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, a_house, bash, prompt, step
from tests.worlds.http import listening
from tests.worlds.waiting import A_WHILE

pytestmark = pytest.mark.engine

Served = tuple[House, httpx.AsyncClient]


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with a_house() as house:
        headers = {"Authorization": f"Bearer {house.parts.token.get_secret_value()}"}
        async with (
            listening(make_api(house.parts)) as at,
            httpx.AsyncClient(base_url=at.url, headers=headers, timeout=A_WHILE) as client,
        ):
            yield house, client


async def test_words_of_both_sides_are_found_as_the_messages_that_the_session_shows(
    served: Served,
) -> None:
    house, client = served
    secret = "echo CANARY-of-a-tool"
    turn = await house.send(
        prompt(bash(secret), step("ANSWERONE"), words="askone"), TrustLevel.FULL
    )
    again = prompt(step("ANSWERTWO"), words="asktwo")
    await house.send(again, TrustLevel.SANDBOXED, session_id=turn.session_id)
    await house.parts.index.ended(house.parts.index.begin())
    path = f"/api/chat/session/{turn.session_id}"
    shown = [each["content"] for each in (await client.get(path)).json()["messages"]]
    for word in ("askone", "ANSWERONE", "asktwo", "ANSWERTWO"):
        (hit,) = (await client.get("/api/search", params={"q": word})).json()["hits"]
        assert hit["sessionId"] == turn.session_id
        assert word in shown[hit["message"] - 1]
    gone = await client.request("DELETE", path, json={})
    assert gone.status_code == 200
    found = (await client.get("/api/search", params={"q": "ANSWERTWO"})).json()
    assert found["hits"] == []


async def test_what_a_turn_wrote_into_the_vault_is_found_without_asking(served: Served) -> None:
    house, client = served
    before = house.parts.index.last.number if house.parts.index.last else 0
    await house.send(
        prompt(bash("echo 'a pelican was here' > pelican.md"), step("done")), TrustLevel.FULL
    )
    await house.parts.index.ended(before + 2)
    hits = (await client.get("/api/search", params={"q": "pelican", "type": "document"})).json()
    assert [hit["path"] for hit in hits["hits"]] == ["pelican.md"]
