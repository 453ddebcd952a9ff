"""What a CLI process says, line by line, and the filter that it is fed to."""

import json

from supervisor.ids import SessionId
from supervisor.runtimes.admitted import Admitted, Objection
from supervisor.runtimes.wire import Wire
from tests.worlds.transcript import entry

SESSION = SessionId("11111111-2222-4333-8444-555555555555")
OTHER = "99999999-2222-4333-8444-555555555555"
ENTRY = entry(SESSION, "user", "hello")
PROJECTS = "/home/agent/.claude/projects"


def a_wire() -> Wire:
    """A filter that has read nothing yet."""
    return Wire(SESSION, PROJECTS)


def line(frame: object) -> bytes:
    """A frame as the process writes it."""
    return json.dumps(frame).encode() + b"\n"


def fed(*frames: object) -> list[Admitted]:
    """What a new filter makes of these frames."""
    target = a_wire()
    return [admitted for frame in frames for admitted in target.feed(line(frame))]


def codes(admitted: list[Admitted]) -> list[str]:
    """What was objected to, by its codes."""
    return [each.code for each in admitted if isinstance(each, Objection)]


def hook(request_id: str = "r1", /, **changes: object) -> dict[str, object]:
    """A request of the process: may this tool call be made?"""
    request = {
        "subtype": "hook_callback",
        "callback_id": "hook_0",
        "tool_use_id": "t1",
        "input": {"tool_name": "Bash", "tool_input": {"command": "ls"}},
    }
    return {"type": "control_request", "request_id": request_id, "request": {**request, **changes}}


def mirror(path: str, session: str = SESSION) -> dict[str, object]:
    """A frame with an entry for the transcript at this path."""
    entries = [ENTRY | {"sessionId": session}]
    return {"type": "transcript_mirror", "filePath": path, "entries": entries}
