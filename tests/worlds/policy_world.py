"""A world for the gate: the shipped policy, a vault with fake secrets and links, and recorders."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from supervisor.approvals.open_requests import TurnContext
from supervisor.clock import Instant
from supervisor.events.schema import SupervisorEvent
from supervisor.gate.facts import fetch_facts
from supervisor.gate.policy_files import PolicySource
from supervisor.ids import SessionId, TurnId
from supervisor.policy.call import ToolCall, Verdict
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.decide import decide
from supervisor.policy.permissions import Permissions
from supervisor.trust.levels import TrustLevel

SHIPPED = Path(__file__).resolve().parents[2] / "policies"
TURN = TurnContext(SessionId("session-1"), TurnId("turn_1"))


def shipped_policy() -> CompiledPolicy:
    """The policy as it is shipped."""
    return PolicySource(SHIPPED).current


def make_vault(base: Path) -> Path:
    """A vault with notes, fake secrets, and links of all kinds; `outside/` lies beside it."""
    vault = base / "vault"
    texts = {
        "notes/a.md": "a note\n",
        "notes/Café.md": "a note\n",
        "src/app.py": "print()\n",
        "docs/guide.md": "never read .env\n",
        ".env": "API_KEY=fake-not-a-secret\n",
        ".env.example": "API_KEY=\n",
        "keys/id_ed25519": "FAKE-NOT-A-KEY\n",
        "config/credentials.json": "{}\n",
        "repo/.git/config": "[core]\n",
        "repo/readme.md": "read me\n",
    }
    for name, text in texts.items():
        path = vault / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    outside = base / "outside"
    outside.mkdir()
    (outside / "plan.md").write_text("not yours\n")
    (base / "vault-evil").mkdir()
    (base / "vault-evil" / "x.md").write_text("not yours\n")
    links = {
        "link-to-env": ".env",
        "chain": "link-to-env",
        "link-in": "notes/a.md",
        "link-out": "../outside",
        "linked-notes": "notes",
        "dangling": "../outside/new.md",
        "loop": "loop",
        "notes/up": "../..",
    }
    for name, target in links.items():
        (vault / name).symlink_to(target)
    os.link(vault / ".env", vault / "notes" / "innocent.md")
    os.mkfifo(vault / "fifo")
    return vault


def call(tool: str, level: TrustLevel, vault: str, *, cwd: str = "", **input: Any) -> ToolCall:
    """A call as an agent makes it; `cwd` is relative to the vault."""
    here = f"{vault}/{cwd}" if cwd else vault
    return ToolCall(tool, input, "toolu_1", level, vault, here)


async def verdict_on(
    tool: str, level: TrustLevel, vault: Path, policy: CompiledPolicy, **input: Any
) -> Verdict:
    """Facts and decision in one, in trust mode, on a machine whose kernel holds commands."""
    made = call(tool, level, str(vault), **input)
    facts = await fetch_facts(made, policy, str(vault))
    return decide(made, facts, policy, Permissions(trust_mode=True, confined=True))


@dataclass
class Recorder:
    """A sink that keeps what it was told."""

    events: list[SupervisorEvent] = field(default_factory=list)

    async def emit(self, event: SupervisorEvent) -> None:
        self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        """The events of one type."""
        return [event for event in self.events if isinstance(event, kind)]


@dataclass
class SetClock:
    """A clock that shows what it was set to."""

    at: float = 1000.0

    def now(self) -> Instant:
        return Instant(self.at)
