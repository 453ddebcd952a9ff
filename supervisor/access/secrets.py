"""Secrets that are given out once and kept as a digest.

A plain hash is enough, without salt or stretching: each secret is 256 random bits, so there is
nothing to guess and no table to look it up in. A login's code, which a person types, is 60 bits and
good for minutes.
"""

import hashlib
import secrets
from typing import Final

_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's, without I, L, O, U
_CODE_LETTERS: Final = 12
_GROUP: Final = 4
_MISREAD: Final = str.maketrans({"I": "1", "L": "1", "O": "0", "-": None, " ": None})


def new_secret(prefix: str) -> str:
    """A fresh secret of 256 random bits; the prefix tells people and scanners what it is."""
    return prefix + secrets.token_urlsafe(32)


def new_id(prefix: str) -> str:
    """A fresh id that isn't secret."""
    return prefix + secrets.token_hex(8)


def digest(secret: str) -> str:
    """What a secret is known by."""
    return hashlib.blake2b(secret.encode("utf-8", "replace"), digest_size=32).hexdigest()


def new_code() -> str:
    """A fresh code that can be read out and typed, as `XXXX-XXXX-XXXX`."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LETTERS))
    return "-".join(letters[at : at + _GROUP] for at in range(0, _CODE_LETTERS, _GROUP))


def plain_code(typed: str) -> str:
    """A code as it was meant: whatever its case and hyphens, with letters that are misread."""
    return typed.strip().upper().translate(_MISREAD)
