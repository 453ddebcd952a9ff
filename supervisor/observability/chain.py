"""Lines that are each sealed with the hash of the one before: how one is made and read.

A line is `{"n":…,"ts":…,"kind":…,"session_id":…,"turn_id":…,"body":…,"prev":…,"mac":…,"hash":…}`.
Its hash is SHA-256 over the same line without the `hash` member, byte for byte, so that anybody can
check it. Its `mac` is made with a key over the line without both, so that only who has the key can
make one; it begins with the first characters of the key's own digest.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from supervisor.storage import json_line

GENESIS: Final = "0" * 64
"""What the first line gives as the hash of the one before."""
NAME_CHARS: Final = 8
"""Characters of a key's name."""

_SEAL = b',"hash":"%b"}\n'
_SEAL_LENGTH = len(_SEAL) - len(b"%b") + len(GENESIS)
_MAC = b',"mac":"%b"}'
_MAC_LENGTH = len(_MAC) - len(b"%b") + NAME_CHARS + 1 + len(GENESIS)


class Key:
    """What lines and the head file are signed with; its name isn't secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self.name = hashlib.sha256(b"trustfloor audit key\0" + secret).hexdigest()[:NAME_CHARS]

    def sign(self, data: bytes) -> str:
        """The key's name and its signature of the data."""
        return f"{self.name}:{hmac.new(self._secret, data, hashlib.sha256).hexdigest()}"

    def signed(self, data: bytes, mac: str) -> bool:
        """Whether this key made the signature."""
        return hmac.compare_digest(self.sign(data).encode(), mac.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain: number and hash of its last line; 0 and GENESIS while it is empty."""

    n: int
    hash: str

    def __str__(self) -> str:
        return f"{self.n}:{self.hash}"


class Fault(StrEnum):
    """What is wrong with a line, or with what should be in its place."""

    EDITED = "edited"
    FORGED = "forged"
    NOT_AN_ENTRY = "not_an_entry"
    MISSING = "missing"
    INSERTED = "inserted"
    REORDERED = "reordered"
    TRUNCATED = "truncated"
    HEAD = "head"
    ANCHOR = "anchor"


@dataclass(frozen=True, slots=True)
class BadLine:
    """The first line, counted from 1 in its file, that doesn't fit, and why."""

    line: int
    why: str
    kind: Fault = Fault.EDITED
    file: str = ""
    n: int = 0
    """The number of the entry that belongs there."""


@dataclass(frozen=True, slots=True)
class Link:
    """What a line says of its place in the chain; `sealed` is whether its own hash is right."""

    head: Head
    prev: str
    sealed: bool
    mac: str = ""
    signed: bytes = b""
    """What the signature is of."""

    @property
    def key_name(self) -> str:
        """Which key the line says it was signed with; empty for none."""
        return self.mac.partition(":")[0]


def seal(head: Head, fields: Mapping[str, Any], key: Key | None = None) -> tuple[bytes, Head]:
    """The next line after `head`, and the head that it makes."""
    n = head.n + 1
    unsealed = json_line.dump({"n": n, **fields, "prev": head.hash})
    if key is not None:
        unsealed = unsealed[:-1] + _MAC % key.sign(unsealed).encode()
    digest = hashlib.sha256(unsealed).hexdigest()
    return unsealed[:-1] + _SEAL % digest.encode(), Head(n, digest)


def parse(line: bytes) -> Link | None:
    """What the line says of its place, or None if it isn't one of a chain."""
    body, tail = line[:-_SEAL_LENGTH] + b"}", line[-_SEAL_LENGTH:]
    digest = hashlib.sha256(body).hexdigest()
    try:
        entry = json.loads(line)
        claimed, mac = str(entry["hash"]), str(entry.get("mac", ""))
        if tail != _SEAL % claimed.encode("ascii"):
            return None
        signed = body[:-_MAC_LENGTH] + b"}" if mac else b""
        if mac and body[-_MAC_LENGTH:] != _MAC % mac.encode("ascii"):
            return None
        return Link(
            Head(int(entry["n"]), claimed),
            str(entry["prev"]),
            sealed=digest == claimed,
            mac=mac,
            signed=signed,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
