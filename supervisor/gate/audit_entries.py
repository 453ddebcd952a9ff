"""A decision as the audit log has it: who decided what, and all that is needed to decide it again.

What a call holds is an agent's or a person's, so it isn't kept as it is: see `policy/canonical.py`.
Known secrets are taken out as they are of events, and an entry has a bound.
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from supervisor.events.redact import Redactor
from supervisor.events.size import is_light
from supervisor.gate.books import LONGEST_REASON
from supervisor.gate.decided import Decided
from supervisor.gate.inputs import INLINE_CHARS
from supervisor.policy.call import Deny, verdict_word
from supervisor.policy.canonical import VERSION, Input, canonical
from supervisor.storage import json_line

Append = Callable[[str, str | None, str | None, Mapping[str, Any]], Awaitable[object]]
"""Appends to the audit log: kind, session, turn, body."""

KIND: Final = "decision"
LARGEST_INPUT: Final = 65_536
"""Bytes of JSON of a decision's canonical input; of a larger one only its hash is kept."""

_INCIDENT = re.compile(r"incident ([0-9a-f]{12})\b")


async def record_decision(
    append: Append, redactor: Callable[[], Redactor], decided: Decided
) -> None:
    """Append the entry; returns when it is written. Raises ConfigurationError if it can't be."""
    if is_light(decided.call.input, INLINE_CHARS, INLINE_CHARS):
        entry = decision_entry(decided, redactor())
    else:
        entry = await asyncio.to_thread(decision_entry, decided, redactor())
    await append(KIND, decided.turn.session_id, decided.turn.turn_id, entry)


def decision_entry(decided: Decided, redactor: Redactor) -> Mapping[str, Any]:
    """The body of the audit entry."""
    verdict = decided.verdict
    body: dict[str, Any] = {
        "tool": decided.call.tool,
        "toolUseId": decided.call.tool_use_id,
        "level": decided.call.level.value,
        "agent": decided.call.agent,
        "policy": decided.policy_hash,
        "said": verdict_word(decided.policy_verdict),
        "saidRule": decided.policy_verdict.rule,
        "verdict": verdict_word(verdict),
        "rule": verdict.rule,
        "reason": verdict.reason[:LONGEST_REASON],
        "request": decided.request_id,
    }
    incident = _INCIDENT.search(verdict.reason) if isinstance(verdict, Deny) else None
    if verdict.rule == "internal-error" and incident is not None:
        body["incident"] = incident[1]
    if decided.judged:
        body["canonical"] = _bounded(decided)
    redacted = redactor.apply(body)
    return redacted if isinstance(redacted, dict) else {}


def _bounded(decided: Decided) -> Mapping[str, Any]:
    document = canonical(
        Input(decided.call, decided.facts, decided.permissions, decided.now, decided.by_default)
    )
    line = json_line.dump(document)
    if len(line) <= LARGEST_INPUT:
        return document
    digest = hashlib.sha256(line).hexdigest()
    return {"v": VERSION, "whole": False, "bytes": len(line), "sha256": digest}
