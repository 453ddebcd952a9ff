"""Texts made to be slow, or that no file can be called, are judged as any other, files and all.

How long is bounded by the whole of it: what took the square of its length took minutes here.
"""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from supervisor.gate.case_vault import make_vault
from supervisor.gate.cases import judge
from supervisor.policy.call import verdict_word
from supervisor.policy.cases import Case, read_cases
from tests.worlds.policy_world import shipped_policy
from tests.worlds.waiting import A_WHILE

POLICY = shipped_policy()
_LINE = '{"id": "x", "family": "f", "tool": "Read", "input": {}, "want": "ask", "trust": "vault"}'
HALF = "\ud800"
_UNITS = (
    "[a", "[!", "[", "]", "!(x)", "?(a)", "@(a|b)", "@(.env|", "((", "{a,", "{a,b}", "{", "**/",
    "a.1/", ".env.example/", "config~/",
    "*a", "a,", "a/", "../", "\\", "[[:alpha:]", "~", "http://", "1.", "%2e", "a", f"{HALF}/*",
)  # fmt: skip


@pytest.fixture(name="vault", scope="module")
def vault_fixture(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_vault(tmp_path_factory.mktemp("vault").resolve() / "a", "a"))


def judged(tool: str, given: dict[str, Any], vault: str) -> str:
    (case,) = read_cases("x", _LINE)
    asked: Case = replace(case, tool=tool, input=given)

    async def within() -> str:
        async with asyncio.timeout(A_WHILE):
            return verdict_word(await judge(asked, POLICY, vault))

    return asyncio.run(within())


@pytest.mark.parametrize("unit", _UNITS, ids=ascii)
@pytest.mark.parametrize(
    ("tool", "field"),
    [("Glob", "pattern"), ("Grep", "glob"), ("mcp__a__b", "x"), ("Read", "file_path")],
)
def test_a_long_text_is_judged_in_time(tool: str, field: str, unit: str, vault: str) -> None:
    given = {"pattern": "x", field: unit * (200_000 // len(unit))}
    assert judged(tool, given, vault) in {"allow", "ask", "deny"}


@pytest.mark.parametrize("unit", ["ping a ", "curl ] ", "cat [a ", "ls !(x) ", "git @(a|b) "])
def test_so_is_a_command_of_very_many_words(unit: str, vault: str) -> None:
    assert judged("Bash", {"command": unit * 8_000}, vault) in {"allow", "ask", "deny"}


@pytest.mark.parametrize(
    "command",
    [
        f"cat {HALF}/*", f"rm {HALF}/*", f"cd {HALF}; cat *", f"cat {HALF}", f"ls **/{HALF}",
        f"cat < {HALF}", f"echo x > {HALF}/a", f"git -C {HALF} status", f"find {HALF} -name '*'",
    ],
    ids=ascii,
)  # fmt: skip
def test_a_name_that_no_file_can_have_is_judged(command: str, vault: str) -> None:
    assert judged("Bash", {"command": command}, vault) in {"allow", "ask", "deny"}
    assert judged("Read", {"file_path": f"{vault}/{HALF}"}, vault) in {"allow", "ask", "deny"}


@pytest.mark.parametrize(
    "pattern",
    ["@(x|.env)" + "?(a)" * 40, "[a" * 500 + "/.e[n]v", "?(x)" * 20 + ".env"],
    ids=["groups", "open brackets", "fewer groups"],
)
def test_what_is_meant_for_a_denied_name_is_seen_through_all_of_that(
    pattern: str, vault: str
) -> None:
    assert judged("Glob", {"pattern": pattern}, vault) == "deny"
