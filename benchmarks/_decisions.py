"""How long one decision takes: of texts that were made for it, and of labelled calls."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from time import perf_counter
from typing import Final, TypeVar

from benchmarks._figures import median, percentile, table
from supervisor.gate.cases import HOME
from supervisor.gate.facts import fetch_facts
from supervisor.policy.bash.effect import Act
from supervisor.policy.call import Facts, ToolCall, verdict_word
from supervisor.policy.cases import Case, placed
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.decide import decide
from supervisor.policy.permissions import Permissions
from supervisor.policy.wanted import wanted
from supervisor.policy.wants import Wants
from supervisor.trust.levels import TrustLevel

ROUNDS: Final = 1_000
ROUNDS_OF_CASES: Final = 10
TARGET: Final = 300
"""Microseconds in the median, for a command of about 200 characters."""
BANDS: Final = ((0, 49), (50, 99), (100, 149), (150, 250), (251, 4_096))
"""Characters of labelled commands that are told apart; the fourth is what the target is about."""

PIPE = "git log --oneline -20 | grep -v 'merge branch' > build/log.txt && wc -l build/log.txt"
EDIT = "cd src && sed -i 's/old name/new name/' app.py && python -m pytest -q tests/test_app.py"
SHORT = f'{PIPE}; {EDIT}; echo "done in $PWD at $(date +%F)"'
LONG = "\n".join([SHORT] * 10)
COMMIT = f'git commit -m "{"Some words of a message that says what is better now, " * 3}and why"'
CHECKS = (
    "cd build && python -m pytest -q tests/unit/test_a.py tests/unit/test_b.py -k 'one or two' "
    "--maxfail=1 2>&1 | tail -40 && git diff --stat && git add -A src && git commit -qm 'Mend'"
)

_Given = TypeVar("_Given")


@dataclass(frozen=True)
class Probe:
    """A call whose decision is timed."""

    name: str
    tool: str
    input: dict[str, str]
    rounds: int = ROUNDS
    again: bool = False
    """Whether the very same call is judged each time; else each has a comment of its own."""


PROBES = (
    Probe("Read, one file", "Read", {"file_path": "VAULT/notes/a.md"}),
    Probe("Write, one file", "Write", {"file_path": "VAULT/build/x", "content": "x" * 2000}),
    Probe("Bash, 11 characters", "Bash", {"command": "git status "}),
    Probe(f"Bash, {len(COMMIT)} characters, 1 command", "Bash", {"command": COMMIT}),
    Probe(f"Bash, {len(CHECKS)} characters, 6 commands", "Bash", {"command": CHECKS}),
    Probe(f"Bash, {len(SHORT)} characters, 8 commands", "Bash", {"command": SHORT}),
    Probe(f"Bash, {len(LONG)} characters, 80 commands", "Bash", {"command": LONG}),
    Probe(f"the same {len(SHORT)} again", "Bash", {"command": SHORT}, again=True),
    Probe(f"the same {len(LONG)} again", "Bash", {"command": LONG}, again=True),
    Probe("Bash, 1 MB of commands", "Bash", {"command": "ls && " * 170_000}, 5),
    Probe("Bash, 5,000 nested `$(`", "Bash", {"command": "$(" * 5000 + ")" * 5000}, 5),
    Probe("Bash, 8 kB of `x|`", "Bash", {"command": "x|" * 4000}, 5),
    Probe("Bash, 8 kB of `a=(`", "Bash", {"command": "a=(" * 2700}, 5),
    Probe("Bash, 8 kB of `$[`", "Bash", {"command": "$[" * 4000}, 5),
    Probe("Bash, 8 kB of `<<<`", "Bash", {"command": "<<<" * 2700}, 5),
)


def timed(
    work: Callable[[_Given], object], rounds: int, given: Callable[[], _Given]
) -> list[float]:
    """Microseconds of each round; a few go before. What is `given` is made outside of that time."""
    for _ in range(min(20, rounds)):
        work(given())
    found = []
    for _ in range(rounds):
        with_this = given()
        begun = perf_counter()
        work(with_this)
        found.append((perf_counter() - begun) * 1e6)
    return found


def renewed(call: ToolCall, comment: str) -> Iterator[ToolCall]:
    """The call over and over, each time with a comment of its own: a text nobody has seen."""
    for number in count():
        command = call.input["command"]
        yield replace(call, input={**call.input, "command": f"{command}{comment}{number}"})


def _call(tool: str, given: dict[str, object], vault: str, case: Case | None = None) -> ToolCall:
    return ToolCall(
        tool=tool,
        input=placed(given, vault),
        tool_use_id="t",
        level=TrustLevel.VAULT if case is None else case.level,
        as_seen_vault=vault,
        as_seen_cwd=f"{vault}/{case.cwd}" if case is not None and case.cwd else vault,
        as_seen_home=HOME,
    )


def _both(
    decided: Callable[[ToolCall], object],
    policy: CompiledPolicy,
    rounds: int,
    calls: Iterator[ToolCall],
) -> tuple[list[float], list[float]]:
    """Times in a session that has run the commands before, and where none is known."""

    def unknown() -> ToolCall:
        policy.memory.clear()
        return next(calls)

    return timed(decided, rounds, lambda: next(calls)), timed(decided, rounds, unknown)


def _decided(
    facts: Facts, policy: CompiledPolicy, permissions: Permissions
) -> Callable[[ToolCall], object]:
    """The pure part of a decision."""

    def decided(call: ToolCall) -> object:
        return decide(call, facts, policy, permissions, wants=wanted(call, policy))

    return decided


def decisions(policy: CompiledPolicy, vault: str) -> None:
    """Prints what one decision takes: the pure part, and the look at the file system."""
    rows = []
    permissions = Permissions(trust_mode=True)
    with asyncio.Runner() as runner:
        for probe in PROBES:
            call = _call(probe.tool, dict(probe.input), vault)
            wants = wanted(call, policy)
            facts = runner.run(fetch_facts(call, policy, vault, wants=wants))
            verdict = decide(call, facts, policy, permissions, wants=wants)

            def look(call: ToolCall, wants: Wants = wants) -> object:
                return runner.run(fetch_facts(call, policy, vault, wants=wants))

            same = probe.again or "command" not in probe.input
            calls = (call for _ in count()) if same else renewed(call, " # ")
            seen, new = _both(_decided(facts, policy, permissions), policy, probe.rounds, calls)
            looked = timed(look, probe.rounds, lambda call=call: call)  # type: ignore[misc]
            rows.append(
                (
                    probe.name,
                    *_shown(seen),
                    *(("-", "-", "-") if same else _shown(new)),
                    f"{median(looked):,.0f}",
                    f"{verdict_word(verdict)} ({verdict.rule})",
                )
            )
    table(
        (
            "call, at `vault`",
            "known commands µs", "quietest tenth", "p99",
            "new commands µs", "quietest tenth", "p99",
            "file system µs", "verdict",
        ),
        rows,
    )  # fmt: skip


def _shown(times: Sequence[float]) -> tuple[str, str, str]:
    return (
        f"{median(times):,.0f}",
        f"{percentile(times, 0.1):,.0f}",
        f"{percentile(times, 0.99):,.0f}",
    )


def labelled(cases: Sequence[Case], policy: CompiledPolicy, vaults: dict[str, str]) -> None:
    """Prints what labelled Bash calls take, by their length: each a new text each time."""
    rows = []
    with asyncio.Runner() as runner:
        for shortest, longest in BANDS:
            some = {
                command: case
                for case in cases
                if case.tool == "Bash"
                and isinstance(command := case.input.get("command"), str)
                and shortest <= len(command) <= longest
            }
            figures = [
                _of_case(case, policy, vaults[case.layout], runner) for case in some.values()
            ]
            if not figures:
                rows.append((f"{shortest} to {longest}", "0", *["-"] * 6))
                continue
            commands = [each[0] for each in figures]
            seen, quiet_seen, new, quiet_new = (
                [each[at] for each in figures] for at in range(1, 5)
            )
            rows.append(
                (
                    f"{shortest} to {longest}",
                    f"{len(figures):,}",
                    f"{median(commands):.0f} ({max(commands)})",
                    f"{median(seen):,.0f}",
                    f"{median(quiet_seen):,.0f}",
                    f"{median(new):,.0f}",
                    f"{median(quiet_new):,.0f}",
                    f"{100 * sum(each <= TARGET for each in quiet_new) / len(figures):.0f} %",
                )
            )
    print(
        "\nLabelled Bash calls; medians over the calls of each call's median and quietest tenth\n"
    )
    table(
        (
            "characters", "calls", "commands (most)", "known commands µs", "quietest tenth",
            "new commands µs", "quietest tenth", f"of these within {TARGET} µs",
        ),
        rows,
    )  # fmt: skip


def _of_case(
    case: Case, policy: CompiledPolicy, vault: str, runner: asyncio.Runner
) -> tuple[int, float, float, float, float]:
    call = _call(case.tool, dict(case.input), vault, case)
    # A comment on a line of its own: behind a here-document it mustn't stand on the last line.
    calls = renewed(call, "\n# ")
    wants = wanted(call, policy)
    facts = runner.run(fetch_facts(call, policy, vault, wants=wants))
    analysis = wants.analysis
    started = [
        effect
        for effect in (analysis.effects if analysis is not None else ())
        if effect.act is Act.EXECUTE
    ]
    seen, new = _both(_decided(facts, policy, case.permissions), policy, ROUNDS_OF_CASES, calls)
    return (
        len(started),
        median(seen), percentile(seen, 0.1),
        median(new), percentile(new, 0.1),
    )  # fmt: skip
