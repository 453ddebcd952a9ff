"""The policy in force: its rules, what is wrong with its files, why a call is judged as it is."""

import time
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter
from pydantic import Field

from supervisor.api.bodies import Body, Level, PolicyFaultView, View
from supervisor.api.health import policy_health
from supervisor.api.parts import Supervisor
from supervisor.errors import InvalidRequest
from supervisor.gate.explaining import Asked, explain_call
from supervisor.policy.call import ToolCall
from supervisor.policy.explain import Explanation
from supervisor.policy.permissions import Permissions
from supervisor.trust.levels import TrustLevel

LARGEST_INPUT: Final = 65_536
"""Bytes of JSON of a call that is to be explained."""

router = APIRouter(prefix="/policy", tags=["policy"])


class RuleView(View):
    """A rule of a file, and where it stands.

    `off`: it switches off the rule of its id; `overrides` are the places of earlier ones of that
    id, the latest first.
    """

    kind: str
    id: str
    reason: str
    where: str
    off: bool
    overrides: tuple[str, ...]


class BuiltInView(View):
    """A rule that no file can remove."""

    id: str
    reason: str


class PolicyView(View):
    """The policy in force; `error`: why the files on the disk aren't."""

    hash: str
    files: list[str]
    watched: bool
    error: PolicyFaultView | None
    rules: list[RuleView]
    built_in: list[BuiltInView]
    levels: dict[TrustLevel, dict[str, str]]


class PermissionsBody(Body):
    """What a session may do unasked.

    `confined`: the machine can hold commands in the vault; where it can't, each of them asks.
    """

    trust_mode: bool = True
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    bash: tuple[str, ...] | bool = False
    confined: bool = True


class ExplainBody(Body):
    """A call as an agent would make it; `workingDirectory` is relative to the vault."""

    tool: Annotated[str, Field(min_length=1, max_length=256)]
    input: dict[str, Any]
    trust_level: Level = TrustLevel.VAULT
    working_directory: Annotated[str, Field(max_length=4_096)] = ""
    permissions: PermissionsBody | None = None


class PathView(View):
    """A path that a call names, and what was found there."""

    named: str
    use: str
    names: tuple[str, ...]
    inside: bool
    kind: str
    denied_by: str | None
    protected_by: str | None
    remarks: tuple[str, ...]


class EffectView(View):
    """One thing that a command does; `start` and `end` are offsets into the command."""

    act: str
    program: str
    start: int
    end: int
    text: str
    reason: str
    target: str | None
    remarks: tuple[str, ...]
    paths: tuple[PathView, ...]


class CommandView(View):
    """A program that would run."""

    words: tuple[str, ...]
    start: int
    end: int
    text: str


class SuggestionView(View):
    """A grant by which the call wouldn't ask."""

    kind: str
    pattern: str
    covers: str


class ExplanationView(View):
    """How a call is understood, which rule decides, and why."""

    tool: str
    level: TrustLevel
    cwd: str
    category: str
    verdict: str
    rule: str
    reason: str
    policy: str
    command: str | None
    where: str | None
    unsure: tuple[str, ...]
    commands: tuple[CommandView, ...]
    effects: tuple[EffectView, ...]
    paths: tuple[PathView, ...]
    patterns: tuple[str, ...]
    addresses: tuple[str, ...]
    notes: tuple[str, ...]
    suggestions: tuple[SuggestionView, ...]


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
