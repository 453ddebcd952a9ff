"""Judges labelled calls against a small vault that is made for them; never runs one."""

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from supervisor.errors import ConfigurationError
from supervisor.gate.case_vault import LAYOUTS, make_vault
from supervisor.gate.facts import fetch_facts
from supervisor.gate.policy_files import PolicySource
from supervisor.policy.call import Deny, ToolCall, Verdict
from supervisor.policy.cases import Case, Summary, placed, read_cases, summarise
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.decide import decide, internal_error
from supervisor.policy.wanted import wanted

HOME = "/root"
"""The home folder that cases presume, whoever runs them."""


def run_cases(path: Path, source: PolicySource, vault: Path | None = None) -> Summary:
    """How the policy in force judges the cases of a file, each by itself. No command is run.

    Without `vault`, the vaults that they presume are made in a temporary folder, and removed.
    Raises ConfigurationError if the file isn't what it should be, OSError if it can't be read.
    """
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            "expected text in UTF-8",
            where=f"{path} at byte {error.start}",
            remedy="save the file as UTF-8",
        ) from None
    cases = read_cases(str(path), text)
    with ExitStack() as made:
        vaults = {}
        for layout in sorted({case.layout for case in cases}):
            if vault is not None:
                vaults[layout] = str(vault.resolve())
                continue
            base = Path(made.enter_context(tempfile.TemporaryDirectory(prefix="trustfloor-cases-")))
            made_for = layout if layout in LAYOUTS else LAYOUTS[0]
            vaults[layout] = str(make_vault(base.resolve(), made_for))
        return asyncio.run(_judged(cases, source.current, vaults))


async def _judged(
    cases: tuple[Case, ...], policy: CompiledPolicy, vaults: Mapping[str, str]
) -> Summary:
    return summarise([(case, await judge(case, policy, vaults[case.layout])) for case in cases])


async def judge(case: Case, policy: CompiledPolicy, vault: str) -> Verdict:
    """The verdict on one case in a vault (an absolute, resolved path), as the gate would give it.

    Never raises: what fails us is denied.
    """
    if case.unreadable is not None:
        return Deny(rule="malformed-input", reason=case.unreadable)
    try:
        return await _judge(case, policy, vault)
    except Exception as error:  # noqa: BLE001 - one case must not end the run
        return internal_error(case.id, error)


async def _judge(case: Case, policy: CompiledPolicy, vault: str) -> Verdict:
    call = ToolCall(
        tool=case.tool,
        input=placed(case.input, vault),
        tool_use_id=case.id[:64],
        level=case.level,
        as_seen_vault=vault,
        as_seen_cwd=f"{vault}/{case.cwd}" if case.cwd else vault,
        as_seen_home=HOME,
    )
    wants = wanted(call, policy)
    facts = await fetch_facts(call, policy, vault, wants=wants)
    return decide(call, facts, policy, case.permissions, wants=wants)
