#!/usr/bin/python3 -IBS
"""Stands where the agent's CLI should, and floods: text deltas of one size, up to so many bytes.

Not imported: `throughput.py` puts it into an image. The message says how: `flood FRAME TOTAL`, in
bytes; each frame is a whole line of the CLI's output that is about that long.
"""

import json
import os
import sys


def write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def say(frame: dict[str, object]) -> None:
    write(json.dumps(frame).encode() + b"\n")


def delta(text: str) -> dict[str, object]:
    body = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": text},
    }
    return {
        "type": "stream_event",
        "session_id": SESSION,
        "parent_tool_use_id": None,
        "event": body,
    }


def flood(size: int, total: int) -> int:
    empty = len(json.dumps(delta(""))) + 1
    # Notes have quotes, line ends and letters that take more than a byte.
    words = 'A line of a note, "quoted" and \u00fcber lang.\n'
    text = ""
    while empty + len(json.dumps(text + words)) - 2 <= size:
        text += words
    line = json.dumps(delta(text)).encode() + b"\n"
    count = total // len(line)
    batch = line * max(1, (1 << 16) // len(line))
    per_batch = len(batch) // len(line)
    for _ in range(count // per_batch):
        write(batch)
    return count // per_batch * len(batch)


TOLD = " ".join(sys.argv).replace("=", " ").split()
SESSION = TOLD[TOLD.index("--session-id") + 1] if "--session-id" in TOLD else None

for raw in sys.stdin.buffer:
    asked = json.loads(raw)
    if asked.get("type") == "control_request":
        answer = {"hook_on_failure_supported": True, "hooks_applied": True}
        response = {"subtype": "success", "request_id": asked["request_id"], "response": answer}
        say({"type": "control_response", "response": response})
    elif asked.get("type") == "user":
        words = asked["message"]["content"].split()
        sent = flood(int(words[1]), int(words[2]))
        say({"type": "result", "subtype": "success", "is_error": False, "result": str(sent)})
