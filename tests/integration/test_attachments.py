"""What comes along with a message reaches the model, at every level, and its bytes no event."""

import base64
import json

import pytest

from supervisor.sessions.attachments import Attachment
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import prompt, step
from tests.worlds.noting_model import a_noted_house, a_noting_model
from tests.worlds.picture import png

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_a_picture_and_a_text_reach_the_model_with_the_message(level: TrustLevel) -> None:
    files = (Attachment("plan ü.png", png()), Attachment("notes.md", b"# the notes\n"))
    async with a_noting_model() as noted, a_noted_house(noted) as house:
        turn = await house.send(prompt(step("seen")), level, attachments=files)
        assert turn.end["type"] == "done", turn.end
        assert turn.end["response"] == "seen"
        (body,) = [body for body in noted.bodies if body.get("tools")]
        blocks = [block for each in body["messages"] for block in each["content"]]
        (image,) = [block for block in blocks if block["type"] == "image"]
        assert image["source"]["media_type"] == "image/png"
        assert base64.b64decode(image["source"]["data"]).startswith(b"\x89PNG")
        assert "# the notes" in json.dumps(blocks)
        (said,) = turn.of("user_message")
        assert said["attachments"] == [
            {"name": "plan ü.png", "mediaType": "image/png", "size": len(png())},
            {"name": "notes.md", "mediaType": "text/plain", "size": 12},
        ]
        told = json.dumps(turn.events)
        assert base64.b64encode(png()).decode()[:60] not in told
        again = await house.send(prompt(step("still")), session_id=turn.session_id)
        assert again.end["type"] == "done", again.end


async def test_where_the_session_changes_sides_a_picture_is_named() -> None:
    async with a_noting_model() as noted, a_noted_house(noted) as house:
        files = (Attachment("plan.png", png()),)
        turn = await house.send(prompt(step("seen")), TrustLevel.VAULT, attachments=files)
        noted.bodies.clear()
        later = await house.send(
            prompt(step("ok")), TrustLevel.SANDBOXED, session_id=turn.session_id
        )
        assert later.end["type"] == "done", later.end
        (asked,) = noted.conversations()
        assert "[attached: plan.png]" in asked
