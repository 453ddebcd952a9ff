"""How long a decision takes, and how other guards do on the same labelled calls.

    python -m benchmarks.policy [CASES.jsonl ...]

Without files it takes the project's own cases. `scripts/peers` installs the other guards; without
them only our own figures are printed. Commands are strings here: none is run.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from benchmarks._figures import machine, median, percentile, table
from supervisor.gate.case_vault import make_vault
from supervisor.gate.cases import HOME, judge
from supervisor.gate.facts import fetch_facts
from supervisor.gate.policy_files import PolicySource
from supervisor.policy.call import Facts, ToolCall, verdict_word
from supervisor.policy.cases import Case, placed, read_cases
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.decide import decide
from supervisor.policy.permissions import Permissions
from supervisor.policy.wanted import wanted
from supervisor.policy.wants import Wants
from supervisor.trust.levels import TrustLevel

ROOT = Path(__file__).parent.parent
PEERS = ROOT / ".peers"
ROUNDS = 1_000
LAYOUT_OF_GRANTS = ("grant-bash-prefix", "grant-file-glob")
"""Families about our own grants, which other guards don't know: left out of the comparison."""

PIPE = "git log --oneline -20 | grep -v 'merge branch' > build/log.txt && wc -l build/log.txt"
EDIT = "cd src && sed -i 's/old name/new name/' app.py && python -m pytest -q tests/test_app.py"
SHORT = f'{PIPE}; {EDIT}; echo "done in $PWD at $(date +%F)"'
LONG = "\n".join([SHORT] * 10)
COMMIT = f'git commit -m "{"Some words of a message that says what is better now, " * 3}and why"'
CHECKS = (
    "cd build && python -m pytest -q tests/unit/test_a.py tests/unit/test_b.py -k 'one or two' "
    "--maxfail=1 2>&1 | tail -40 && git diff --stat && git add -A src && git commit -qm 'Mend'"
)


@dataclass(frozen=True)
class Probe:
    """A call whose decision is timed."""

    name: str
    tool: str
    input: dict[str, str]
    rounds: int = ROUNDS
    again: bool = False
    """Whether the very same call is judged each time; else each has a comment of its own."""

    def calls(self, call: ToolCall) -> Iterator[ToolCall]:
        """The call, over and over."""
        for number in count():
            command = call.input.get("command")
            own = None if self.again or command is None else f"{command} # {number}"
            yield call if own is None else replace(call, input={**call.input, "command": own})


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


def timed(work: Callable[[], object], rounds: int) -> list[float]:
    """Microseconds of each round; a few go before."""
    for _ in range(min(20, rounds)):
        work()
    found = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        found.append((time.perf_counter() - begun) * 1e6)
    return found


def decisions(policy: CompiledPolicy, vault: str) -> None:
    """Prints what one decision takes: the pure part, the look at the file system, together."""
    rows = []
    permissions = Permissions(trust_mode=True)
    loop = asyncio.new_event_loop()
    for probe in PROBES:
        call = ToolCall(
            tool=probe.tool,
            input=placed(probe.input, vault),
            tool_use_id="t",
            level=TrustLevel.VAULT,
            as_seen_vault=vault,
            as_seen_cwd=vault,
            as_seen_home=HOME,
        )
        wants = wanted(call, policy)
        facts = loop.run_until_complete(fetch_facts(call, policy, vault, wants=wants))
        verdict = decide(call, facts, policy, permissions, wants=wants)

        calls = probe.calls(call)

        def pure(calls: Iterator[ToolCall] = calls, facts: Facts = facts) -> object:
            call = next(calls)
            return decide(call, facts, policy, permissions, wants=wanted(call, policy))

        def look(call: ToolCall = call, wants: Wants = wants) -> object:
            return loop.run_until_complete(fetch_facts(call, policy, vault, wants=wants))

        decided, looked = timed(pure, probe.rounds), timed(look, probe.rounds)
        rows.append(
            (
                probe.name,
                f"{median(decided):,.0f}",
                f"{percentile(decided, 0.1):,.0f}",
                f"{percentile(decided, 0.99):,.0f}",
                f"{median(looked):,.0f}",
                f"{verdict_word(verdict)} ({verdict.rule})",
            )
        )
    loop.close()
    table(
        ("call, at `vault`", "decision µs", "quietest tenth", "p99", "file system µs", "verdict"),
        rows,
    )


