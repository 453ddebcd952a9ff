"""`trustfloor policy show`: the rules that the policy files make, and where each stands."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from supervisor.cli.json_out import write_json
from supervisor.cli.policy_sources import Page, open_source, read_folders
from supervisor.errors import ConfigurationError
from supervisor.gate.policy_files import RulePlace
from supervisor.policy.fault import PolicyFault


def show(
    policies: Annotated[
        Path | None, typer.Option(help="The folder of policy files (TRUSTFLOOR_POLICIES).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List the rules in the order of their files, with what is built in.

    A rule that a later file replaces or switches off says so, and which.

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
        for _line, text, counts in sorted(_lines_of(name, source.rules)):
            page.line(f"  {text}", "" if counts else "dim")
    page.line("by category", "bold")
    for level, answers in levels.items():
        told = ", ".join(f"{category} {answer}" for category, answer in answers.items())
        page.line(f"  {level}: {told}")


def _lines_of(file: str, rules: Sequence[RulePlace]) -> Iterator[tuple[int, str, bool]]:
    """What is told of the rules of one file: line, text, and whether the rule counts."""
    for rule in rules:
        last, *earlier = (_place(where) for where in (rule.where, *rule.overrides))
        if last.file == file:
            what = "switches off" if rule.off else "in place of"
            instead = f" ({what} {_short(earlier[0])})" if earlier else ""
            head = f"{rule.kind} {rule.id} (line {last.line})"
            yield last.line or 0, f"{head}: {rule.reason}{instead}", not rule.off
        by = f"{'off' if rule.off else 'replaced'} (by {_short(last)})"
        for place in earlier:
            if place.file == file:
                head = f"{rule.kind} {rule.id} (line {place.line})"
                yield place.line or 0, f"{head}: {by}", False


def _place(where: str) -> PolicyFault:
    return PolicyFault.of(ConfigurationError("", where=where))


def _short(place: PolicyFault) -> str:
    return f"{place.file}:{place.line}"
