"""An explanation says of each effect where in the command it comes from, and what is there."""

from dataclasses import dataclass

import pytest

from supervisor.policy.bash.effect import Act, Analysis, Effect
from supervisor.policy.bash.invocation import Part
from supervisor.policy.bash.value import HOLE, Text, Value, known
from supervisor.policy.call import Ask, Deny, Facts, Kind, PathFact, ToolCall, Use
from supervisor.policy.explain import LONGEST_SHOWN, MOST_SHOWN, Explanation, explain, value_text
from supervisor.policy.permissions import GrantKind
from supervisor.policy.wants import Wanted, Wants
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import shipped_policy

POLICY = shipped_policy()
COMMAND = "cat .env > out.txt"
CALL = ToolCall("Bash", {"command": COMMAND}, "t", TrustLevel.VAULT, "/vault", "/vault")
CAT = Part(0, 8)
REDIRECT = Part(9, 18)


def effect(act: Act, part: Part, **more: object) -> Effect:
    return Effect(act=act, program="cat", part=part, reason="as it says", **more)  # type: ignore[arg-type]


ANALYSIS = Analysis(
    effects=(
        effect(Act.EXECUTE, CAT, words=("cat", ".env")),
        effect(Act.READ, CAT, target=known(".env")),
        effect(Act.WRITE, REDIRECT, target=known("out.txt"), named=False),
    ),
    notes=("one pipeline",),
)
WANTS = Wants(
    paths=(
        Wanted(".env", Use.EFFECT, effect=1),
        Wanted("out.txt", Use.EFFECT, effect=2),
    ),
    analysis=ANALYSIS,
)
FACTS = Facts(
    (
        PathFact(".env", True, (".env",), use=Use.EFFECT, kind=Kind.FILE, links=2),
        PathFact("out.txt", False, ("/tmp/out.txt",), use=Use.EFFECT, kind=Kind.ABSENT),
    )
)


def told(**more: object) -> Explanation:
    given = {"wants": WANTS, "facts": FACTS, "verdict": Deny("env-files", "no"), **more}
    return explain(CALL, policy=POLICY, **given)  # type: ignore[arg-type]


def test_programs_and_effects_are_told_with_the_part_they_come_from() -> None:
    found = told(places={"env-files": "default.yaml:7:5 deny[0]"})
    (command,) = found.commands
    assert command.words == ("cat", ".env")
    assert command.text == COMMAND[command.start : command.end] == "cat .env"
    reads, writes = found.effects
    assert (reads.act, reads.target, reads.text) == ("reads", ".env", "cat .env")
    assert (writes.act, writes.target, writes.text) == ("writes", "out.txt", "> out.txt")
    assert writes.remarks == ("not named in the command, but follows from it",)
    assert found.where == "default.yaml:7:5 deny[0]"
    assert found.notes == ("one pipeline",)


def test_each_path_stands_below_its_effect_with_the_list_it_is_on() -> None:
    reads, writes = told().effects
    (env,), (out,) = reads.paths, writes.paths
    assert env.denied_by == "env-files"
    assert "has 2 hard links" in env.remarks
    assert out.denied_by is None
    assert out.names == ("/tmp/out.txt",)
    assert any(each.startswith("outside the vault") for each in out.remarks)
    assert told().paths == ()


@pytest.mark.parametrize(
    ("level", "rule", "remark"),
    [
        (TrustLevel.SANDBOXED, "write", ", in the sandbox alone: gone after this message"),
        (TrustLevel.VAULT, "not-covered", ", in the cage alone: gone after this message"),
        (TrustLevel.VAULT, "not-confined", ""),
        (TrustLevel.FULL, "full-write", ""),
    ],
)
def test_a_place_in_a_cage_is_not_taken_for_one_on_the_persons_disk(
    level: TrustLevel, rule: str, remark: str
) -> None:
    plan = "/tmp/plan.md"
    found = explain(
        ToolCall("Write", {"file_path": plan}, "t", level, "/vault", "/vault"),
        Wants(paths=(Wanted(plan, Use.WRITE),)),
        Facts((PathFact(plan, False, (plan,), use=Use.WRITE),)),
        Ask(rule, "a person decides about write"),
        POLICY,
    )
    assert found.paths[0].remarks == (f"outside the vault{remark}",)


@pytest.mark.parametrize("level", list(TrustLevel))
def test_what_is_the_systems_is_not_said_to_go_with_the_message(level: TrustLevel) -> None:
    found = explain(
        ToolCall("Read", {"file_path": "/etc/hosts"}, "t", level, "/vault", "/vault"),
        Wants(paths=(Wanted("/etc/hosts", Use.READ),)),
        Facts((PathFact("/etc/hosts", False, ("/etc/hosts",), use=Use.READ),)),
        Deny("vault-confinement", "no"),
        POLICY,
    )
    assert found.paths[0].remarks == ("outside the vault",)


@pytest.mark.parametrize(
    ("level", "use", "remarks"),
    [
        (
            TrustLevel.SANDBOXED,
            Use.WRITE,
            ("read-only in a sandbox: this fails, whatever is answered",),
        ),
        (TrustLevel.SANDBOXED, Use.READ, ()),
        (TrustLevel.VAULT, Use.WRITE, ()),
    ],
)
def test_who_is_asked_for_a_write_that_a_sandbox_cant_do_is_told_so(
    level: TrustLevel, use: Use, remarks: tuple[str, ...]
) -> None:
    found = explain(
        ToolCall("Write", {"file_path": "/vault/a.md"}, "t", level, "/vault", "/vault"),
        Wants(paths=(Wanted("/vault/a.md", use),)),
        Facts((PathFact("/vault/a.md", True, ("a.md",), use=use),)),
        Ask("sandboxed-write", "a person decides about write"),
        POLICY,
    )
    assert found.paths[0].remarks == remarks


def test_what_a_call_names_by_itself_stands_by_itself() -> None:
    call = ToolCall("Write", {"file_path": ".mcp.json"}, "t", TrustLevel.FULL, "/vault", "/vault")
    found = explain(
        call,
        Wants(paths=(Wanted(".mcp.json", Use.WRITE),)),
        Facts((PathFact(".mcp.json", True, (".mcp.json",), use=Use.WRITE),)),
        Deny("agent-steering", "no"),
        POLICY,
    )
    assert found.command is None
    assert found.paths[0].protected_by == "agent-steering"


def test_a_value_shows_its_alternatives_and_its_holes() -> None:
    assert value_text(Value((Text("a"), Text(f"b{HOLE}c")))) == "a | b…c"
    assert len(value_text(known("x" * 5_000))) == LONGEST_SHOWN


@dataclass(frozen=True)
class Offered:
    kind: GrantKind
    pattern: str
    covers: str


def test_an_ask_tells_what_it_was_not_sure_of_and_what_could_be_granted() -> None:
    offers = [Offered(GrantKind.BASH, "cat", "every `cat`")]
    found = told(verdict=Ask("not-understood", "?", unsure=("what `$x` is",)), offers=offers)
    assert found.verdict == "ask"
    assert found.unsure == ("what `$x` is",)
    assert [(each.kind, each.pattern, each.covers) for each in found.suggestions] == [
        ("bash", "cat", "every `cat`")
    ]


def test_very_many_effects_are_counted_and_not_shown() -> None:
    many = Analysis(effects=(effect(Act.READ, CAT, target=known("a")),) * (MOST_SHOWN + 7))
    found = told(wants=Wants(analysis=many), facts=Facts())
    assert len(found.effects) == MOST_SHOWN
    assert "7 more effects aren't shown" in found.notes
