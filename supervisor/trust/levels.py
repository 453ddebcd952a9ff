"""Trust levels in rising strictness: the order that every comparison of trust goes through."""

from enum import StrEnum

from supervisor.errors import InvalidRequest


class TrustLevel(StrEnum):
    """Where an agent runs and what it can reach. Later members are stricter."""

    FULL = "full"
    VAULT = "vault"
    SANDBOXED = "sandboxed"

    @property
    def strictness(self) -> int:
        """0 for the loosest level, rising."""
        return _STRICTNESS[self]

    def is_looser_than(self, other: "TrustLevel") -> bool:
        """Whether this level allows something that `other` doesn't."""
        return self.strictness < other.strictness

    @classmethod
    def parse(cls, text: str | None) -> "TrustLevel":
        """The level of that name; nothing said means the strictest.

        Raises InvalidRequest for a name that is no level: an unknown word never loosens.
        """
        if text is None:
            return cls.SANDBOXED
        try:
            return cls(text.strip().lower())
        except ValueError:
            names = ", ".join(level.value for level in cls)
            raise InvalidRequest(
                f"{text!r} is not a trust level", where="trustLevel", remedy=f"use one of: {names}"
            ) from None


_STRICTNESS = {TrustLevel.FULL: 0, TrustLevel.VAULT: 1, TrustLevel.SANDBOXED: 2}


def strictest(first: TrustLevel, *others: TrustLevel) -> TrustLevel:
    """The strictest of the levels given."""
    return max((first, *others), key=lambda level: level.strictness)
