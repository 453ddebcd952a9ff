"""What a webhook is sent, and how it is signed: pure.

In the form of Standard Webhooks (https://www.standardwebhooks.com): `webhook-id`,
`webhook-timestamp` and `webhook-signature`, which is HMAC-SHA256 over id, timestamp and body.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from supervisor.approvals.board import Posted, Settled
from supervisor.errors import ConfigurationError
from supervisor.events.schema import PermissionRequestEvent, UserQuestionEvent

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what each secret begins with
SHORTEST_SECRET: Final = 24
"""Bytes of a secret, once decoded."""
LONGEST_SECRET: Final = 64

LONGEST_DISPLAY: Final = 2_000
"""Characters of the input that are sent; who needs more looks at the request itself."""
MOST_EFFECTS: Final = 10


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its id is the same in every try."""

    id: str
    type: str
    body: bytes


def secret_bytes(secret: str) -> bytes:
    """The bytes that are signed with. Raises ConfigurationError for what is none of this form."""
    try:
        made = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        made = b""
    if not SHORTEST_SECRET <= len(made) <= LONGEST_SECRET:
        raise ConfigurationError(
            f"the secret isn't `{SECRET_PREFIX}` and base64 of {SHORTEST_SECRET} to "
            f"{LONGEST_SECRET} bytes",
            where="TRUSTFLOOR_WEBHOOK_SECRET",
            remedy="make one: echo whsec_$(head -c 32 /dev/urandom | base64)",
        )
    return made


def signature(secret: bytes, message: Message, timestamp: int) -> str:
    """The signature of a try at this moment, in seconds since the epoch."""
    signed = b"%s.%d.%s" % (message.id.encode(), timestamp, message.body)
    return "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()


def asked_message(request: Posted, now: str, redact: Callable[[Any], Any]) -> Message | None:
    """That something is asked; None for what isn't put to people. `now` as ISO 8601."""
    asked = request.asked
    if isinstance(asked, PermissionRequestEvent):
        return _message(
            request.id, "permission.requested", now, redact(_permission(request, asked))
        )
    if isinstance(asked, UserQuestionEvent):
        return _message(request.id, "question.asked", now, redact(_question(request, asked)))
    return None


def ended_message(settled: Settled, now: str, redact: Callable[[Any], Any]) -> Message:
    """That a request is no longer open, and how it ended."""
    resolved = settled.resolved
    data = {
        "id": resolved.id,
        "sessionId": settled.turn.session_id,
        "turnId": settled.turn.turn_id,
        "decision": resolved.decision,
        "by": resolved.by,
    }
    return _message(f"{resolved.id}.resolved", "request.resolved", now, redact(data))


def _message(id: str, type: str, now: str, data: Mapping[str, Any]) -> Message:
    body = json.dumps({"type": type, "timestamp": now, "data": data}, ensure_ascii=True)
    return Message(f"msg_{id}", type, body.encode())


def _whose(request: Posted) -> dict[str, Any]:
    turn = request.turn
    return {
        "id": request.id,
        "sessionId": turn.session_id,
        "turnId": turn.turn_id,
        "workspace": turn.workspace,
        "agent": turn.agent,
    }


def _permission(request: Posted, asked: PermissionRequestEvent) -> dict[str, Any]:
    return {
        **_whose(request),
        "agentName": asked.agent_name,
        "trustLevel": asked.trust_level.value,
        "toolName": asked.tool_name,
        "display": _cut(asked.display),
        "displayIsWhole": len(asked.display) <= LONGEST_DISPLAY,
        "hasHiddenCharacters": asked.has_hidden_characters,
        "contentHash": asked.content_hash,
        "rule": asked.rule,
        "reason": _cut(asked.reason),
        "effects": [
            {"act": each.act, "target": each.target} for each in asked.effects[:MOST_EFFECTS]
        ],
        "expiresAt": asked.expires_at,
    }


def _question(request: Posted, asked: UserQuestionEvent) -> dict[str, Any]:
    return {
        **_whose(request),
        "agentName": asked.agent_name,
        "questions": [_cut(each.question) for each in asked.shown],
        "hasHiddenCharacters": asked.has_hidden_characters,
        "expiresAt": asked.expires_at,
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_DISPLAY else f"{text[: LONGEST_DISPLAY - 1]}…"
