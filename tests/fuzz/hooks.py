"""What schemathesis is told beyond the document: what would cost too much, and what to count.

Loaded by it through `SCHEMATHESIS_HOOKS`; `run.py` says by `FUZZ_FOLDER` where to leave the tally.
"""

import atexit
import json
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis import Case, HookContext, Response

Made = Case[Any]

TURNS = {"POST /api/chat", "POST /api/chat/stream"}
SAVE = "POST /api/mcp/{name}"
STREAM_SECONDS = 1.5
"""How long a stream is read that is quiet; it would never end."""

_folder = Path(os.environ["FUZZ_FOLDER"])
_answers: Counter[str] = Counter()
_left = Counter(turns=int(os.environ["FUZZ_TURNS"]), streams=int(os.environ["FUZZ_STREAMS"]))
_lock = threading.Lock()


def _may(what: str) -> bool:
    with _lock:
        _left[what] -= 1
        return _left[what] >= 0


@schemathesis.hook
def before_call(context: HookContext, case: Made, kwargs: dict[str, Any]) -> None:
    """Keep dear requests rare: a turn takes a process, a quiet stream all of its time limit.

    And nothing that is made up is ever run as a program.
    """
    label, body = case.operation.label, case.body
    if label in TURNS and isinstance(body, dict):
        case.body = {**body, "trustLevel": "full"} if _may("turns") else {**body, "model": "none"}
    if case.operation.method == "get" and _streams(case):
        kwargs["timeout"] = (30, STREAM_SECONDS)
        if not _may("streams"):  # turned away at the door then, which costs nothing
            case.headers["Authorization"] = "Bearer nobody"
    if label == SAVE and isinstance(body, dict) and isinstance(body.get("command"), str):
        case.body = {**body, "command": "false"}


@schemathesis.hook
def filter_case(context: HookContext, case: Made) -> bool:
    """Leave out forms with an empty list in them: nothing of it is sent, so nothing is wrong."""
    if case.media_type != "multipart/form-data" or not isinstance(case.body, dict):
        return True
    return [] not in case.body.values()


def _streams(case: Made) -> bool:
    answers = case.operation.definition.raw["responses"]
    return "text/event-stream" in answers.get("200", {}).get("content", {})


@schemathesis.hook
def after_call(context: HookContext, case: Made, response: Response) -> None:
    """Count the answer."""
    with _lock:
        _answers[f"{response.status_code} {case.operation.label}"] += 1


@atexit.register
def _leave_the_tally() -> None:
    (_folder / "tally.json").write_text(json.dumps(_answers))
