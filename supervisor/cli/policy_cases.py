"""`trustfloor policy test`: do the rules' examples hold, are labelled calls judged as labelled?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from supervisor.cli.complaints import complain
from supervisor.cli.json_out import write_json
from supervisor.cli.policy_sources import Page, fail, open_source, read_folders
from supervisor.errors import TrustfloorError
from supervisor.gate.cases import run_cases
from supervisor.gate.policy_files import PolicySource
from supervisor.policy.examples import Failing, failing_examples


def run_tests(
    *,
    cases: Annotated[
        Path | None, typer.Option(help="Labelled calls, one JSON object a line.")
    ] = None,
    vault: Annotated[
        Path | None,
        typer.Option(help="The vault that the cases speak of; without it, a small one is made."),
    ] = None,
    policies: Annotated[
        Path | None, typer.Option(help="The folder of policy files (TRUSTFLOOR_POLICIES).")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The counts as JSON: of the cases, else the examples.")
    ] = False,
) -> None:
    """Hold the rules against their own examples, and against a file of labelled calls.

    No command is run. `want: ask` is met by ask or deny. Exit status 0 if all is right, 1 if not,
    2 if the cases can't be read.
    """
    source = open_source(read_folders(), policies)
    wrong = failing_examples(source.current)
    for each in wrong:
        complain(f"{each.where or source.folder}: {each.says}")
    examples = _examples(source, wrong)
    told: Mapping[str, Any] = examples
    if cases is not None:
        try:
            told = run_cases(cases, source, vault).document()
        except TrustfloorError as error:
            fail(error, status=2)
        except OSError as error:
            complain(f"error: the cases can't be read: {error.strerror}", str(cases))
            raise typer.Exit(2) from None
    if as_json:
        write_json(told)
    else:
        _tell(told, examples, cases, Page())
    raise typer.Exit(1 if told["wrong"] or examples["wrong"] else 0)


def _examples(source: PolicySource, wrong: Sequence[Failing]) -> dict[str, Any]:
    """The rules' examples, counted like cases."""
    policy = source.current
    every = (*policy.examples, *policy.dangerous_examples, *policy.tool_examples)
    deny = sum(len(each.deny) for each in every)
    allow = sum(len(each.allow) for each in every)
    missed = sum(each.missed for each in wrong)
    return {
        "deny": {"n": deny, "right": deny - missed},
        "ask": {"n": 0, "right": 0},
        "allow": {"n": allow, "right": allow - (len(wrong) - missed)},
        "wrong": [{"id": each.says, "got": None, "rule": each.rule} for each in wrong],
    }


def _tell(
    told: Mapping[str, Any], examples: Mapping[str, Any], cases: Path | None, page: Page
) -> None:
    held = examples["deny"]["right"] + examples["allow"]["right"]
    count = examples["deny"]["n"] + examples["allow"]["n"]
    page.line(f"examples: {held} of {count} hold")
    if cases is None:
        return
    for want in ("deny", "ask", "allow"):
        page.line(f"{want}: {told[want]['right']} of {told[want]['n']} right")
    for each in told["wrong"]:
        page.line(f"  {each['id']}: {each['got']} by {each['rule']}", "red")
