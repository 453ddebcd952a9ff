"""A world for calls of any kind: the shipped policy over the vaults that labelled calls presume."""

import asyncio
import atexit
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from supervisor.gate.case_vault import make_vault
from supervisor.gate.cases import judge
from supervisor.policy.call import Verdict, verdict_word
from supervisor.policy.cases import Case, Want
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.permissions import Permissions
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import shipped_policy

POLICY = shipped_policy()
NOTHING = Permissions(trust_mode=False)
WHOLE = Permissions(trust_mode=False, read=("**/*",), write=("**/*",))


@cache
def vault_of(layout: str) -> str:
    """The vault of a layout, made once for all tests of a process; nothing is ever run in it."""
    base = Path(mkdtemp(prefix="trustfloor-test-")).resolve()
    atexit.register(shutil.rmtree, base, ignore_errors=True)
    return str(make_vault(base, layout))


def verdict_of(
    tool: str,
    input: Mapping[str, Any],
    *,
    level: TrustLevel = TrustLevel.VAULT,
    permissions: Permissions = WHOLE,
    layout: str = "a",
    cwd: str = "",
    policy: CompiledPolicy = POLICY,
) -> Verdict:
    """The verdict on one call; `VAULT` in its input stands for the vault's path."""
    case = Case("case", tool, input, level, permissions, "allow", cwd, layout)
    return asyncio.run(judge(case, policy, vault_of(layout)))


def answer(
    tool: str, input: Mapping[str, Any], *, level: TrustLevel = TrustLevel.VAULT, **more: Any
) -> Want:
    """The verdict as one word."""
    return verdict_word(verdict_of(tool, input, level=level, **more))


def bash(command: str, *, level: TrustLevel = TrustLevel.FULL, **more: Any) -> Want:
    """The answer to a command."""
    return answer("Bash", {"command": command}, level=level, **more)
