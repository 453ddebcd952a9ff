"""A transcript that a crash cut off: read, said so, gone on with, and never rewritten (S16)."""

import pytest

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import a_house, prompt, step, transcript_of

pytestmark = pytest.mark.engine

TORN = b'{"type":"assistant","uuid":"0b6f","message":{"role":"assistant","content":[{"type":"te'


@pytest.mark.parametrize("level", [TrustLevel.VAULT, TrustLevel.SANDBOXED])
async def test_a_session_with_a_torn_last_line_goes_on_where_it_was(level: TrustLevel) -> None:
    async with a_house() as house:
        first = await house.send(prompt(step("one"), words="remember-this"), level)
        assert first.end["type"] == "done", first.end
        path = await transcript_of(house, first.session_id, level)
        with open(path, "ab") as file:  # noqa: PTH123
            file.write(TORN)
        with open(path, "rb") as file:  # noqa: PTH123
            before = file.read()
        again = await house.send(prompt(step("two")), level, session_id=first.session_id)
        assert again.end["type"] == "done", again.end
        assert again.of("session")[0]["resumeInfo"]["method"] == "sdk_resume"
        with open(path, "rb") as file:  # noqa: PTH123
            after = file.read()
        assert after.startswith(before)
        assert after[len(before) :].startswith(b"\n")
