"""Messages that come at once, at every level: one runs, the other is told so (field report S03).

The rule is the first of the report's two: the second message gets 409 and may be sent again.
"""

import asyncio
import re
from collections.abc import Sequence

import pytest

from supervisor.errors import SessionBusy
from supervisor.sessions.records import TurnStarted
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, Turn, is_a, prompt, step
from tests.worlds.noting_model import a_noted_house, a_noting_model

pytestmark = pytest.mark.engine

ROUNDS = {TrustLevel.FULL: 4, TrustLevel.VAULT: 4, TrustLevel.SANDBOXED: 10}


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_of_two_messages_at_once_one_runs_and_none_is_lost(level: TrustLevel) -> None:
    async with a_noting_model() as noted, a_noted_house(noted) as house:
        session_id = (await house.send(message("word-start"), level)).session_id
        said = ["word-start"]
        refused: list[str] = []
        for number in range(ROUNDS[level]):
            words = [f"word-{number}-a", f"word-{number}-b"]
            answers = await asyncio.gather(
                *(house.begin(message(word), session_id=session_id) for word in words),
                return_exceptions=True,
            )
            turn = the_one_that_runs(house, answers)
            await turn.go_on(is_a("isolation"))
            sandboxes = len((await house.left()).containers)
            assert sandboxes == (1 if level is TrustLevel.SANDBOXED else 0)
            await turn.go_on()
            assert turn.end["type"] == "done", turn.end
            for word, answer in zip(words, answers, strict=True):
                (said if isinstance(answer, TurnStarted) else refused).append(word)
            assert {event["turn_id"] for event in turn.events} == {turn.started.turn_id}
        again = await house.send(message(refused[-1]), session_id=session_id)
        assert again.end["type"] == "done"
        await house.send(message("What was said?"), session_id=session_id)
        known = re.findall(r"word-[a-z0-9-]+", noted.conversations()[-1])
        assert list(dict.fromkeys(known)) == [*said, refused[-1]]


def message(word: str) -> str:
    return prompt(step("ok"), words=word)


def the_one_that_runs(house: House, answers: Sequence[TurnStarted | BaseException]) -> Turn:
    started = [each for each in answers if isinstance(each, TurnStarted)]
    refusals = [each for each in answers if isinstance(each, SessionBusy)]
    assert (len(started), len(refusals)) == (1, 1), answers
    assert refusals[0].status == 409
    assert refusals[0].remedy == "wait for its end, or abort it"
    return Turn(house, started[0], [])
