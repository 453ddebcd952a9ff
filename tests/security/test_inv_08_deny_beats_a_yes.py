"""Invariant 8, end to end: neither a policy that allows everything nor a person's yes opens a file.

The denied file is asked for with every tool, at every level; then a call that a person grants turns
out, by the time it would run, to name a denied file.
"""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from supervisor.policy.compiled import Category
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, a_house, bash, calls, is_a, prompt, step
from tests.worlds.policy_world import SHIPPED, shipped_policy

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

SECRET = "CANARY-of-the-vault"


def permissive(folder: Path, *, deny: bool) -> Path:
    """Policies that allow every kind of call at every level; without a deny list, too."""
    shutil.copy(SHIPPED / "default.yaml", folder)
    answers = ", ".join(f"{category.value}: allow" for category in Category)
    levels = ", ".join(f"{level.value}: {{{answers}}}" for level in TrustLevel)
    off = "".join(
        f"  - {{id: {rule.id}, reason: switched off}}\n" for rule in shipped_policy().rules
    )
    (folder / "site.yaml").write_text(
        f"version: 1\ntools: {{levels: {{{levels}}}}}\n" + ("" if deny else f"deny:\n{off}")
    )
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="house")
async def house_fixture(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    policies = permissive(tmp_path_factory.mktemp("policies"), deny=True)
    async with a_house(policies=policies) as house:
        yield house


def seen(house: House, level: TrustLevel, name: str) -> str:
    return f"/vault/{name}" if level is TrustLevel.SANDBOXED else str(house.vault / name)


def attempts(env: str, folder: str) -> list[dict[str, object]]:
    return [
        calls(("Read", {"file_path": env})),
        calls(("Grep", {"pattern": "PASSWORD", "path": env, "output_mode": "content"})),
        calls(("Edit", {"file_path": env, "old_string": "PASSWORD", "new_string": "x"})),
        calls(("Write", {"file_path": env, "content": "x"})),
        bash(f"cat {env}"),
        bash(f"cd {folder} && cat .en[v]"),
        bash(f"cat {folder}/notes/../.env | head"),
        bash(f"cp {env} /tmp/copy-of-it; cat /tmp/copy-of-it"),
    ]


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_no_tool_opens_a_denied_file_though_everything_is_allowed(
    house: House, level: TrustLevel
) -> None:
    script = attempts(seen(house, level, ".env"), seen(house, level, "").rstrip("/"))
    turn = await house.send(prompt(*script, step("ok")), level)
    assert turn.end["type"] == "done", turn.end
    assert len(turn.results()) == len(script)
    assert turn.of("permission_denied")
    assert SECRET not in repr(turn.events)
    assert SECRET in (house.vault / ".env").read_text()


async def test_control_without_the_deny_list_the_same_attempts_open_it(
    tmp_path: Path,
) -> None:
    async with a_house(policies=permissive(tmp_path, deny=False)) as house:
        script = attempts(str(house.vault / ".env"), str(house.vault))
        turn = await house.send(prompt(*script[:1], *script[4:6], step("ok")), TrustLevel.FULL)
        assert [SECRET in said for said in turn.results()] == [True] * 3


async def test_a_yes_to_a_call_does_not_cover_what_its_path_has_become(tmp_path: Path) -> None:
    async with a_house() as house:
        target = house.vault / "notes" / "innocent.md"
        target.write_text("nothing yet\n")
        ask = bash(f"env; cat {target}")
        turn = await house.send(
            prompt(ask, step("ok")), TrustLevel.VAULT, until=is_a("permission_request")
        )
        target.unlink()
        target.symlink_to(house.vault / ".env")
        await house.parts.approvals.answer(turn.end["id"], "granted")
        await turn.go_on()
        assert SECRET not in repr(turn.events)
        assert turn.of("permission_denied")


async def test_control_a_yes_to_what_stayed_the_same_does_run() -> None:
    async with a_house() as house:
        ask = bash(f"env; cat {house.vault}/notes/*")
        turn = await house.send(
            prompt(ask, step("ok")), TrustLevel.VAULT, until=is_a("permission_request")
        )
        await house.parts.approvals.answer(turn.end["id"], "granted")
        await turn.go_on()
        assert "oat milk" in turn.results()[0]
