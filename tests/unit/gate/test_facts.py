"""What the file system says, in real folders: links, `..`, hard links, other spellings."""

from pathlib import Path

import pytest

from supervisor.gate.facts import fetch_facts
from supervisor.gate.policy_files import PolicySource
from supervisor.policy.call import Allow, Ask, Deny, PathFact
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import SHIPPED, call, make_vault, shipped_policy, verdict_on

POLICY = shipped_policy()
FULL, VAULT, SANDBOXED = TrustLevel.FULL, TrustLevel.VAULT, TrustLevel.SANDBOXED


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return make_vault(tmp_path)


async def fact(vault: Path, path: str, *, cwd: str = "", level: TrustLevel = VAULT) -> PathFact:
    made = call("Read", level, str(vault), cwd=cwd, file_path=path)
    facts = await fetch_facts(made, POLICY, str(vault))
    assert len(facts.paths) == 1
    return facts.paths[0]


@pytest.mark.parametrize(
    "path",
    [
        "link-out/plan.md", "dangling", "notes/up/outside/plan.md", "../outside/plan.md",
        "notes/../../outside/plan.md", "../vault-evil/x.md", "/etc/hosts", "//etc/hosts",
        "/proc/self/root/etc/hosts", "/proc/1/root/etc/hosts", "/proc/thread-self/root/etc/hosts",
        "/proc/self/cwd/../outside/plan.md", "~/x", "~root/x", "~nobody/x", "/dev/fd/3",
        "notes/..\\..\\..\\outside", "\\\\server\\share", "%2e%2e/outside", "file:///etc/hosts",
        "notes/up/../outside/plan.md", " /etc/hosts",
    ],
)  # fmt: skip
async def test_a_path_that_leads_out_is_not_inside(vault: Path, path: str) -> None:
    assert not (await fact(vault, path)).inside
    assert isinstance(await verdict_on("Read", VAULT, vault, POLICY, file_path=path), Deny)


@pytest.mark.parametrize(
    "path",
    [
        "notes/a.md", "./notes/a.md", "notes/../notes/a.md", "link-in", "linked-notes/a.md",
        "notes/new/deep/file.md", "foo..bar.md", "...md", "notes/Café.md", "notes/Cafe\u0301.md",
        "$HOME/x.md", "notes/~/x.md", "a\\b.md", "100%.md", "notes/a.md/",
    ],
)  # fmt: skip
async def test_a_path_that_stays_is_inside(vault: Path, path: str) -> None:
    assert (await fact(vault, path)).inside
    assert isinstance(await verdict_on("Read", VAULT, vault, POLICY, file_path=path), Allow)


async def test_the_whole_vault_and_an_absolute_path_in_it_are_inside(vault: Path) -> None:
    assert (await fact(vault, str(vault))).is_directory
    assert (await fact(vault, str(vault))).inside
    assert (await fact(vault, f"{vault}/notes/a.md")).names == ("notes/a.md",)
    assert (await fact(vault, f"{vault}/../{vault.name}/notes/a.md")).inside


async def test_a_relative_path_starts_at_the_working_directory(vault: Path) -> None:
    assert (await fact(vault, "a.md", cwd="notes")).names == ("notes/a.md",)
    assert (await fact(vault, "../src/app.py", cwd="notes")).names == ("src/app.py",)
    assert not (await fact(vault, "../../outside", cwd="notes")).inside


async def test_every_link_on_the_way_is_named(vault: Path) -> None:
    assert (await fact(vault, "chain")).names[:3] == ("chain", "link-to-env", ".env")


async def test_a_linked_folder_is_judged_by_its_target(vault: Path) -> None:
    (vault / "innocent").symlink_to("keys")
    assert "keys/id_ed25519" in (await fact(vault, "innocent/id_ed25519")).names


async def test_a_hard_link_has_all_its_names_inside_the_vault(vault: Path) -> None:
    assert set((await fact(vault, "notes/innocent.md")).names) == {"notes/innocent.md", ".env"}
    assert (await fact(vault, "notes/a.md")).names == ("notes/a.md",)


async def test_hard_links_in_a_vault_too_large_to_walk_are_left_to_a_person(vault: Path) -> None:
    made = call("Read", VAULT, str(vault), file_path="notes/innocent.md")
    facts = await fetch_facts(made, POLICY, str(vault), most_entries=2)
    assert facts.paths[0].doubt is not None


@pytest.mark.parametrize(
    "path",
    ["a\0b", "loop", "loop/x", "x" * 5000, "x/" * 3000, "a" * 300, "\ud800", ""],
    ids=["nul", "loop", "below-loop", "long", "deep", "long-name", "surrogate", "empty"],
)
async def test_what_can_mean_no_file_is_a_problem_and_denied(vault: Path, path: str) -> None:
    assert (await fact(vault, path)).problem is not None
    assert isinstance(await verdict_on("Read", VAULT, vault, POLICY, file_path=path), Deny)


async def test_a_pipe_is_left_to_a_person(vault: Path) -> None:
    assert isinstance(await verdict_on("Read", VAULT, vault, POLICY, file_path="fifo"), Ask)


@pytest.mark.parametrize(
    "path",
    ["/proc/self/root{vault}/.env", "/proc/self/cwd/.env", "/proc/1/task/1/root{vault}/.env"],
)
async def test_proc_links_are_taken_as_the_agent_process_sees_them(vault: Path, path: str) -> None:
    named = path.replace("{vault}", str(vault))
    assert ".env" in (await fact(vault, named, level=FULL)).names


async def test_a_detour_through_proc_in_a_link_is_followed(vault: Path) -> None:
    (vault / "detour").symlink_to(f"/proc/self/root{vault}/.env")
    assert ".env" in (await fact(vault, "detour")).names