@dataclass(frozen=True)
class Answers:
    """What a guard said to each case, and how long it took: verdicts and seconds by id."""

    name: str
    verdicts: dict[str, str]
    seconds: list[float]


def ours(cases: Sequence[Case], policy: CompiledPolicy, vaults: dict[str, str]) -> Answers:
    """Our own answers, the look at the file system included."""
    verdicts: dict[str, str] = {}
    seconds = []
    with asyncio.Runner() as runner:
        for case in cases:
            begun = time.perf_counter()
            verdict = runner.run(judge(case, policy, vaults[case.layout]))
            seconds.append(time.perf_counter() - begun)
            verdicts[case.id] = verdict_word(verdict)
    return Answers("trustfloor", verdicts, seconds)


def peer(
    name: str, command: Sequence[str], cases: Sequence[Case], vaults: dict[str, str]
) -> Answers:
    """The answers of another guard, in a process and a home folder of its own."""
    lines = "".join(
        json.dumps(
            {
                "id": case.id,
                "command": placed(case.input, vaults[case.layout])["command"],
                "cwd": str(Path(vaults[case.layout]) / case.cwd),
            }
        )
        + "\n"
        for case in cases
    )
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            command,
            input=lines,
            capture_output=True,
            text=True,
            check=True,
            cwd=home,
            env={"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin"},
        )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    return Answers(
        name, {each["id"]: each["verdict"] for each in said}, [each["seconds"] for each in said]
    )


def peers() -> list[tuple[str, list[str]]]:
    """The other guards that are installed, with the commands that ask them."""
    python, script = PEERS / "bin" / "python", PEERS / "guards.mjs"
    if not python.exists():
        return []
    guards = str(ROOT / "benchmarks" / "peers" / "guards.py")
    found = [
        (name, [str(python), guards, name])
        for name in ("nah", "bashgate", "agentbelay", "butterfence")
    ]
    node = shutil.which("node")
    if node and script.exists():
        found.append(("cc-safety-net", [node, str(script)]))
    return found


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def comparison(cases: Sequence[Case], policy: CompiledPolicy, vaults: dict[str, str]) -> None:
    """Prints how each guard does on the Bash cases that are labelled allow or deny."""
    bash = [case for case in cases if case.tool == "Bash" and case.family not in LAYOUT_OF_GRANTS]
    deny = [case.id for case in bash if case.want == "deny"]
    allow = [case.id for case in bash if case.want == "allow"]
    answers = [ours(bash, policy, vaults)]
    answers += [peer(name, command, bash, vaults) for name, command in peers()]
    own = median(answers[0].seconds)
    rows = []
    for each in answers:
        said = each.verdicts
        rows.append(
            (
                each.name,
                share(sum(said[i] == "deny" for i in deny), len(deny)),
                share(sum(said[i] in ("deny", "ask") for i in deny), len(deny)),
                share(sum(said[i] != "allow" for i in allow), len(allow)),
                f"{median(each.seconds) * 1e6:,.0f}",
                f"{median(each.seconds) / own:.2f}",
            )
        )
    print(f"\n{len(bash)} Bash calls: {len(deny)} to deny, {len(allow)} to allow\n")
    heads = ("guard", "denied", "held back", "false alarms", "µs per call", "x ours")
    table(heads, rows)


def main() -> None:
    files = [Path(each) for each in sys.argv[1:]]
    files = files or sorted((ROOT / "tests" / "policy_cases").glob("*.jsonl"))
    print(machine(), end="\n\n")
    policy = PolicySource(ROOT / "policies").current
    cases = [case for file in files for case in read_cases(str(file), file.read_text("utf-8"))]
    with tempfile.TemporaryDirectory() as base:
        vaults = {
            layout: str(make_vault((Path(base) / layout).resolve(), layout))
            for layout in sorted({case.layout for case in cases} | {"a"})
        }
        decisions(policy, vaults["a"])
        comparison(cases, policy, vaults)


if __name__ == "__main__":
    main()
