"""`trustfloor policy replay`: what would another policy have made of the calls that there were?"""

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from supervisor.cli.complaints import complain
from supervisor.cli.json_out import write_json
from supervisor.cli.moments import line_moment, moment_of
from supervisor.cli.policy_sources import Page, open_source, read_folders
from supervisor.gate.recorded import RecordedDecisions
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.replay import Flip, Recorded, Replay, flips_by_rule, replayed
from supervisor.policy.savings import Saving, smallest_grants

_EXAMPLES = 3
_LONGEST_INPUT = 160


def replay(
    *,
    candidate: Annotated[
        Path,
        typer.Option(
            help="A policy file, laid over those in force for this look; or a folder, in their"
            " place."
        ),
    ],
    since: Annotated[
        datetime | None,
        typer.Option(
            parser=moment_of, metavar="SPAN|DATE", help="From when on: 30d, 12h, 2026-03-01."
        ),
    ] = None,
    audit: Annotated[
        Path | None, typer.Option(help="The audit log (audit.jsonl in the data folder).")
    ] = None,
    policies: Annotated[
        Path | None, typer.Option(help="The folder of policy files (TRUSTFLOOR_POLICIES).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Decide recorded calls again under a candidate policy, and list what would be otherwise.

    Nothing is run and no file of the vault is looked at: facts, grants and time are as they were
    recorded. Exit status 0 whatever flips, 1 if a file is broken or the audit log was changed.
    """
    named = read_folders()
    if os.path.isdir(candidate):  # noqa: PTH112 - what can't be looked at is read, and told
        source = open_source(named, candidate)
    else:
        source = open_source(named, policies, also=(candidate,))
    decisions = RecordedDecisions(audit or named.data_dir / "audit.jsonl", since)
    asks: list[Recorded] = []
    try:
        found = replayed(_keeping_asks(decisions, asks), source.current)
    except OSError as error:
        complain(f"the audit log can't be read: {error.strerror}", str(decisions.path))
        raise typer.Exit(1) from None
    savings = smallest_grants(asks, source.current)
    if as_json:
        write_json(_document(found, savings, source.current, decisions))
    else:
        _tell(found, savings, Page())
    if decisions.broken is not None:
        bad = decisions.broken
        complain(
            f"the audit log was changed: line {bad.line}: {bad.why}",
            str(decisions.path),
            "only what stands before that line was replayed",
        )
        raise typer.Exit(1)


def _keeping_asks(records: Iterable[Recorded], asks: list[Recorded]) -> Iterator[Recorded]:
    """One pass: a log may be larger than memory, and of most records only the verdict counts."""
    for record in records:
        if record.said == "ask":
            asks.append(record)
        yield record


def _tell(found: Replay, savings: Sequence[Saving], page: Page) -> None:
    recorded = found.decided + sum(found.left_out.values())
    page.line(f"{recorded} decisions recorded, {found.decided} decided again")
    for why, count in found.left_out.items():
        page.line(f"  {count} left out: {why}", "dim")
    page.line(f"{len(found.flips)} would flip", "bold")
    for (before, after, rule), flips in flips_by_rule(found.flips).items():
        page.line(f"  {before} → {after}: {len(flips)}, by rule {rule}")
        for flip in flips[:_EXAMPLES]:
            when = line_moment(flip.recorded.at)
            page.line(f"      {when} {flip.recorded.level} {_shown(flip)}", "dim")
    page.line(f"{found.prompts} times a person was asked", "bold")
    if savings:
        saved = sum(each.prompts for each in savings)
        page.line(f"  {saved} of them would not have been, with these grants:")
    for each in savings:
        told = " + ".join(f"{kind.value} {pattern}" for kind, pattern in each.grants)
        page.line(f"  {each.prompts:6} {told} (at {each.level})")


def _shown(flip: Flip) -> str:
    made = flip.recorded.input
    told = orjson.dumps(dict(made.call.input) if made else {}).decode()
    short = told if len(told) <= _LONGEST_INPUT else f"{told[:_LONGEST_INPUT]}…"
    return f"{flip.recorded.tool} {short}"


def _document(
    found: Replay,
    savings: Sequence[Saving],
    candidate: CompiledPolicy,
    decisions: RecordedDecisions,
) -> dict[str, Any]:
    return {
        "candidate": candidate.hash,
        "decided": found.decided,
        "leftOut": dict(found.left_out),
        "flips": [_flip(each) for each in found.flips],
        "byRule": [
            {"before": before, "after": after, "rule": rule, "n": len(flips)}
            for (before, after, rule), flips in flips_by_rule(found.flips).items()
        ],
        "prompts": found.prompts,
        "savings": [
            {
                "prompts": each.prompts,
                "trustLevel": each.level,
                "grants": [
                    {"kind": kind.value, "pattern": pattern} for kind, pattern in each.grants
                ],
            }
            for each in savings
        ],
        "brokenAt": None if decisions.broken is None else decisions.broken.line,
    }


def _flip(flip: Flip) -> dict[str, Any]:
    record = flip.recorded
    return {
        "line": record.line,
        "at": record.at,
        "sessionId": record.session_id,
        "tool": record.tool,
        "input": dict(record.input.call.input) if record.input else {},
        "trustLevel": record.level,
        "before": record.said,
        "beforeRule": record.rule,
        "after": flip.verdict,
        "afterRule": flip.rule,
        "reason": flip.reason,
    }
