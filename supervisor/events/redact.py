"""Secrets out of what is stored and shown: each registered value, in every string, at any depth."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

REPLACEMENT = "[redacted]"

MAX_DEPTH = 200
"""Nesting beyond this is cut, as it could not be walked without end."""


_PLAIN = re.compile(r"[!#-\[\]-~]+")


class Redactor:
    """Replaces secret values; made anew when the set of secrets changes.

    It finds a value where it stands whole in one string. One that is cut over two strings, or
    encoded, it can't know.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # The longest first: a secret that begins with another one is replaced as a whole.
        known = sorted({secret for secret in secrets if secret.strip()}, key=len, reverse=True)
        self._known = tuple(known)
        self._pattern = re.compile("|".join(map(re.escape, known))) if known else None
        # In JSON these stand as they are; a secret of other characters may be escaped there.
        self._plain = all(_PLAIN.fullmatch(secret) for secret in known)
        self._raw = tuple(secret.encode("utf-8", "replace") for secret in known)

    def __repr__(self) -> str:
        return f"Redactor({len(self._known)} secrets)"

    def text(self, text: str) -> str:
        """The text without the secrets."""
        if self._pattern is None or not any(secret in text for secret in self._known):
            return text
        return self._pattern.sub(REPLACEMENT, text)

    def may_be_in(self, line: bytes) -> bool:
        """Whether a secret may stand in this JSON: False is certain, and cheaply known."""
        if not self._plain:
            return True
        return any(secret in line for secret in self._raw)

    def apply(self, event: Any) -> Any:
        """The JSON value without the secrets, in keys and in values; the given one is unchanged."""
        return self._walk(event, 0)

    def _walk(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping | list | tuple | set | frozenset):
            if depth >= MAX_DEPTH:
                return "[nested too deeply]"
            if isinstance(value, Mapping):
                return {
                    self.text(str(key)): self._walk(item, depth + 1) for key, item in value.items()
                }
            return [self._walk(item, depth + 1) for item in value]
        return self._scalar(value)

    def _scalar(self, value: Any) -> str | int | float | None:
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, int | float):
            return value
        if isinstance(value, bytes | bytearray):
            return self.text(value.decode("utf-8", "replace"))
        return self.text(str(value))
