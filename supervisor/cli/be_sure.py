"""A last question before something is gone for good."""

import sys

import typer

from supervisor.cli.render import Screen


def be_sure(question: str) -> None:
    """Go on at a yes alone; else the command ends with status 1, and says so where nobody is."""
    try:
        typer.confirm(question, abort=True)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        sys.stdout.write("\n")
        Screen(sys.stderr).failure("nobody said yes", None, "say it at a terminal, or with --yes")
        raise typer.Exit(1) from None
