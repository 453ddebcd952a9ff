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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks._decisions import decisions, labelled
from benchmarks._figures import machine, median, table
from supervisor.gate.case_vault import make_vault
from supervisor.gate.cases import judge
from supervisor.gate.policy_files import PolicySource
from supervisor.policy.call import verdict_word
from supervisor.policy.cases import Case, placed, read_cases
from supervisor.policy.compiled import CompiledPolicy

ROOT = Path(__file__).parent.parent
PEERS = ROOT / ".peers"
LAYOUT_OF_GRANTS = ("grant-bash-prefix", "grant-file-glob")
"""Families about our own grants, which other guards don't know: left out of the comparison."""


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
        labelled(cases, policy, vaults)
        comparison(cases, policy, vaults)


if __name__ == "__main__":
    main()
