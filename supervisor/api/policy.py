"""The policy in force: its rules, what is wrong with its files, why a call is judged as it is."""

import time
from pathlib import Path
from typing import Final

import orjson
from fastapi import APIRouter

from supervisor.api.bodies import PolicyFaultView
from supervisor.api.health import policy_health
from supervisor.api.parts import Supervisor
from supervisor.api.policy_bodies import (
    BuiltInView,
    ExplainBody,
    ExplanationView,
    PolicyView,
    RuleView,
)
from supervisor.errors import InvalidRequest
from supervisor.gate.explaining import Asked, explain_call
from supervisor.policy.call import ToolCall
from supervisor.policy.explain import Explanation
from supervisor.policy.permissions import Permissions

LARGEST_INPUT: Final = 65_536
"""Bytes of JSON of a call that is to be explained."""

router = APIRouter(prefix="/policy", tags=["policy"])


def explanation_view(explanation: Explanation) -> ExplanationView:
    """The explanation as clients get it."""
    return ExplanationView.model_validate(explanation, from_attributes=True)


@router.get("")
async def policy(supervisor: Supervisor) -> PolicyView:
    """The rules in force with the places they stand at, and the last mistake in the files."""
    source = supervisor.policy
    health = policy_health(source)
    current = source.current
    return PolicyView(
        hash=current.hash,
        files=list(source.files),
        watched=health.watched,
        error=None if source.fault is None else PolicyFaultView(**source.fault.parts()),
        rules=[RuleView.model_validate(rule, from_attributes=True) for rule in source.rules],
        built_in=[BuiltInView(id=rule.id, reason=rule.reason) for rule in current.protected.rules],
        levels={
            level: {category.value: answer.value for category, answer in answers.items()}
            for level, answers in current.levels.items()
        },
    )


@router.post("/explain")
async def explain(supervisor: Supervisor, body: ExplainBody) -> ExplanationView:
    """Explain what would become of a call now, and why. Nothing is run.

    The vault's files are looked at; their content is not.
    """
    if len(orjson.dumps(body.input)) > LARGEST_INPUT:
        raise InvalidRequest(f"a call to explain may have {LARGEST_INPUT} bytes", where="input")
    source = supervisor.policy
    vault = str(supervisor.settings.vault)
    call = ToolCall(
        tool=body.tool,
        input=body.input,
        tool_use_id="explain",
        level=body.trust_level,
        as_seen_vault=vault,
        as_seen_cwd=f"{vault}/{body.working_directory}" if body.working_directory else vault,
        as_seen_home=str(Path.home()),
    )
    permissions = None if body.permissions is None else Permissions(**body.permissions.model_dump())
    asked = Asked(call, source.current, vault, permissions, source.places(), time.time())
    return explanation_view(await explain_call(asked))
