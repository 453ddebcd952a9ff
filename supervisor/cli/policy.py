"""`trustfloor policy`: the commands about policy files, none of which needs a supervisor."""

from typing import Final

import typer

from supervisor.cli.lazy import lazy

COMMANDS: Final = {
    "check": "supervisor.cli.policy_check",
    "show": "supervisor.cli.policy_show",
    "test": "supervisor.cli.policy_cases:run_tests",
    "explain": "supervisor.cli.policy_explain",
    "replay": "supervisor.cli.policy_replay",
}

policy = typer.Typer(
    cls=lazy(COMMANDS), add_completion=False, no_args_is_help=True, rich_markup_mode=None
)


@policy.callback()
def _policy() -> None:
    """Check, show, test and explain the policy files, and replay what was decided."""
