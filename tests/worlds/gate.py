"""The gate of one turn, with people to ask and a log to tell."""

import asyncio
from pathlib import Path
from typing import Any

from supervisor.approvals.pending import Approvals
from supervisor.approvals.questions import Questions
from supervisor.events.schema import PermissionRequestEvent
from supervisor.gate.decided import Decided
from supervisor.gate.gate import Gate
from supervisor.gate.policy_files import PolicySource
from supervisor.policy.call import Allow, Deny
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import SHIPPED, TURN, Recorder, SetClock, make_vault
from tests.worlds.waiting import until


class World:
    def __init__(self, base: Path, level: TrustLevel = TrustLevel.VAULT, **limits: Any) -> None:
        self.vault = make_vault(base)
        self.sink = Recorder()
        self.approvals = Approvals(lambda _turn: self.sink, SetClock(), **limits)
        self.questions = Questions(lambda _turn: self.sink, SetClock(), timeout_s=0.05)
        self.audited: list[Decided] = []
        self.level = level
        self.gate = self.make_gate()

    def make_gate(self, **changes: Any) -> Gate:
        return Gate(
            TURN,
            self.level,
            **{
                "as_seen_vault": str(self.vault),
                "as_seen_cwd": str(self.vault),
                "vault": str(self.vault),
                "policy": PolicySource(SHIPPED),
                "approvals": self.approvals,
                "questions": self.questions,
                "sink": self.sink,
                "audit": self.audit,
                **changes,
            },
        )

    async def audit(self, decided: Decided) -> None:
        self.audited.append(decided)

    async def asked(self, kind: type = PermissionRequestEvent) -> Any:
        """The event by which a person is asked, once it is there."""
        await until(lambda: self.sink.of(kind))
        return self.sink.of(kind)[-1]

    def bash(self, command: str = "git push x") -> asyncio.Task[Allow | Deny]:
        return asyncio.create_task(self.gate.check("Bash", {"command": command}, "toolu_1", None))
