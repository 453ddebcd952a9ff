"""The policy in force: its rules, what is wrong with its files, why a call is judged as it is."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from fastapi import APIRouter
from pydantic.alias_generators import to_camel

from supervisor.api.bodies import PolicyFaultView
from supervisor.api.caller import Calling
from supervisor.api.health import policy_health
from supervisor.api.parts import Parts, Supervisor
from supervisor.api.policy_bodies import (
    BuiltInView,
    ExplainBody,
    ExplanationView,
    PolicyView,
    RuleView,
)
from supervisor.api.refusals import refusals
from supervisor.api.sessions import require_session
from supervisor.errors import InvalidRequest, NotFound, SessionNotFound
from supervisor.gate.explaining import Asked, explain_call
from supervisor.policy.call import ToolCall
from supervisor.policy.explain import Explanation
from supervisor.policy.permissions import Permissions
from supervisor.storage.json_line import dump
from supervisor.storage.session import Session
from supervisor.trust.levels import TrustLevel

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


@router.post("/explain", responses=refusals(SessionNotFound, NotFound))
async def explain(supervisor: Supervisor, body: ExplainBody, caller: Calling) -> ExplanationView:
    """Explain what would become of a call now, and why. Nothing is run.

    The vault's files are looked at; their content is not.
    """
    if len(dump(body.input)) > LARGEST_INPUT:
        raise InvalidRequest(f"a call to explain may have {LARGEST_INPUT} bytes", where="input")
    source = supervisor.policy
    vault = str(supervisor.settings.vault)
    level, folder = body.trust_level, body.working_directory
    permissions = None if body.permissions is None else Permissions(**body.permissions.model_dump())
    if body.session_id is not None:
        for field in ("trust_level", "working_directory", "permissions"):
            if field in body.model_fields_set:
                raise InvalidRequest("the session says it", where=to_camel(field))
        row = await require_session(supervisor, body.session_id, caller)
        level = (await supervisor.conversations.trust(row.id)).effective
        folder = row.working_directory or ""
        permissions = await _of_session(supervisor, row, level)
    call = ToolCall(
        tool=body.tool,
        input=body.input,
        tool_use_id="explain",
        level=level,
        as_seen_vault=vault,
        as_seen_cwd=f"{vault}/{folder}" if folder else vault,
        as_seen_home=str(Path.home()),
    )
    asked = Asked(call, source.current, vault, permissions, source.places(), time.time())
    return explanation_view(await explain_call(asked))


async def _of_session(supervisor: Parts, row: Session, level: TrustLevel) -> Permissions:
    """What a session may do unasked now: by the policy, its record, its agent and grants."""
    base = supervisor.policy.current.defaults[level]
    own = row.own_permissions
    if own is not None:
        base = own.within(base)
    if row.agent_path is not None:
        agents = await asyncio.to_thread(supervisor.agents)
        agent = agents.find(row.agent_path)
        base = replace(base, bounds=replace(agent.bounds, agent=agent.name))
    book = supervisor.grants
    return book.permissions_for(row.id, row.agent_path, level, book.now(), base)
