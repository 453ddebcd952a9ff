"""Whether a supervisor can do its work: each thing that a turn needs, and what mends it.

For `trustfloor doctor` and `/api/ready`. Beside the composition root, as it looks at every runtime.
"""

import asyncio
import os
import shutil
from typing import Final

from supervisor.errors import ConfigurationError, InvalidRequest, TrustfloorError
from supervisor.events.log import EventLog
from supervisor.gate.policy_checks import broken_policy, policy_on_disk
from supervisor.gate.policy_files import PolicySource
from supervisor.observability.audit import AuditLog
from supervisor.observability.health import Check, Readiness
from supervisor.policy.compiled import CompiledPolicy
from supervisor.runtimes.container.checks import engine_checks
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.local.checks import local_checks
from supervisor.sessions.message import check_model
from supervisor.settings import Settings
from supervisor.storage.adoption import REMEDY, Adoption

_LITTLE_SPACE: Final = 1 << 30
_TOO_LITTLE_SPACE: Final = 64 << 20
"""Bytes; below this a turn's events and transcript may not find room."""
_TOO_LITTLE_FOR_A_TURN: Final = 1 << 20
"""Bytes; below this a turn's folder, with its prompt and what was said before, may not."""


async def readiness(settings: Settings) -> Readiness:
    """What can be looked at without a running supervisor."""
    compiled: CompiledPolicy | None = None
    try:
        source = PolicySource(settings.policies)
        policy, compiled = policy_on_disk(source), source.current
    except ConfigurationError as wrong:
        policy = broken_policy(wrong)
    async with Engine(str(settings.engine_socket)) as engine:
        return Readiness(checks=await checks(settings, engine, policy, compiled))


async def checks(
    settings: Settings, engine: Engine, policy: Check, compiled: CompiledPolicy | None
) -> tuple[Check, ...]:
    """All that a turn needs. `policy` is what was found of the policy, `compiled` is it, if any."""
    return (
        _vault_check(settings),
        *await asyncio.to_thread(_runtime_check, settings),
        policy,
        _model_check(settings, compiled),
        *await asyncio.to_thread(local_checks),
        *await engine_checks(engine, settings.runner_image),
    )


def database_check(adoption: Adoption | None) -> Check:
    """Whether the session database is the one that this supervisor left."""
    if adoption is None:
        return Check("database", ok=True, detail="as this supervisor left it")
    return Check("database", ok=None, detail=adoption.detail, remedy=REMEDY)


async def stored_checks(settings: Settings, log: EventLog, audit: AuditLog) -> tuple[Check, ...]:
    """Whether what happens can be written down: nothing runs otherwise."""
    return await _events(log), _audit(audit), await asyncio.to_thread(_disk, settings)


async def _events(log: EventLog) -> Check:
    try:
        numbers = await log.numbers()
    except TrustfloorError as error:
        remedy = error.remedy or "see the supervisor's log"
        return Check("event log", ok=False, detail=error.message, remedy=remedy, needed=True)
    detail = f"up to event {numbers.last}, {log.queued} waiting to be stored"
    return Check("event log", ok=True, detail=detail, needed=True)


def _audit(audit: AuditLog) -> Check:
    if audit.trouble is None:
        detail = f"{audit.head.n} entries; `trustfloor audit verify` checks them"
        return Check("audit", ok=True, detail=detail, needed=True)
    remedy = "check free space, owner and mode of audit.jsonl in the data folder"
    return Check("audit", ok=False, detail=audit.trouble, remedy=remedy, needed=True)


def _disk(settings: Settings) -> Check:
    free = min(shutil.disk_usage(each).free for each in (settings.data_dir, settings.vault))
    detail = f"{free >> 20} MiB free"
    if free >= _LITTLE_SPACE:
        return Check("disk", ok=True, detail=detail, needed=True)
    ok = None if free >= _TOO_LITTLE_SPACE else False
    remedy = "free space where the data folder and the vault lie"
    return Check("disk", ok=ok, detail=detail, remedy=remedy, needed=True)


def require_allowed_model(settings: Settings, policy: CompiledPolicy) -> None:
    """Refuse a model of the settings' that the policy would refuse at each message.

    Raises ConfigurationError, naming the setting and the policy's.
    """
    try:
        check_model(settings.default_model, policy.gateway.models)
    except InvalidRequest as refused:
        raise ConfigurationError(
            f"the model {settings.default_model!r} (--model, TRUSTFLOOR_MODEL) is not one that the"
            f" policy allows (gateway.models in {settings.policies})",
            where="TRUSTFLOOR_MODEL",
            remedy="name a model that fits one of "
            f"{', '.join(policy.gateway.models)}; or add yours to gateway.models",
        ) from refused


def _vault_check(settings: Settings) -> Check:
    if os.access(settings.vault, os.R_OK | os.W_OK | os.X_OK) and settings.vault.is_dir():
        return Check("vault", ok=True, detail=str(settings.vault), needed=True)
    return Check(
        "vault",
        ok=False,
        detail=f"{settings.vault} is no folder that we may read and write",
        remedy="give one with --vault or TRUSTFLOOR_VAULT",
        needed=True,
    )


def _runtime_check(settings: Settings) -> tuple[Check, ...]:
    """Whether the turns' folders find room; said only if they don't, as that is seldom a disk."""
    place = next(
        each
        for each in (settings.runtime_dir, *settings.runtime_dir.parents)
        if os.path.exists(each)  # noqa: PTH110 - one that can't be looked at is none
    )
    free = shutil.disk_usage(place).free
    if free >= _TOO_LITTLE_FOR_A_TURN:
        return ()
    return (
        Check(
            "runtime folder",
            ok=False,
            detail=f"{settings.runtime_dir}, {free >> 10} KB free",
            remedy="free some space there, or set TRUSTFLOOR_RUNTIME_DIR to another folder",
            needed=True,
        ),
    )


def _model_check(settings: Settings, policy: CompiledPolicy | None) -> Check:
    if settings.scenario is not None:
        return Check("model", ok=True, detail=f"the scripted model: {settings.model}")
    try:
        if policy is not None:
            require_allowed_model(settings, policy)
    except ConfigurationError as refused:
        return Check("model", ok=False, detail=refused.message, remedy=refused.remedy)
    if settings.api_key is not None:
        return Check("model", ok=True, detail=f"{settings.api_url}, with a key")
    return Check(
        "model",
        ok=False,
        detail="there is no key",
        remedy="set ANTHROPIC_API_KEY, or use --model scripted:FILE",
    )
