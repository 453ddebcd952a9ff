"""`trustfloor policy show`: the rules that the policy files make, and where each stands."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from supervisor.cli.policy_sources import Page, open_source, read_folders, write_json
from supervisor.errors import ConfigurationError
from supervisor.policy.fault import PolicyFault


def show(
    policies: Annotated[
        Path | None, typer.Option(help="The folder of policy files (TRUSTFLOOR_POLICIES).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List the rules in the order of their files, after overrides, with what is built in.

    Exit status 1 if the files are no policy.
    """
    source = open_source(read_folders(), policies)
    policy = source.current
    levels = {
        level.value: {category.value: answer.value for category, answer in answers.items()}
        for level, answers in policy.levels.items()
    }
    if as_json:
        write_json(
            {
                "hash": policy.hash,
                "files": list(source.files),
                "rules": [asdict(rule) for rule in source.rules],
                "builtIn": [
                    {"id": rule.id, "reason": rule.reason} for rule in policy.protected.rules
                ],
                "levels": levels,
            }
        )
        return
    page = Page()
    page.line(f"hash {policy.hash}", "dim")
    page.line("built in", "bold")
    for built_in in policy.protected.rules:
        page.line(f"  {built_in.id}: {built_in.reason}")
    for name in source.files:
        page.line(name, "bold")
        for rule in source.rules:
            place = PolicyFault.of(ConfigurationError(rule.reason, where=rule.where))
            if place.file == name:
                page.line(f"  {rule.kind} {rule.id} (line {place.line}): {rule.reason}")
    page.line("by category", "bold")
    for level, answers in levels.items():
        told = ", ".join(f"{category} {answer}" for category, answer in answers.items())
        page.line(f"  {level}: {told}")
