"""Dangerous acts, as effects: the rule looks at what is done to what, not at letters."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from supervisor.policy.bash.effect import Act, Analysis, Effect
from supervisor.policy.bash.invocation import Part
from supervisor.policy.bash.use import IN_DOUBT
from supervisor.policy.bash.value import HOLE, Text, Value, known
from supervisor.policy.call import Deny, Facts, Kind, PathFact, ToolCall, Use
from supervisor.policy.dangerous import DangerRule
from supervisor.policy.decide import decide
from supervisor.policy.denials import dangerous
from supervisor.policy.judged import Judged
from supervisor.policy.wants import Wanted, Wants
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import shipped_policy

POLICY = shipped_policy()
HOME, VAULT = "/home/ada", "/home/ada/vault"
WHERE = Part(0, 1)


def judged(*effects: Effect, cwd: str = VAULT, level: TrustLevel = TrustLevel.SANDBOXED) -> Judged:
    call = ToolCall("Bash", {"command": "x"}, "t", level, VAULT, cwd, as_seen_home=HOME)
    wants = Wants(analysis=Analysis(effects))
    return Judged(call, POLICY.category("Bash"), wants, Facts(), POLICY)


def removal(target: Value | str, **more: object) -> Effect:
    value = known(target) if isinstance(target, str) else target
    made = Effect(Act.DELETE, "rm", WHERE, "removes", target=value, recursive=True)
    return replace(made, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cwd", "target"),
    [
        (VAULT, "/"), (VAULT, "//"), (VAULT, "/../"), (VAULT, "/."), (VAULT, "/etc"),
        (VAULT, "/usr/lib"), (VAULT, "/home"), (VAULT, "/home/bob"), (VAULT, HOME),
        (VAULT, f"{HOME}/"), (VAULT, "."), (VAULT, VAULT), (VAULT, ".."), (VAULT, "../vault"),
        (VAULT, "../../../../.."), ("/", "."), ("/", "etc"), ("/etc", "."), (f"{VAULT}/a", ".."),
        (VAULT, f"/home/{HOLE}"), (VAULT, f"/{HOLE}"), (VAULT, f"{HOME}/../../{HOLE}"),
    ],
)  # fmt: skip
def test_removing_the_system_home_or_the_vault_is_denied(cwd: str, target: str) -> None:
    assert dangerous(judged(removal(target, cwd=known(cwd)))) is not None


@pytest.mark.parametrize(
    ("cwd", "pattern"),
    [
        ("/", "*"), (VAULT, "*"), (VAULT, "./*"), (VAULT, "/*"), (VAULT, "/etc/*"),
        (VAULT, f"{HOME}/.[!.]*"), (VAULT, "../*"), (VAULT, f"{VAULT}/*"), (VAULT, "/[a-z]*"),
    ],
)  # fmt: skip
def test_removing_all_that_such_a_folder_holds_is_denied(cwd: str, pattern: str) -> None:
    target = Value((Text(pattern, pattern=pattern),))
    assert dangerous(judged(removal(target, cwd=known(cwd)))) is not None


@pytest.mark.parametrize(
    ("cwd", "target"),
    [
        (VAULT, "build"), (VAULT, "/tmp/scratch-1"), (VAULT, "~"), (VAULT, "./~"), (VAULT, "*"),
        (VAULT, f"{HOME}/project"), (VAULT, "/opt/app"), (VAULT, HOLE), (VAULT, f"{HOME}/{HOLE}"),
        (VAULT, "/etc/nginx"), (f"{VAULT}/build", "."), (VAULT, "/homes"),
    ],
)  # fmt: skip
def test_removing_anything_else_is_left_to_other_steps(cwd: str, target: str) -> None:
    assert dangerous(judged(removal(target, cwd=known(cwd)))) is None


@pytest.mark.parametrize(
    ("cwd", "pattern"), [(f"{VAULT}/build", "*"), (VAULT, "*.o"), (VAULT, "tmp/*"), (VAULT, "*~")]
)
def test_so_is_removing_some_of_what_a_folder_holds(cwd: str, pattern: str) -> None:
    target = Value((Text(pattern, pattern=pattern),))
    assert dangerous(judged(removal(target, cwd=known(cwd)))) is None


def test_only_files_of_some_name_may_be_removed_below_a_folder() -> None:
    assert dangerous(judged(removal(".", only=("*.pyc",)))) is None
    assert dangerous(judged(removal(".", only=("*",)))) is not None


def test_not_removing_all_below_isnt_removing_the_folder() -> None:
    assert dangerous(judged(removal("/", recursive=False))) is None


def test_one_text_of_many_that_is_dangerous_is_enough() -> None:
    assert dangerous(judged(removal(known("build", "/", "dist")))) is not None
    where = known(VAULT, "/")
    assert dangerous(judged(removal("etc", cwd=where))) is not None


def test_a_link_is_removed_not_what_it_leads_to_unless_a_slash_follows() -> None:
    def verdict(text: str) -> Deny | None:
        effect = removal(text, cwd=known(VAULT))
        call = ToolCall("Bash", {"command": "x"}, "t", TrustLevel.FULL, VAULT, VAULT, None, HOME)
        want = Wanted(text, Use.EFFECT, effect=0, cwd=VAULT, changes=True)
        fact = PathFact(
            text, inside=False, names=("notes/link", "/etc"), use=Use.EFFECT, resolved="/etc",
            entry="notes/link", kind=Kind.FOLDER,
        )  # fmt: skip
        wants = Wants((want,), analysis=Analysis((effect,)))
        return dangerous(Judged(call, POLICY.category("Bash"), wants, Facts((fact,)), POLICY))

    assert verdict("notes/link") is None
    assert verdict("notes/link/") is not None


@pytest.mark.parametrize(
    "effect",
    [
        Effect(Act.ESCALATE, "sudo", WHERE, ""),
        Effect(Act.OVERWRITE_DISK, "mkfs", WHERE, "", target=known("/dev/sda")),
        Effect(Act.REMOTE_SHELL, "nc", WHERE, ""),
        Effect(Act.EXHAUST, "", WHERE, ""),
        Effect(Act.SIGNAL, "kill", WHERE, "", target=known("-1"), severe=True),
        Effect(Act.REVEAL, "gpg", WHERE, "", severe=True),
        Effect(Act.SEND, "curl", WHERE, "", target=known("2852039166")),
        Effect(Act.WRITE, "dd", WHERE, "", target=known("/dev/../dev/sda")),
        Effect(Act.WRITE, "tee", WHERE, "", target=known("/proc/sysrq-trigger")),
        Effect(Act.READ, "cat", WHERE, "", target=known("/dev/sda")),
        Effect(Act.CHANGE_MODE, "chmod", WHERE, "", target=known(HOME), recursive=True),
        Effect(Act.ESCALATE, "sudo", WHERE, "", elsewhere=True),
        removal("/", elsewhere=True),
    ],
    ids=lambda effect: str(effect.act),
)
def test_each_dangerous_act_is_denied_at_every_level(effect: Effect) -> None:
    for level in TrustLevel:
        found = dangerous(judged(replace(effect, cwd=known(VAULT)), level=level))
        assert isinstance(found, Deny)


@pytest.mark.parametrize(
    "effect",
    [
        Effect(Act.SIGNAL, "kill", WHERE, "", target=known("1234")),
        Effect(Act.REVEAL, "env", WHERE, ""),
        Effect(Act.SEND, "curl", WHERE, "", target=known("example.org")),
        Effect(Act.WRITE, "dd", WHERE, "", target=known("./dev/sda")),
        Effect(Act.WRITE, "", WHERE, "", target=known("/dev/null")),
        Effect(Act.CHANGE_MODE, "chmod", WHERE, "", target=known("dist"), recursive=True),
        Effect(Act.CHANGE_MODE, "chmod", WHERE, "", target=known("."), recursive=True),
        Effect(Act.READ, "cat", WHERE, "", target=known("/sys/block/sda/queue/scheduler")),
        Effect(Act.READ, "x", WHERE, IN_DOUBT, target=known("/dev/sda")),
        Effect(Act.LIST, "lsblk", WHERE, "", target=known("/dev/sda")),
        Effect(Act.UNKNOWN, "", WHERE, ""),
    ],
    ids=lambda effect: str(effect.act),
)
def test_what_resembles_one_is_left_to_other_steps(effect: Effect) -> None:
    assert dangerous(judged(replace(effect, cwd=known(VAULT)))) is None


def test_a_device_is_known_by_what_the_file_system_says_it_is() -> None:
    effect = Effect(Act.WRITE, "cp", WHERE, "", target=known("innocent"), cwd=known(VAULT))
    call = ToolCall("Bash", {"command": "x"}, "t", TrustLevel.FULL, VAULT, VAULT)
    want = Wanted("innocent", Use.EFFECT, effect=0, cwd=VAULT, changes=True)
    wants = Wants((want,), analysis=Analysis((effect,)))

    def verdict(kind: Kind) -> object:
        fact = PathFact("innocent", inside=True, names=("innocent",), use=Use.EFFECT, kind=kind)
        return decide(call, Facts((fact,)), POLICY, wants=wants)

    assert isinstance(verdict(Kind.BLOCK_DEVICE), Deny)
    assert not isinstance(verdict(Kind.FILE), Deny)


@pytest.mark.parametrize(
    ("change", "hit"),
    [
        (lambda rule: rule, True),
        (lambda rule: replace(rule, severe=True), False),
        (lambda rule: replace(rule, recursive=True), True),
        (lambda rule: replace(rule, acts=frozenset({Act.WRITE})), False),
        (lambda rule: replace(rule, folders=("/srv/x",)), False),
        (lambda rule: replace(rule, folders=("/srv/x",), paths=("/opt/**",)), True),
    ],
)
def test_all_that_a_rule_says_must_hold(
    change: Callable[[DangerRule], DangerRule], hit: bool
) -> None:
    rule = change(DangerRule("r", "no", frozenset({Act.DELETE})))
    policy = replace(POLICY, dangerous=(rule,))
    made = judged(removal("/opt/app/x"))
    found = dangerous(Judged(made.call, made.category, made.wants, Facts(), policy))
    assert (found is not None) is hit
