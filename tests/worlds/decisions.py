"""A world of decisions: calls judged as the gate judges them, recorded as the audit log does."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from supervisor.events.redact import Redactor
from supervisor.gate.audit_entries import decision_entry
from supervisor.gate.decided import Decided
from supervisor.gate.facts import fetch_facts
from supervisor.observability.audit import AuditLog
from supervisor.policy.call import Allow, Ask, Deny, ToolCall, Verdict
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.decide import decide
from supervisor.policy.permissions import Permissions
from supervisor.policy.replay import Recorded, recorded_decision
from supervisor.policy.wanted import wanted
from supervisor.storage import json_line
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import TURN, call

UNTRUSTED = Permissions(trust_mode=False)
"""A session that asks for everything."""


async def decided(
    policy: CompiledPolicy,
    vault: Path,
    tool: str,
    level: TrustLevel = TrustLevel.VAULT,
    permissions: Permissions | None = UNTRUSTED,
    *,
    by_default: bool = False,
    **input: Any,
) -> Decided:
    """A decision on one call; where a person would be asked, they refuse."""
    made: ToolCall = call(tool, level, str(vault), **input)
    wants = wanted(made, policy)
    facts = await fetch_facts(made, policy, str(vault), wants=wants)
    said: Verdict = decide(made, facts, policy, permissions, 1_000.0, wants)
    final: Allow | Deny = Deny(said.rule, "refused") if isinstance(said, Ask) else said
    return Decided(
        turn=TURN,
        call=made,
        facts=facts,
        policy_hash=policy.hash,
        policy_verdict=said,
        verdict=final,
        permissions=permissions,
        now=1_000.0,
        by_default=by_default,
    )


def entry_of(decision: Decided, *secrets: str) -> dict[str, Any]:
    """The body of its audit entry, after a journey through the file."""
    body = json.loads(json_line.dump(decision_entry(decision, Redactor(secrets))))
    assert isinstance(body, dict)
    return body


@dataclass
class Log:
    """Decisions as they would be read back from an audit log."""

    policy: CompiledPolicy
    vault: Path
    records: list[Recorded] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def add(self, tool: str, *, times: int = 1, **more: Any) -> None:
        """Record the decision on a call, as often as it was made."""
        body = entry_of(await decided(self.policy, self.vault, tool, **more))
        for _ in range(times):
            entry = {"kind": "decision", "ts": "2026-01-01T00:00:00+00:00", "body": body}
            record = recorded_decision(len(self.records) + 1, entry)
            assert record is not None
            self.records.append(record)
            self.bodies.append(body)

    async def write(self, path: Path) -> None:
        """Write them to an audit log of their own, with another entry between."""
        async with AuditLog(path) as audit:
            await audit.append("policy", None, None, {"outcome": "loaded"})
            for body in self.bodies:
                await audit.append("decision", TURN.session_id, TURN.turn_id, body)
