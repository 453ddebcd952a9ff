"""An event as one line for a person: when, in which session, what happened.

`trustfloor events --json` has events whole.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from supervisor import money
from supervisor.cli.moments import line_moment
from supervisor.cli.neutral import one_line
from supervisor.cli.render import waited

_LONGEST: Final = 200
_ENVELOPE: Final = frozenset({"seq", "turn_id", "ts", "session_id", "type", "sessionId"})

Data = Mapping[str, Any]


def event_line(event: Data, *, with_session: bool = True) -> str:
    """One line, whatever the event holds; of a type that isn't known, its simple fields."""
    sentence = _SENTENCES.get(str(event["type"]))
    try:
        told = _fields(event) if sentence is None else sentence(event)
    except (KeyError, TypeError, ValueError, AttributeError):  # of another version
        told = _fields(event)
    when = line_moment(str(event.get("ts")))
    whose = f"{event.get('session_id')} " if with_session else ""
    return one_line(f"{when} {whose}{event['type']} {told}").rstrip()


def _fields(event: Data) -> str:
    return " ".join(
        f"{name}={_short(value)}"
        for name, value in event.items()
        if name not in _ENVELOPE
        and value not in (None, "")
        and isinstance(value, str | int | float | bool)
    )


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _session(event: Data) -> str:
    asked = event["trust"]["requested"]
    level = event["trustLevel"]
    parts = [
        f"at {level}" + (f" (asked for {asked})" if asked != level else ""),
        f"in workspace {event['workspace']}",
        f"by agent {event['agent']}" if event.get("agent") else "",
        "scripted model" if event.get("scripted") else "",
    ]
    return ", ".join(filter(None, parts))


def _isolation(event: Data) -> str:
    if event["cage"] == "none":
        return "none: held by what is decided about tool calls alone"
    if event["accepted"]:
        return f"{event['cage']}: measured and accepted{waited(event.get('receipt') or {})}"
    return f"{event['cage']}: refused: {'; '.join(event['shortfalls'])}"


def _user_message(event: Data) -> str:
    names = [each["name"] for each in event.get("attachments") or ()]
    return _quoted(event["content"]) + (f" with {', '.join(names)}" if names else "")


def _tool_use(event: Data) -> str:
    who = f"{event['agent']}: " if event.get("agent") else ""
    given = ", ".join(f"{name} {_short(value)}" for name, value in event["tool"]["input"].items())
    return _short(f"{who}{event['tool']['name']}: {given}".rstrip(": "))


def _tool_result(event: Data) -> str:
    return ("failed: " if event.get("isError") else "") + _quoted(event["content"])


def _permission_request(event: Data) -> str:
    who = f"{event['agentName']}: " if event.get("agentName") else ""
    return f"{who}{event['toolName']} needs permission: {_short(event['reason'])} [{event['rule']}]"


def _permission_resolved(event: Data) -> str:
    by = f" by {event['by']}" if event.get("by") else ""
    scope = f", for the {event['scope']} too" if event.get("scope") not in (None, "once") else ""
    said = f": {_quoted(event['message'])}" if event.get("message") else ""
    return f"{event['decision'].replace('_', ' ')}{by}{scope}{said}"


def _permission_denied(event: Data) -> str:
    return f"{event['toolName']}: {_short(event['reason'])} [{event['rule']}]"


def _user_question(event: Data) -> str:
    return "; ".join(_quoted(each["question"]) for each in event["questions"])


def _done(event: Data) -> str:
    spent = event["spending"]
    parts = [
        _quoted(event["response"]),
        f"{event['durationMs'] / 1000:.1f} s",
        _model(event),
        f"{spent['inputTokens']} + {spent['outputTokens']} tokens",
        money.told(spent["costUsd"]) if spent["costUsd"] and not event.get("scripted") else "",
        f"{len(denied)} denied" if (denied := event.get("permissionDenials")) else "",
    ]
    return ", ".join(filter(None, parts))


def _model(event: Data) -> str:
    model = str(event.get("model") or "")
    return f"scripted model (as {model})" if event.get("scripted") else model


def _error(event: Data) -> str:
    where = f" ({event['where']})" if event.get("where") else ""
    return f"{event['error']}{where} [{event['code']}]"


def _quoted(text: str) -> str:
    return f"“{_short(text)}”"


_SENTENCES: Final[Mapping[str, Callable[[Data], str]]] = {
    "session": _session,
    "isolation": _isolation,
    "user_message": _user_message,
    "model": lambda event: str(event["model"]),
    "text": lambda event: _quoted(event["delta"]),
    "thinking": lambda event: _quoted(event["delta"]),
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "warning": lambda event: f"{event['message']} [{event['code']}]",
    "permission_request": _permission_request,
    "permission_resolved": _permission_resolved,
    "permission_denied": _permission_denied,
    "user_question": _user_question,
    "done": _done,
    "aborted": lambda event: str(event["message"]),
    "error": _error,
}
"""What of an event is told."""
