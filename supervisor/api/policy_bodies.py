"""What is sent and got about the policy: its rules, and calls that it explains."""

from typing import Annotated, Any

from pydantic import Field

from supervisor.api.bodies import Body, Flag, Level, PolicyFaultView, View, for_example
from supervisor.trust.levels import TrustLevel


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

    model_config = for_example(read=["Notes/**/*"], bash=["git:*"])

    trust_mode: Flag = True
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    bash: tuple[str, ...] | Flag = False
    confined: Flag = True


class ExplainBody(Body):
    """A call as an agent would make it; `workingDirectory` is relative to the vault.

    With `sessionId` it is one of that session: at its trust, in its folder, with what its record,
    its agent and people's grants let it do.
    """

    model_config = for_example(tool="Bash", input={"command": "git log"}, trustLevel="vault")

    tool: Annotated[str, Field(min_length=1, max_length=256)]
    input: dict[str, Any]
    trust_level: Level = TrustLevel.VAULT
    working_directory: Annotated[str, Field(max_length=4_096)] = ""
    permissions: PermissionsBody | None = None
    session_id: str | None = None


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