async def test_dots_are_judged_both_as_text_and_as_the_kernel_takes_them(vault: Path) -> None:
    # As text this is `plan.md` in the vault; for the kernel it lies beside the link's target.
    found = await fact(vault, "link-out/../plan.md")
    assert "plan.md" in found.names
    assert not found.inside


@pytest.mark.parametrize(
    ("input", "expected"),
    [
        ({"pattern": "x"}, Ask),
        ({"pattern": "x", "path": "keys"}, Ask),
        ({"pattern": "x", "glob": "*env*"}, Ask),
        ({"pattern": "x", "path": "notes"}, Ask),  # a hard link to .env lies in it
        ({"pattern": "x", "path": "docs"}, Allow),
        ({"pattern": "x", "path": "repo"}, Allow),  # Grep leaves .git out
        ({"pattern": "x", "path": "repo/.git"}, Ask),
        ({"pattern": "x", "glob": "*.py"}, Allow),
        ({"pattern": "x", "type": "py"}, Allow),
        ({"pattern": "x", "path": "docs", "glob": "*.md"}, Allow),
        ({"pattern": "x", "glob": ".env"}, Deny),
        ({"pattern": "x", "glob": "*.md,{.env,.env.local}"}, Deny),
        ({"pattern": "x", "glob": "/etc/*"}, Deny),
        ({"pattern": "x", "path": "link-out"}, Deny),
        ({"pattern": "x", "path": ".env"}, Deny),
        ({"pattern": "x", "path": "notes/../.."}, Deny),
    ],
)
async def test_a_content_search_is_judged_by_what_it_would_read(
    vault: Path, input: dict[str, str], expected: type
) -> None:
    assert isinstance(await verdict_on("Grep", VAULT, vault, POLICY, **input), expected)


@pytest.mark.parametrize(
    ("input", "expected"),
    [
        ({"pattern": "**/*"}, Allow),
        ({"pattern": "../docs/*.md", "path": "notes"}, Allow),
        ({"pattern": "/etc/*"}, Deny),
        ({"pattern": "{/etc,src}/*"}, Deny),
        ({"pattern": "~/*"}, Deny),
        ({"pattern": "notes/../../*"}, Deny),
        ({"pattern": "*", "path": "link-out"}, Deny),
        ({"pattern": "link-out/*"}, Deny),
        ({"pattern": "**/.env*"}, Deny),
    ],
)
async def test_a_search_for_names_is_judged_by_where_it_looks(
    vault: Path, input: dict[str, str], expected: type
) -> None:
    assert isinstance(await verdict_on("Glob", VAULT, vault, POLICY, **input), expected)


async def test_a_folder_too_large_to_scan_is_taken_as_holding_denied_files(vault: Path) -> None:
    made = call("Grep", VAULT, str(vault), pattern="x", path="docs")
    small = await fetch_facts(made, POLICY, str(vault), most_entries=0)
    assert small.paths[0].holds_denied
    assert not (await fetch_facts(made, POLICY, str(vault))).paths[0].holds_denied


async def test_a_new_denied_file_counts_from_the_next_call_on(vault: Path) -> None:
    assert isinstance(await verdict_on("Grep", FULL, vault, POLICY, pattern="x", path="src"), Allow)
    (vault / "src" / ".env").write_text("A=fake\n")
    assert isinstance(await verdict_on("Grep", FULL, vault, POLICY, pattern="x", path="src"), Ask)


@pytest.mark.parametrize(
    ("named", "names"),
    [
        ("/vault/notes/a.md", ("notes/a.md",)),
        ("notes/a.md", ("notes/a.md",)),
        ("/vault/../etc/hosts", ("/etc/hosts",)),
        ("/proc/self/root/vault/.env", (".env",)),
        ("/vaultx/a", ("/vaultx/a",)),
    ],
)
async def test_in_a_container_the_path_is_read_as_text_and_the_host_is_not_looked_at(
    tmp_path: Path, named: str, names: tuple[str, ...]
) -> None:
    made = call("Read", SANDBOXED, "/vault", file_path=named)
    facts = await fetch_facts(made, POLICY, str(tmp_path / "there-is-no-such-vault"))
    assert facts.paths[0].names == names


async def test_the_supervisors_own_folders_are_out_of_reach(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    data = tmp_path / "data [1] Größe"
    data.mkdir()
    (data / "token").write_text("fake")
    policy = PolicySource(SHIPPED, own=[data]).current
    for level in (FULL, VAULT):
        for tool in ("Read", "Write"):
            verdict = await verdict_on(tool, level, vault, policy, file_path=str(data / "token"))
            assert isinstance(verdict, Deny)
            assert verdict.rule == "own-folders"
    written = await verdict_on("Write", FULL, vault, policy, file_path=str(SHIPPED / "x.yaml"))
    assert isinstance(written, Deny)
    read = await verdict_on("Read", FULL, vault, policy, file_path=str(SHIPPED / "default.yaml"))
    assert isinstance(read, Allow)


async def test_case_does_not_make_another_denied_name(vault: Path) -> None:
    (vault / ".env").rename(vault / ".Env")
    assert isinstance(await verdict_on("Read", FULL, vault, POLICY, file_path=".Env"), Deny)


async def test_what_an_mcp_tool_is_given_as_a_path_outside_is_left_to_a_person(vault: Path) -> None:
    verdict = await verdict_on("mcp__fs__read", VAULT, vault, POLICY, path="/etc/hosts")
    assert isinstance(verdict, Ask)
    inside = await verdict_on("mcp__fs__read", VAULT, vault, POLICY, paths=["notes/a.md"])
    assert isinstance(inside, Allow)
    prose = await verdict_on("mcp__fs__find", VAULT, vault, POLICY, query="what does .env mean")
    assert isinstance(prose, Allow)
