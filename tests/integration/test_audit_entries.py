"""What a supervisor enters into its audit log, and that no secret is in it."""

import json
from pathlib import Path
from typing import Any

from supervisor.observability.audit import verify
from tests.worlds.server import supervisor_process

KEY = "sk-ant-canary-of-the-audit-0123456789"
MESSAGE = "canary-message-71f3"
SCENARIO = """version: 1
scripts:
  - name: any
    when: {always: true}
    steps:
      - text: canary-answer-88a2
"""


async def test_who_did_what_is_in_the_log_and_neither_secrets_nor_what_was_said(
    tmp_path: Path,
) -> None:
    async with supervisor_process(tmp_path, SCENARIO, api_key=KEY) as running:
        async with running.client() as client:
            answer = await client.post("/api/chat", json={"message": MESSAGE, "trustLevel": "full"})
            assert answer.status_code == 200, answer.text
            session = answer.json()["sessionId"]
            floor = {"floor": "vault", "name": running.token}
            await client.put("/api/workspaces/family", json=floor)
            await client.put(f"/api/sessions/{session}/trust", json={"trustLevel": "vault"})
            await client.request("DELETE", f"/api/chat/session/{session}", json={})
            await client.post("/api/policy/explain", json={"tool": "Read", "input": {}})
            assert (await client.get("/api/audit/verify")).json()["whole"] is True
        assert await running.stop() == 0
    log = tmp_path / "data" / "audit.jsonl"
    entries: list[dict[str, Any]] = [json.loads(line) for line in log.read_bytes().splitlines()]
    told = [(each["kind"], each["body"].get("what"), each["session_id"]) for each in entries]
    for kind, what, whose in (
        ("server", "started", None),
        ("floor", None, session),
        ("launch", None, session),
        ("isolation", None, session),
        ("ending", None, session),
        ("workspace", "set", None),
        ("trust", None, session),
        ("session", "deleted", session),
        ("server", "stopped", None),
    ):
        assert (kind, what, whose) in told
    requests = {each["body"]["route"] for each in entries if each["kind"] == "request"}
    assert requests == {
        "/api/chat",
        "/api/workspaces/{slug}",
        "/api/sessions/{session_id}/trust",
        "/api/chat/session/{session_id}",
    }
    for path in log.parent.glob("audit*"):
        text = path.read_text()
        for secret in (KEY, running.token, MESSAGE, "canary-answer"):
            assert secret not in text, path.name
    assert verify(log) is None
