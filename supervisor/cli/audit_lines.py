"""An entry of the audit log as one line for a person: a sentence, and what else it holds.

`--json` has entries whole. Whoever looks here wants to see who did what, so what is nested, or
there for programs, isn't shown.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from supervisor.cli.moments import line_moment
from supervisor.cli.neutral import one_line

_LONGEST: Final = 300
_FOR_PROGRAMS: Final = frozenset(
    {"canonical", "receipt", "toolUseId", "policy", "said", "saidRule", "type", "request"}
)
_MOST_LISTED: Final = 6

Body = Mapping[str, Any]


def entry_line(entry: Mapping[str, Any]) -> str:
    """Number, moment, kind, session, and what was done."""
    body = entry.get("body")
    told = _told(str(entry["kind"]), body) if isinstance(body, Mapping) else short(body)
    whose = f" [session {entry['session_id']}]" if entry.get("session_id") else ""
    when = line_moment(str(entry["ts"]))
    return one_line(f"{entry['n']:>6} {when} {entry['kind']:<10}{whose} {told}").rstrip()


def short(value: object) -> str:
    """A value in few words; what a list holds, if it isn't much."""
    match value:
        case str():
            text = value
        case list() if value and all(isinstance(each, str | int | float) for each in value):
            more = len(value) - _MOST_LISTED
            shown = ", ".join(str(each) for each in value[:_MOST_LISTED])
            text = shown + (f" and {more} more" if more > 0 else "")
        case _:
            text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _told(kind: str, body: Body) -> str:
    known = _SENTENCES.get(kind)
    sentence, used = "", frozenset[str]()
    if known is not None and all(name in body for name in known[1]):
        sentence, used = known[0](body), known[1]
    by = f"by {short(body['by'])}" if body.get("by") else ""
    left = used | _FOR_PROGRAMS | {"by"}
    rest = [
        f"{name}={short(value)}"
        for name, value in body.items()
        if name not in left and value not in (None, "", [], {}) and not isinstance(value, Mapping)
    ]
    return " ".join(filter(None, (sentence, by, *rest)))


def _decision(body: Body) -> str:
    return f"{body['verdict']} {body['tool']}: {short(body['reason'])} [{body['rule']}]"


def _request(body: Body) -> str:
    return f"{body['method']} {body['route']}"


def _grant(body: Body) -> str:
    return f"{body['kind']} {short(body['shown'])} for the {body['scope']}"


def _floor(body: Body) -> str:
    trace = body.get("trace")
    if body["requested"] != body["effective"] and isinstance(trace, list) and trace:
        return f"asked for {body['requested']}, {trace[-1]}"  # which names whose floor it is
    return f"asked for {body['requested']}, runs at {body['effective']}"


def _isolation(body: Body) -> str:
    return f"{body['cage']} at {body['level']}: {'accepted' if body['accepted'] else 'refused'}"


_SENTENCES: Final[Mapping[str, tuple[Callable[[Body], str], frozenset[str]]]] = {
    "decision": (_decision, frozenset({"verdict", "tool", "reason", "rule"})),
    "request": (_request, frozenset({"method", "route"})),
    "grant": (_grant, frozenset({"kind", "shown", "scope", "pattern"})),
    "revoke": (_grant, frozenset({"kind", "shown", "scope", "pattern"})),
    "floor": (_floor, frozenset({"requested", "effective", "trace", "floors"})),
    "isolation": (_isolation, frozenset({"cage", "level", "accepted"})),
    "answer": (lambda body: str(body["decision"]), frozenset({"decision"})),
    "ending": (lambda body: str(body["state"]), frozenset({"state"})),
}
"""The sentence of a kind, and which fields it needs and tells."""
