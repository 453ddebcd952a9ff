"""What a sandbox still asks of the model as its turn ends is booked, like all that came before.

Positive control: the request is under way, as its first words have reached the sandbox.
"""

import pytest

from tests.worlds.house import a_house, bash, prompt, step

pytestmark = [pytest.mark.engine, pytest.mark.asyncio]

# The prompt chooses a script of its own: many words, of which the last never come.
PROGRAM = r"""
import json, os, socket
words = '<<steps: [{"text": "%s", "stall_s": 60}]>>' % ("word " * 300)
body = json.dumps({
    "model": "MODEL", "max_tokens": 4000, "stream": True,
    "tools": [{"name": "x", "input_schema": {}}],
    "messages": [{"role": "user", "content": words}],
}).encode()
way = socket.socket(socket.AF_UNIX)
way.connect("/run/trustfloor/model.sock")
way.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
            b"anthropic-version: 2023-06-01\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
told = b""
while b"content_block_delta" not in told:
    told += way.recv(1 << 16)
print("under way", flush=True)
os.close(1)
while way.recv(1 << 16):
    pass
"""


async def test_a_request_that_is_under_way_when_the_turn_ends_is_booked() -> None:
    async with a_house() as house:
        plain = await house.send(prompt(bash("echo"), step("done")))
        model = plain.of("model")[0]["model"]
        program = PROGRAM.replace("MODEL", model)
        command = f"cat > /tmp/p.py <<'END'\n{program}\nEND\npython3 /tmp/p.py 2>&1 & sleep 1"
        turn = await house.send(prompt(bash(command), step("done")))
        assert turn.end["type"] == "done", turn.end
        assert "under way" in turn.results()[0]
        before, after = plain.end["spending"], turn.end["spending"]
        assert after["requests"] == before["requests"] + 1
        row = await house.parts.sessions.get_session(turn.session_id)
        assert row.tokens_used > before["inputTokens"] + before["outputTokens"] + 100
