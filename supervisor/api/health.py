"""Is it alive (for anyone who reaches the port), and can it do its work (for its owner)."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import PurePath

from fastapi import APIRouter

from supervisor.api.bodies import (
    CheckView,
    HealthView,
    LeftoversView,
    PolicyFaultView,
    PolicyHealthView,
    ReadinessView,
)
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.errors import TrustfloorError
from supervisor.gate.policy_files import PolicySource
from supervisor.observability.health import version
from supervisor.policy.fault import PolicyFault

router = APIRouter(tags=["health"])


@router.get("/health")
async def health(supervisor: Supervisor) -> HealthView:
    """The only route without a token; it says nothing of the machine or of what runs.

    But it does say of a policy file that isn't in force which place in it is wrong: what watches
    this route is to notice.
    """
    return HealthView(
        timestamp=datetime.now(UTC).isoformat(timespec="milliseconds"),
        version=version(),
        policy=policy_health(supervisor.policy),
    )


def policy_health(source: PolicySource) -> PolicyHealthView:
    """The policy in force, and what is wrong with its files, without the folders' names."""
    fault = source.fault
    return PolicyHealthView(
        hash=source.current.hash,
        watched=source.unwatched is None,
        error=None if fault is None else _view(fault),
    )


def _view(fault: PolicyFault) -> PolicyFaultView:
    return PolicyFaultView(**{**fault.parts(), "file": PurePath(fault.file).name})


class NotReady(TrustfloorError):
    """Something is wrong that every turn needs; what is told, and what to do."""

    code = "not_ready"
    status = 503
    title = "Not ready for any turn"


@router.get("/ready", responses=refusals(NotReady))
async def ready(supervisor: Supervisor) -> ReadinessView:
    """Each thing looked at, what to do where it is wrong, and what of ours exists right now.

    503 if something is wrong that every turn needs, whatever its level.
    """
    found = await supervisor.readiness()
    if found.missing:
        raise NotReady(
            "; ".join(f"{each.name}: {each.detail}" for each in found.missing),
            where=found.missing[0].name,
            remedy=found.missing[0].remedy,
        )
    return ReadinessView(
        ready=found.ready,
        checks=[CheckView(**asdict(check)) for check in found.checks],
        counts=LeftoversView(**asdict(found.counts)),
    )
