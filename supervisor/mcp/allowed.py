"""What an admin allowed of configured servers: each as it was then, and no other.

A server's entry lies in the vault, which may come from elsewhere and changes by other hands than
ours. So what is allowed is kept in the data folder, as a digest of the whole entry: one that was
changed since isn't allowed any more.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any, Final

from supervisor.errors import ConfigurationError
from supervisor.mcp.server_entry import ServerEntry
from supervisor.storage.beneath import read_inside, replace_inside

_FILE: Final = PurePosixPath("mcp-allowed.json")
_LARGEST: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Allowed:
    """Whether an entry may be used as it is, and in sandboxes too."""

    local: bool = False
    sandboxed: bool = False


class AllowedServers:
    """The digests of one data folder. All of it blocks; safe to call from several threads."""

    def __init__(self, data: Path, vault: Path) -> None:
        self._data = data
        self._vault = vault
        self._lock = Lock()

    def of(self, entry: ServerEntry, agent: str | None = None) -> Allowed:
        """What is allowed of this entry, as it is now; `agent`: whose file describes it."""
        kept = self._read().get(_key(entry.name, agent))
        if not isinstance(kept, dict) or kept.get("digest") != self._digest(entry):
            return Allowed()
        return Allowed(local=True, sandboxed=kept.get("sandboxed") is True)

    def allow(self, entry: ServerEntry, agent: str | None = None, *, sandboxed: bool) -> Allowed:
        """Allow this entry as it is now. Raises ConfigurationError if that can't be kept."""
        kept = {"digest": self._digest(entry), "sandboxed": sandboxed}
        self._change(_key(entry.name, agent), kept)
        return Allowed(local=True, sandboxed=sandboxed)

    def forget(self, name: str, agent: str | None = None) -> None:
        """Allow nothing of this name any more."""
        self._change(_key(name, agent), None)

    def _digest(self, entry: ServerEntry) -> str:
        # With the vault: a relative command is another program in another one.
        parts = [
            str(self._vault),
            *(entry.transport, entry.command, list(entry.args), dict(entry.env)),
            *(entry.url, dict(entry.headers)),
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _change(self, key: str, value: Mapping[str, Any] | None) -> None:
        with self._lock:
            kept = dict(self._read())
            kept.pop(key, None)
            if value is not None:
                kept[key] = dict(value)
            told = json.dumps(kept, indent=1, sort_keys=True).encode()
            try:
                replace_inside(self._data, _FILE, told, 0o600)
            except OSError as error:
                raise ConfigurationError(
                    f"what is allowed can't be kept: {error.strerror}",
                    where=str(self._data / _FILE),
                    remedy="free some space in the data folder",
                ) from error

    def _read(self) -> Mapping[str, Any]:
        """What is kept; nothing where it can't be read: then nothing is allowed."""
        try:
            with read_inside(self._data, _FILE) as file:
                found = json.loads(file.read(_LARGEST))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def _key(name: str, agent: str | None) -> str:
    return name if agent is None else f"{agent}#{name}"
