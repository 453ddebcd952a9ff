"""Is it alive (for anyone who reaches the port), and can it do its work (for its owner)."""

import importlib.metadata
from dataclasses import asdict
from datetime import UTC, datetime

from fastapi import APIRouter

from supervisor.api.bodies import CheckView, HealthView, LeftoversView, ReadinessView
from supervisor.api.parts import Supervisor

router = APIRouter(tags=["health"])


def version() -> str:
    """The installed version of this program."""
    try:
        return importlib.metadata.version("trustfloor")
    except importlib.metadata.PackageNotFoundError:  # run from a source tree
        return "0+source"


@router.get("/health")
async def health() -> HealthView:
    """The only route without a token; it says nothing of the machine or of what runs."""
    return HealthView(
        timestamp=datetime.now(UTC).isoformat(timespec="milliseconds"),
        version=version(),
    )


@router.get("/ready")
async def ready(supervisor: Supervisor) -> ReadinessView:
    """Each thing looked at, what to do where it is wrong, and what of ours exists right now."""
    found = await supervisor.readiness()
    return ReadinessView(
        ready=found.ready,
        checks=[CheckView(**asdict(check)) for check in found.checks],
        counts=LeftoversView(**asdict(found.counts)),
    )
