"""Transcript entries as the CLI writes them."""

import uuid
from typing import Any


def entry(session: str, role: str, content: Any) -> dict[str, Any]:
    """One message, with an id of its own, that follows on nothing."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": role,
        "message": {"role": role, "content": content},
        "uuid": str(uuid.uuid4()),
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/vault",
        "sessionId": session,
        "version": "2.1.332",
        "gitBranch": "HEAD",
    }
