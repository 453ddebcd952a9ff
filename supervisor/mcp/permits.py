"""Which calls of far servers' tools may pass: those that the gate allowed, each once. Pure.

An agent's program is in a sandbox with whatever the agent made of it, so what it sends is no proof
that anybody looked at it. Of each call that the gate allowed there is a permit, of the tool and of
the exact input, and a call that comes without one is refused.
"""

import json
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from typing import Any


class Permits:
    """The permits of one turn."""

    def __init__(self) -> None:
        self._given: Counter[tuple[str, bytes]] = Counter()

    def give(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Let one call pass."""
        self._given[tool, _digest(arguments)] += 1

    def take(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Use up a permit for this call; whether there was one."""
        key = tool, _digest(arguments)
        if self._given[key] < 1:
            del self._given[key]
            return False
        self._given[key] -= 1
        if not self._given[key]:
            del self._given[key]
        return True


def digest(arguments: Mapping[str, Any]) -> str:
    """Names a call's input in the audit log, without saying what is in it."""
    return _digest(arguments).hex()


def _digest(arguments: Mapping[str, Any]) -> bytes:
    # Surrogates were replaced on the way in; a lone one that is left is no reason to fail.
    plain = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    return sha256(plain.encode()).digest()
