"""Every floor speaks, the strictest wins, and the trace says who demanded what."""

from collections.abc import Iterable
from dataclasses import dataclass

from supervisor.errors import LooserThanFloor
from supervisor.trust.floor import Floor, FloorSource
from supervisor.trust.levels import TrustLevel, strictest


@dataclass(frozen=True, slots=True)
class Trust:
    """The effective level of one message, and how it came about."""

    requested: TrustLevel
    floors: tuple[Floor, ...]
    effective: TrustLevel

    @property
    def raised_by(self) -> tuple[Floor, ...]:
        """The floors that made the effective level stricter than what was asked."""
        if self.effective is self.requested:
            return ()
        return tuple(floor for floor in self.floors if floor.level is self.effective)

    def trace(self) -> tuple[str, ...]:
        """What was asked, what each floor demands, and the outcome: one sentence each."""
        outcome = f"runs at {self.effective.value}"
        if self.raised_by:
            outcome += ": " + "; ".join(str(floor) for floor in self.raised_by)
        return (
            f"asked for {self.requested.value}",
            *(str(floor) for floor in self.floors),
            outcome,
        )


def resolve_trust(requested: TrustLevel | None, floors: Iterable[Floor]) -> Trust:
    """The strictest of what was asked and every floor; nothing asked means the strictest level."""
    asked = TrustLevel.SANDBOXED if requested is None else requested
    demanded = tuple(floors)
    effective = strictest(asked, *(floor.level for floor in demanded))
    return Trust(requested=asked, floors=demanded, effective=effective)


def require_not_looser(wanted: TrustLevel, floors: Iterable[Floor]) -> None:
    """Raise LooserThanFloor, naming the strictest floor, if `wanted` is looser than any floor."""
    offended = [floor for floor in floors if wanted.is_looser_than(floor.level)]
    if offended:
        floor = max(offended, key=lambda each: each.level.strictness)
        raise LooserThanFloor(
            f"{wanted.value} is looser than a floor: {floor}",
            where=f"{floor.source.value}:{floor.name}" if floor.name else floor.source.value,
            remedy=f"ask for {floor.level.value} or stricter{_who_lowers(floor)}",
        )


def _who_lowers(floor: Floor) -> str:
    """Who can lower the floor, and how; nothing for floors that nobody can."""
    match floor.source:
        case FloorSource.SERVER:
            return "; whoever runs the supervisor can lower its floor: TRUSTFLOOR_FLOOR"
        case FloorSource.WORKSPACE:
            return (
                "; whoever runs the supervisor can lower the workspace's floor:"
                f" PUT /api/workspaces/{floor.name} with the floor"
            )
        case _:
            return ""
