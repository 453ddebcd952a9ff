"""The command `trustfloor`: a table of subcommands, each loaded only when it is asked for.

So the chat client starts without the server's libraries, and one broken part doesn't take the
others along.
"""

import os
import sys
from typing import Annotated, Final

import typer

from supervisor.cli.complaints import complain_of_error
from supervisor.cli.hidden_key import hide_key
from supervisor.cli.lazy import lazy

COMMANDS: Final = {
    "serve": "supervisor.cli.serve",
    "engine-filter": "supervisor.cli.engine_filter:engine_filter",
    "demo": "supervisor.cli.demo",
    "chat": "supervisor.cli.chat",
    "approvals": "supervisor.cli.approvals",
    "doctor": "supervisor.cli.doctor",
    "ready": "supervisor.cli.ready:ready",
    "stats": "supervisor.cli.stats:stats",
    "policy": "supervisor.cli.policy",
    "sessions": "supervisor.cli.sessions",
    "workspaces": "supervisor.cli.workspaces",
    "grants": "supervisor.cli.grants",
    "tokens": "supervisor.cli.tokens",
    "login": "supervisor.cli.login",
    "audit": "supervisor.cli.audit",
    "events": "supervisor.cli.events",
    "agents": "supervisor.cli.agents",
    "mcp": "supervisor.cli.mcp",
    "captures": "supervisor.cli.captures",
    "search": "supervisor.cli.search:search",
    "import": "supervisor.cli.imports:import_conversations",
}
"""Each command and the module that has it, under the command's name."""


app = typer.Typer(
    cls=lazy(COMMANDS),
    context_settings={"help_option_names": ["--help", "-h"]},
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # its tracebacks would print local variables, tokens too
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        from supervisor.observability.health import version  # noqa: PLC0415 - as the commands

        typer.echo(f"trustfloor {version()}")
        raise typer.Exit


@app.callback()
def _trustfloor(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Tell the version and end."
        ),
    ] = False,
) -> None:
    """Run AI agents at a trust level that the kernel holds."""
    from supervisor.errors import ConfigurationError  # noqa: PLC0415 - as the commands themselves
    from supervisor.variables import check_variables  # noqa: PLC0415

    try:
        check_variables(os.environ)
    except ConfigurationError as error:
        complain_of_error(error.message, remedy=error.remedy)
        raise typer.Exit(2) from None


def main() -> None:
    """Run the command line; the process's exit status tells how it went."""
    if sys.argv[1:2] == ["serve"]:
        hide_key()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without UTF-8 gets escapes, not a crash
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="trustfloor")
    except KeyboardInterrupt:  # before a command has taken the signal into its hands
        sys.exit(130)
    except UnicodeEncodeError:
        if not any(word != word.encode("utf-8", "replace").decode() for word in sys.argv):
            raise  # the fault is ours
        sys.stderr.write("error: a word of the command is no UTF-8, and can't be sent\n")
        sys.exit(2)
    except Exception as error:
        if not _is_told(error):
            raise  # the fault is ours
        sys.exit(1)


def _is_told(error: Exception) -> bool:
    """Tell of a setting or a file that no command foresaw; False: it is a fault of ours."""
    from supervisor.errors import TrustfloorError  # noqa: PLC0415 - as the commands themselves

    match error:
        case TrustfloorError(message=what, where=where, remedy=remedy):
            complain_of_error(what, where, remedy)
        case OSError(strerror=str(what), filename=str(where)):
            complain_of_error(what, where)
        case _:
            return False
    return True
