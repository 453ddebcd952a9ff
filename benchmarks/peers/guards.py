"""Other guards, in their own process: a command a line in, a verdict with its time a line out.

    python guards.py NAME < commands.jsonl > verdicts.jsonl

Runs with the interpreter of the peers' environment (see setup), never with the project's. Each
guard gets the command as a string, in its own default setting; nothing is run. The verdicts are
`allow`, `ask`, `deny`, and `error` where the guard itself raised.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module, resources

Guard = Callable[[str, str], str]


def nah() -> Guard:
    """Classifies by the kinds of actions in a command; asks for most that it holds back."""
    classify_command = import_module("nah.bash").classify_command
    verdicts = {"block": "deny", "ask": "ask"}

    def check(command: str, _cwd: str) -> str:
        return verdicts.get(classify_command(command).final_decision, "allow")

    return check


def bashgate() -> Guard:
    """A list of allowed commands, with a check of paths; all else is left to a person."""
    gate = import_module("bashgate")
    shipped = resources.files("bashgate") / "bashgate.default.json"
    commands, folders, _options = gate.load_config(str(shipped))
    config = gate.ParsedConfig(*gate.parse_config(commands), folders)

    def check(command: str, cwd: str) -> str:
        if gate.find_backtick_outside_single_quotes(command):
            return "ask"
        try:
            tokens = gate.tokenize(command)
        except ValueError:
            return "ask"
        if gate.find_dangerous_token(tokens):
            return "ask"
        parts = gate.split_on_operators(tokens)
        found = [gate.check_command(each, cwd, config)[0] for each in parts]
        # What no rule speaks of goes to the agent's own rules, which ask.
        return next((each or "ask" for each in found if each != "allow"), "allow")

    return check


def agentbelay() -> Guard:
    """Contracts over tool calls; its pack for coding agents."""
    belay = import_module("agentbelay").Guard.from_pack("coding-agent")
    verdicts = {"deny": "deny", "allow": "allow", "warn": "allow"}

    def check(command: str, _cwd: str) -> str:
        return verdicts.get(belay.check("Bash", {"command": command}).action, "ask")

    return check


def butterfence() -> Guard:
    """Patterns over the command's text, with its default packs."""
    config = import_module("butterfence.config").DEFAULT_CONFIG
    matcher = import_module("butterfence.matcher")
    verdicts = {"block": "deny", "warn": "allow", "allow": "allow"}

    def check(command: str, _cwd: str) -> str:
        payload = matcher.HookPayload("PreToolUse", "Bash", {"command": command})
        return verdicts.get(matcher.match_rules(payload, config).decision, "ask")

    return check


GUARDS = {guard.__name__: guard for guard in (nah, bashgate, agentbelay, butterfence)}


def main() -> None:
    check = GUARDS[sys.argv[1]]()
    for line in sys.stdin:
        case = json.loads(line)
        begun = time.perf_counter()
        try:
            verdict = check(case["command"], case["cwd"])
        except Exception:  # noqa: BLE001  (whatever another's guard raises is its answer)
            verdict = "error"
        taken = time.perf_counter() - begun
        print(json.dumps({"id": case["id"], "verdict": verdict, "seconds": taken}))


if __name__ == "__main__":
    main()
