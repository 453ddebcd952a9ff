"""Which calls of far servers' tools may pass: those that the gate allowed, each once. Pure.

An agent's program is in a sandbox with whatever the agent made of it, so what it sends is no proof
that anybody looked at it. Of each call that the gate allowed there is a permit, of the tool and of
the exact input, and a call that comes without one is refused.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any


class Permits:
    """The permits of one turn."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, bytes], list[bytes]] = {}

    def give(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Let one call pass."""
        whole = json.dumps(arguments, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._given.setdefault((tool, _digest(arguments)), []).append(whole)

    def take(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Use up a permit for this call: the input that was allowed; None: there is none.

        It is the one to be sent. The order of names makes no other input, but could say something.
        """
        key = tool, _digest(arguments)
        permits = self._given.get(key)
        if not permits:
            return None
        whole = permits.pop(0)
        if not permits:
            del self._given[key]
        allowed: Mapping[str, Any] = json.loads(whole.decode("utf-8", "surrogatepass"))
        return allowed


def digest(arguments: Mapping[str, Any]) -> str:
    """Names a call's input in the audit log, without saying what is in it."""
    return _digest(arguments).hex()


def _digest(arguments: Mapping[str, Any]) -> bytes:
    # Surrogates were replaced on the way in; a lone one that is left is no reason to fail.
    plain = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    return sha256(plain.encode()).digest()
