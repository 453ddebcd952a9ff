"""Suggestions: from narrow to broad, honest about what they cover, and never beyond the lists."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from supervisor.policy.call import Ask
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.grant_pattern import validate
from supervisor.policy.needs import Asking, needs_of
from supervisor.policy.own_pattern import problem_of
from supervisor.policy.permissions import GrantKind, Permissions
from supervisor.policy.suggest import Suggestion, why_none
from supervisor.trust.levels import TrustLevel
from tests.worlds.grants import asking_about, suggested_for, wary_policy
from tests.worlds.policy_world import make_vault


class World:
    def __init__(self, base: Path, policy: CompiledPolicy) -> None:
        self.policy = policy
        self.vault = make_vault(base)
        for name in ("a/b/c/d.md", "top [1].md", "Blogs/x.md", "BlogsPrivate/x.md"):
            path = self.vault / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("text\n")

    async def asking(self, tool: str, level: TrustLevel = TrustLevel.VAULT, **input: Any) -> Asking:
        return await asking_about(tool, self.vault, self.policy, level, **input)

    async def offered(self, tool: str, **input: Any) -> tuple[Suggestion, ...]:
        return suggested_for(await self.asking(tool, **input))

    async def for_command(self, command: str) -> tuple[Suggestion, ...]:
        return await self.offered("Bash", command=command)


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> CompiledPolicy:
    return wary_policy(tmp_path_factory.mktemp("policies")).current


@pytest.fixture
def world(tmp_path: Path, policy: CompiledPolicy) -> World:
    return World(tmp_path, policy)


def patterns(offered: tuple[Suggestion, ...]) -> list[str]:
    return [each.pattern for each in offered]


async def test_a_path_is_offered_from_the_file_to_the_vault(world: World) -> None:
    offered = await world.offered("Read", file_path="a/b/c/d.md")
    assert patterns(offered) == ["a/b/c/d.md", "a/b/c/*", "a/b/c/**/*", "a/**/*", "**/*"]
    assert all(each.kind is GrantKind.READ and each.enough for each in offered)
    words = [each.covers for each in offered]
    assert words[0] == "reads the file `a/b/c/d.md` and no other"
    assert words[1].startswith("reads any file directly in `a/b/c`, none in folders below")
    assert words[4].startswith("reads any file in the vault")
    assert all("deny list stays denied" in each for each in words[1:])


async def test_what_would_be_the_same_is_offered_once(world: World) -> None:
    assert patterns(await world.offered("Read", file_path="Blogs/x.md")) == [
        "Blogs/x.md", "Blogs/*", "Blogs/**/*", "**/*",
    ]  # fmt: skip
    assert patterns(await world.offered("Write", file_path="top [1].md", content="x")) == [
        r"top \[1\].md", "*", "**/*",
    ]  # fmt: skip


async def test_a_write_is_said_to_change_and_delete(world: World) -> None:
    (file, *_rest) = await world.offered("Write", file_path="Blogs/x.md", content="x")
    assert file.kind is GrantKind.WRITE
    assert file.covers == "writes, changes or deletes the file `Blogs/x.md` and no other"


async def test_a_search_is_offered_what_lies_below_its_folder(world: World) -> None:
    offered = await world.offered("Grep", pattern="x", path="docs")
    assert patterns(offered) == ["docs/**/*", "**/*"]


async def test_a_call_by_an_odd_name_is_offered_nothing_that_does_not_help(world: World) -> None:
    for each in await world.offered("Read", file_path="link-in"):
        assert each.enough == (each.pattern == "**/*"), each


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": ".env"}),
        ("Read", {"file_path": "keys/id_ed25519"}),
        ("Read", {"file_path": "link-to-env"}),
        ("Write", {"file_path": ".claude/settings.json", "content": "{}"}),
        ("Write", {"file_path": "policies/mine.yaml", "content": ""}),
        ("Bash", {"command": "cat .env"}),
        ("Bash", {"command": "sudo ls"}),
        ("Bash", {"command": "rm -rf /"}),
        ("Grep", {"pattern": "=", "path": "."}),
        ("Read", {"file_path": "/etc/passwd"}),
        ("Read", {"file_path": "link-out/plan.md"}),
    ],
)
async def test_nothing_is_offered_that_a_list_or_the_level_would_beat(
    world: World, tool: str, given: dict[str, Any]
) -> None:
    assert await world.offered(tool, **given) == ()


@pytest.mark.parametrize("command", ["cat /etc/passwd", "ls /", "cp notes/a.md /tmp/x"])
async def test_no_grant_opens_the_outside_not_even_of_the_whole_command(
    world: World, command: str
) -> None:
    assert await world.for_command(command) == ()
    asking = await world.asking("Bash", command=command)
    assert isinstance(asking.verdict(), Ask)
    assert not asking.allowed_with([(GrantKind.BASH, "=" + command)])


async def test_a_command_is_offered_as_a_whole_then_by_fewer_and_fewer_words(
    world: World,
) -> None:
    offered = await world.for_command("git log --oneline -n 5")
    assert patterns(offered) == ["=git log --oneline -n 5", "git log", "git"]
    assert all(each.enough for each in offered)
    assert offered[0].covers == "runs this very command again, letter by letter"
    assert "begins with `git log`" in offered[1].covers
    assert "need grants of their own" in offered[1].covers


async def test_a_compound_command_needs_a_grant_for_each_part_or_one_for_the_whole(
    world: World,
) -> None:
    offered = await world.for_command("git log | sort > out.txt")
    whole, *parts = offered
    assert whole.pattern == "=git log | sort > out.txt"
    assert whole.enough
    assert {each.pattern for each in parts} == {"git log", "git", "sort", "out.txt"}
    assert not any(each.enough for each in parts)
    (sort,) = [each for each in parts if each.pattern == "sort"]
    assert "not enough by itself: `git log`, changing `out.txt` too" in sort.covers
    asking = await world.asking("Bash", command="git log | sort > out.txt")
    each_part = [(each.kind, each.pattern) for each in parts]
    assert asking.allowed_with(each_part)
    assert not asking.allowed_with([pair for pair in each_part if pair[1] != "sort"])


async def test_a_grant_for_one_part_covers_no_other_part(world: World) -> None:
    asking = await world.asking("Bash", command="ls && cat notes/a.md")
    assert not asking.allowed_with([(GrantKind.BASH, "ls"), (GrantKind.READ, "**/*")])
    assert asking.allowed_with(
        [(GrantKind.BASH, "ls"), (GrantKind.BASH, "cat"), (GrantKind.READ, "**/*")]
    )


@pytest.mark.parametrize(
    "command",
    [
        "python3 -c 'print(1)'",
        "bash -c 'ls notes'",
        "sh -s < src/run.sh",
        "npx sh -c 'ls notes'",
        "uv run python -c 'print(1)'",
        "awk '{print $1}' notes/a.md",
        "find . -name '*.pyc' -exec rm {} ;",
        "/opt/run.sh",
        "../run.sh --now",
        "nohup ls notes",
        "timeout 5 ls notes",
        "xargs rm < notes/a.md",
    ],
)
async def test_what_runs_other_things_is_offered_as_a_whole_only(
    world: World, command: str
) -> None:
    for each in await world.for_command(command):
        program = command.split(maxsplit=1)[0]
        assert each.kind is not GrantKind.BASH or not each.pattern.startswith(program), each


@pytest.mark.parametrize(
    ("command", "narrow"),
    [
        ("npx tsc --noEmit", "npx tsc"),
        ("npx --yes eslint src", "npx --yes eslint"),
        ("uv run pytest -q docs", "uv run pytest"),
        ("poetry run python src/app.py", "poetry run python src/app.py"),
        ("bundle exec rspec docs/a_spec.rb", "bundle exec rspec"),
        ("gh pr view 3 --comments", "gh pr view"),
        ("aws s3 ls s3://b", "aws s3 ls"),
        ("terraform plan -no-color", "terraform plan"),
        ("git push origin main", "git push origin main"),
        ("python3 src/app.py --all", "python3 src/app.py"),
        ("python -m pytest -q", "python -m pytest"),
        ("bash ./run.sh a", "bash ./run.sh"),
        ("./gradlew test --info", "./gradlew test"),
        ("curl -s https://a.example/x", "curl -s https://a.example/x"),
    ],
)
async def test_what_runs_stands_in_the_narrowest_prefix(
    world: World, command: str, narrow: str
) -> None:
    whole, first, *_broader = (
        each for each in await world.for_command(command) if each.kind is GrantKind.BASH
    )
    assert whole.pattern == f"={command}"
    assert first.pattern == narrow
    assert "unless what follows reaches other hosts, sends files or runs other" in first.covers


async def test_a_prefix_that_is_held_but_does_not_reach_far_enough_is_made_up_for(
    world: World,
) -> None:
    command = "curl https://a.example/ https://b.example/"
    held = Permissions(trust_mode=False, bash=("curl https://a.example/",))
    asking = await asking_about(
        "Bash", world.vault, world.policy, permissions=held, command=command
    )
    verdict = asking.verdict()
    assert isinstance(verdict, Ask)
    assert verdict.reason == (
        "`curl` sends: reaches the network (`https://b.example/`), which the granted "
        "`curl https://a.example/` doesn't cover"
    )
    assert patterns(suggested_for(asking)) == [f"={command}", "curl"]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("cat /etc/hostname", "no grant opens the outside of the vault"),
        ("cat ../x | sort", "no grant opens the outside of the vault"),
    ],
)
async def test_why_nothing_can_be_granted_is_said(world: World, command: str, why: str) -> None:
    asking = await world.asking("Bash", command=command)
    needs = needs_of(asking)
    assert suggested_for(asking) == ()
    assert why_none(asking, needs) == f"it can be allowed this once only: {why}"


async def test_where_something_can_be_granted_no_excuse_is_made(world: World) -> None:
    for asking in (
        await world.asking("Bash", command="$X notes"),
        await world.asking("Read", file_path="notes/a.md"),
    ):
        assert why_none(asking, needs_of(asking)) == ""
        assert suggested_for(asking)


async def test_a_program_that_a_wrapper_runs_is_offered_by_its_own_words(world: World) -> None:
    assert patterns(await world.for_command("env A=1 npm run test")) == [
        "=env A=1 npm run test", "npm run test", "npm run", "npm",
    ]  # fmt: skip


async def test_that_a_command_deletes_sends_or_runs_a_file_is_said(world: World) -> None:
    assert "deletes files" in (await world.for_command("rm notes/a.md"))[0].covers
    assert "runs a file" in (await world.for_command("python3 src/app.py"))[0].covers
    for each in await world.for_command("curl https://a.example/x"):
        assert "reaches the network" in each.covers


async def test_where_the_cage_has_no_network_nothing_is_said_to_reach_it(world: World) -> None:
    command = "curl https://a.example/x"
    closed = replace(world.policy, cage_network=False)
    opened = replace(world.policy, cage_network=True)
    for policy, words in ((closed, "tries to reach the network, which"), (opened, "reaches the")):
        asking = await asking_about("Bash", world.vault, policy, command=command)
        offered = suggested_for(asking)
        assert offered
        assert all(words in each.covers for each in offered)


async def test_a_tool_is_offered_by_name_and_by_server(world: World) -> None:
    offered = suggested_for(await world.asking("mcp__notes__find", TrustLevel.SANDBOXED, query="x"))
    assert patterns(offered) == ["mcp__notes__find", "mcp__notes__*"]
    assert "those it gets later too" in offered[1].covers
    assert patterns(await world.offered("Strange", x="y")) == ["Strange"]


async def test_a_write_that_a_sandbox_cant_do_is_offered_no_grant(world: World) -> None:
    written = {"file_path": "Blogs/x.md", "content": "x"}
    asking = await world.asking("Write", TrustLevel.SANDBOXED, **written)
    assert isinstance(asking.verdict(), Ask)
    assert suggested_for(asking) == ()
    assert needs_of(asking).parts, "it is no call that can't be granted at all"
    assert await world.offered("Write", **written), "the control"


async def test_a_call_that_does_not_ask_is_offered_nothing(world: World) -> None:
    allowed = await asking_about(
        "Read", world.vault, world.policy, TrustLevel.FULL, file_path="notes/a.md"
    )
    assert suggested_for(allowed) == ()


async def test_where_commands_are_not_confined_no_grant_helps_and_none_is_offered(
    world: World,
) -> None:
    loose = Permissions(confined=False)
    asking = await asking_about(
        "Bash", world.vault, world.policy, permissions=loose, command="git log"
    )
    assert isinstance(asking.verdict(), Ask)
    assert suggested_for(asking) == ()


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "a/b/c/d.md"}),
        ("Read", {"file_path": "link-in"}),
        ("Write", {"file_path": "top [1].md", "content": "x"}),
        ("Grep", {"pattern": "x", "path": "docs"}),
        ("Bash", {"command": "ls notes && wc -l notes/a.md docs/guide.md"}),
        ("Bash", {"command": "rm -r docs"}),
        ("Bash", {"command": "npx tsc -p . && npm test"}),
        ("Bash", {"command": "uv run pytest -q docs | tail -n 3"}),
        ("Bash", {"command": "curl -d @notes/a.md https://a.example/"}),
        ("Bash", {"command": "git fetch origin; gh pr list --state open"}),
        ("Bash", {"command": "npm install left-pad --registry https://r.example"}),
        ("Bash", {"command": "cd docs && python3 x.py; bash ./run.sh"}),
        ("Bash", {"command": "sort notes/a.md > Blogs/sorted.md"}),
        ("Strange", {"x": "y"}),
    ],
)
async def test_each_suggestion_does_what_it_says(
    world: World, tool: str, given: dict[str, Any]
) -> None:
    asking = await world.asking(tool, **given)
    offered = suggested_for(asking)
    assert offered
    for each in offered:
        assert validate(each.kind, each.pattern) is None
        assert asking.allowed_with([(each.kind, each.pattern)]) == each.enough, each
        assert problem_of(each.kind, each.pattern, asking, needs_of(asking)) is None


@pytest.mark.parametrize(
    ("kind", "pattern", "said"),
    [
        (GrantKind.READ, "Blogs/*", None),
        (GrantKind.READ, "B*/x.md", None),
        (GrantKind.READ, "**/*", None),
        (GrantKind.READ, "/**/*", "relative to the vault"),
        (GrantKind.READ, "notes/*", "covers nothing of this call"),
        (GrantKind.WRITE, "Blogs/*", "covers nothing of this call"),
        (GrantKind.READ, ".env", "deny list"),
        (GrantKind.READ, "**/*.pem", "deny list"),
        (GrantKind.READ, "keys/id_ed25519", "deny list"),
        (GrantKind.WRITE, "policies/mine.yaml", "no agent may write"),
        (GrantKind.WRITE, ".claude/settings.json", "deny list"),
        (GrantKind.BASH, "git log", "covers nothing of this call"),
        (GrantKind.BASH, "env", "its first words"),
        (GrantKind.BASH, "python3", "its first words"),
        (GrantKind.BASH, "bash", "its first words"),
        (GrantKind.BASH, "npx", "its first words"),
        (GrantKind.BASH, "uv run", "its first words"),
        (GrantKind.BASH, "python3 -c", "its first words"),
        (GrantKind.BASH, "sudo", "its first words"),
        (GrantKind.TOOL, "Read", "isn't granted as a whole"),
        (GrantKind.TOOL, "Bash", "isn't granted as a whole"),
        (GrantKind.TOOL, "AskUserQuestion", "isn't granted as a whole"),
        (GrantKind.TOOL, "Strange", "covers nothing of this call"),
    ],
)
async def test_an_own_pattern_is_never_broader_than_what_the_level_and_the_lists_allow(
    world: World, kind: GrantKind, pattern: str, said: str | None
) -> None:
    asking = await world.asking("Read", file_path="Blogs/x.md")
    problem = problem_of(kind, pattern, asking, needs_of(asking))
    assert (problem is None) if said is None else (problem is not None and said in problem)


async def test_a_tool_that_the_level_does_not_have_can_not_be_granted(world: World) -> None:
    asking = await world.asking("mcp__notes__find", TrustLevel.SANDBOXED, query="x")
    problem = problem_of(GrantKind.TOOL, "WebFetch:example.org", asking, needs_of(asking))
    assert problem is not None
    assert "has no tools for web" in problem
