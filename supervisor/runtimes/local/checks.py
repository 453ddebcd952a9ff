"""What `doctor` and health say of the CLI that in-process turns run."""

import os
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from supervisor.observability.health import Check
from supervisor.runtimes.local.availability import vault_cage_available


def bundled_cli() -> Path:
    """The CLI that the SDK's package carries: the one whose behaviour was measured."""
    found = find_spec("claude_agent_sdk")  # to import it takes half a second, and nobody needs it
    assert found is not None  # noqa: S101 - one of our requirements
    assert found.origin is not None  # noqa: S101 - as above
    return Path(found.origin).parent / "_bundled" / "claude"


def local_checks() -> tuple[Check, ...]:
    """Whether `full` and `vault` turns can run, and what confines them."""
    cli = bundled_cli()
    if os.access(cli, os.X_OK):
        found = Check("agent CLI", ok=True, detail=f"with SDK {version('claude-agent-sdk')}")
    else:
        found = Check(
            "agent CLI",
            ok=False,
            detail="the SDK's package has no CLI for this machine",
            remedy="run scripts/setup again on a supported platform",
        )
    return found, _confinement()


def _confinement() -> Check:
    cage = vault_cage_available()
    if cage.works:
        return Check("vault confinement", ok=True, detail=f"by {cage.detail}")
    return Check(
        "vault confinement",
        ok=None,
        detail=f"no OS sandbox at `vault`, so Bash always asks: {cage.detail}",
        remedy="install bubblewrap (Debian package bubblewrap), allow user namespaces, and"
        " restart the supervisor",
    )
