"""A floor: one source's demand that a session run at least this strictly."""

from dataclasses import dataclass
from enum import StrEnum

from supervisor.trust.levels import TrustLevel


class FloorSource(StrEnum):
    """Who can demand a floor."""

    SERVER = "server"
    WORKSPACE = "workspace"
    AGENT = "agent"
    PARENT = "parent"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Floor:
    """`source` (called `name`, if it has one) demands at least `level`.

    `folder`: it does so because the session works in this folder of its, and for nothing else.
    """

    source: FloorSource
    level: TrustLevel
    name: str | None = None
    folder: str | None = None

    def __str__(self) -> str:
        label = f"{self.source.value} {self.name!r}" if self.name else self.source.value
        if self.folder:
            label += f", to which the folder {self.folder!r} belongs,"
        return f"{label} demands at least {self.level.value}"
