"""`trustfloor policy` as a process: what it says, and how it ends."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.decisions import UNTRUSTED, Log
from tests.worlds.forked import PIPE, end_of, trustfloor
from tests.worlds.policy_world import SHIPPED, make_vault, shipped_policy
from tests.worlds.server import environment


class Said:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err
        assert "Traceback" not in err

    def json(self) -> Any:
        return json.loads(self.out)


async def policy(folder: Path, *arguments: str, **settings: str) -> Said:
    process = await trustfloor(
        *("policy", *arguments), env=environment(folder, settings), stderr=PIPE
    )
    return Said(*await end_of(process))


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    folder = tmp_path / "policies"
    folder.mkdir()
    shutil.copy(SHIPPED / "default.yaml", folder)
    return folder


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return make_vault(tmp_path)


class TestCheck:
    async def test_the_shipped_files_are_well_and_told_by_hash_and_number(
        self, tmp_path: Path
    ) -> None:
        said = await policy(tmp_path, "check")
        assert (said.status, said.err) == (0, "")
        assert f"hash {shipped_policy().hash}" in said.out
        assert " rules in 1 file" in said.out

    async def test_each_file_with_a_mistake_is_told_with_its_place(
        self, tmp_path: Path, policies: Path
    ) -> None:
        (policies / "a.yaml").write_text("version: 1\ndney: []\n")
        (policies / "b.yaml").write_text("version: 1\ntools: {levels: {vault: {web: aks}}}\n")
        said = await policy(tmp_path, "check", str(policies))
        assert said.status == 1
        assert f"{policies}/a.yaml:2:1 dney: expected one of version, deny" in said.err
        assert "did you mean `deny`?" in said.err
        assert f"{policies}/b.yaml:2:31 tools.levels.vault.web: expected one of" in said.err

    async def test_one_file_is_laid_over_the_folders(self, tmp_path: Path, policies: Path) -> None:
        site = tmp_path / "candidate.yaml"
        site.write_text("version: 1\nbudgets: {turn: {tokens: 5}}\n")
        said = await policy(tmp_path, "check", str(site), TRUSTFLOOR_POLICIES=str(policies))
        assert said.status == 0
        assert str(site) in said.out

    async def test_an_example_that_does_not_hold_is_a_mistake_of_its_rule(
        self, tmp_path: Path, policies: Path
    ) -> None:
        (policies / "site.yaml").write_text(
            "version: 1\ndeny:\n  - id: payroll\n    reason: not yours\n"
            "    names: [payroll.xlsx]\n    examples: {deny: [payroll.csv]}\n"
        )
        said = await policy(tmp_path, "check", str(policies))
        assert said.status == 1
        place = f"{policies}/site.yaml:6:23 deny[0].examples.deny[0]"
        assert f"{place}: payroll doesn't deny 'payroll.csv'" in said.err

    async def test_switching_off_a_rule_that_is_not_there_is_told_with_the_nearest(
        self, tmp_path: Path, policies: Path
    ) -> None:
        (policies / "site.yaml").write_text(
            "version: 1\ndeny:\n  - {id: privat-keys, reason: not here}\n"
        )
        said = await policy(tmp_path, "check", str(policies))
        assert said.status == 1
        assert f"{policies}/site.yaml:3:10 deny[0].id: expected the id of a rule" in said.err
        assert "did you mean `private-keys`?" in said.err

    async def test_as_json_it_is_told_whole_whether_well_or_not(
        self, tmp_path: Path, policies: Path
    ) -> None:
        said = await policy(tmp_path, "check", "--json")
        told = json.loads(said.out)
        assert (said.status, said.err) == (0, "")
        assert (told["ok"], told["hash"]) == (True, shipped_policy().hash)
        (policies / "a.yaml").write_text("version: 1\ndney: []\n")
        said = await policy(tmp_path, "check", "--json", str(policies))
        assert (said.status, said.err) == (1, "")
        (fault,) = json.loads(said.out)["faults"]
        assert (fault["file"], fault["line"], fault["column"]) == (f"{policies}/a.yaml", 2, 1)
        said = await policy(tmp_path, "check", "--json", str(tmp_path / "nowhere"))
        assert json.loads(said.out)["ok"] is False

    @pytest.mark.parametrize("path", ["nowhere", "empty"])
    async def test_what_is_not_there_is_told(self, tmp_path: Path, path: str) -> None:
        (tmp_path / "empty").mkdir()
        said = await policy(tmp_path, "check", str(tmp_path / path))
        assert said.status == 1
        assert str(tmp_path / path) in said.err


async def test_show_lists_each_rule_with_its_line_and_what_is_built_in(
    tmp_path: Path, policies: Path
) -> None:
    (policies / "site.yaml").write_text(
        "version: 1\ndeny:\n  - {id: payroll, reason: not yours, names: [payroll.xlsx]}\n"
    )
    said = await policy(tmp_path, "show", "--policies", str(policies))
    assert said.status == 0
    assert "deny payroll (line 3): not yours" in said.out
    assert "own-databases" in said.out
    listed = (await policy(tmp_path, "show", "--json", "--policies", str(policies))).json()
    fields = {"id", "kind", "reason", "where", "off", "overrides"}
    assert fields == listed["rules"][0].keys()
    assert any(rule["where"].startswith(f"{policies}/site.yaml:3:") for rule in listed["rules"])


async def test_show_tells_which_rules_are_off_and_which_are_replaced_and_by_what(
    tmp_path: Path, policies: Path
) -> None:
    site = policies / "site.yaml"
    site.write_text(
        "version: 1\ndeny:\n  - {id: env-files, reason: not for us}\n"
        "  - {id: private-keys, reason: ours, names: [id_rsa]}\n"
    )
    said = await policy(tmp_path, "show", "--policies", str(policies))
    default = (policies / "default.yaml").read_text().splitlines()
    env = default.index("  - id: env-files") + 1
    keys = default.index("  - id: private-keys") + 1
    lines = [line.strip() for line in said.out.splitlines()]
    assert f"deny env-files (line {env}): off (by {site}:3)" in lines
    assert f"deny private-keys (line {keys}): replaced (by {site}:4)" in lines
    shipped = f"{policies}/default.yaml"
    assert f"deny env-files (line 3): not for us (switches off {shipped}:{env})" in lines
    assert f"deny private-keys (line 4): ours (in place of {shipped}:{keys})" in lines
    listed = (await policy(tmp_path, "show", "--json", "--policies", str(policies))).json()
    off = {rule["id"]: rule for rule in listed["rules"] if rule["off"]}
    assert list(off) == ["env-files"]
    assert off["env-files"]["overrides"][0].startswith(f"{shipped}:{env}:")


class TestTest:
    async def test_the_shipped_examples_hold(self, tmp_path: Path) -> None:
        said = await policy(tmp_path, "test")
        assert (said.status, said.err) == (0, "")
        held, of = said.out.split()[1], said.out.split()[3]
        assert held == of
        assert int(of) > 100

    async def test_cases_are_counted_and_those_that_are_wrong_named(self, tmp_path: Path) -> None:
        cases = tmp_path / "cases.jsonl"
        nothing = {"trust_mode": False, "read": ["**/*"], "write": [], "bash": ["ls"]}
        entries = [
            {"id": "1", "tool": "Read", "input": {"file_path": "notes/a.md"}, "want": "allow"},
            {"id": "2", "tool": "Read", "input": {"file_path": "VAULT/.env"}, "want": "deny"},
            {"id": "3", "tool": "Bash", "input": {"command": "touch ran-it"}, "want": "ask"},
            {"id": "4", "tool": "Bash", "input": {"command": "sudo ls"}, "want": "allow"},
        ]
        common = {"cwd": "", "trust": "vault", "permissions": nothing, "layout": "a"}
        cases.write_text("\n".join(json.dumps({**common, **each}) for each in entries) + "\n")
        said = await policy(tmp_path, "test", "--cases", str(cases), "--json")
        assert said.status == 1
        found = said.json()
        assert found["deny"] == {"n": 1, "right": 1}
        assert found["ask"] == {"n": 1, "right": 1}
        assert found["allow"] == {"n": 2, "right": 1}
        (wrong,) = found["wrong"]
        assert (wrong["id"], wrong["got"]) == ("4", "deny")
        assert list(found) == ["deny", "ask", "allow", "wrong"]
        assert list(wrong) == ["id", "got", "rule"]

        cases.write_text("\n".join(json.dumps({**common, **each}) for each in entries[:3]) + "\n")
        own = tmp_path / "own"
        (own / "notes").mkdir(parents=True)
        (own / "notes" / "a.md").write_text("x")
        arguments = ("--cases", str(cases), "--vault", str(own))
        assert (await policy(tmp_path, "test", *arguments)).status == 0
        assert [each.name for each in own.iterdir()] == ["notes"]

    async def test_cases_that_can_not_be_read_are_told_with_their_line(
        self, tmp_path: Path
    ) -> None:
        cases = tmp_path / "cases.jsonl"
        cases.write_text('\n{"id": 1}\n')
        said = await policy(tmp_path, "test", "--cases", str(cases))
        assert said.status == 2
        assert f"{cases}:2 tool: expected the key `tool`" in said.err
        assert (await policy(tmp_path, "test", "--cases", str(tmp_path / "no"))).status == 2


class TestExplain:
    async def test_a_command_is_told_with_its_effects_their_places_and_the_rule(
        self, tmp_path: Path, vault: Path
    ) -> None:
        command = "cd notes && cat ../link-to-env > copy.txt"
        said = await policy(
            tmp_path, "explain", "Bash", command, "--trust", "vault", "--vault", str(vault)
        )
        assert said.status == 0
        assert said.out.startswith("deny\n")
        assert "rule env-files" in said.out
        assert "default.yaml:" in said.out
        assert "reads" in said.out
        assert "writes" in said.out
        for part in ("cat ../link", "> copy.txt"):
            assert f"      {command}\n      {' ' * command.index(part)}^" in said.out
        assert ".env" in said.out
        assert "fake-not-a-secret" not in said.out

    async def test_json_is_what_the_api_gives(self, tmp_path: Path, vault: Path) -> None:
        said = await policy(
            *(tmp_path, "explain", "Bash", "git log | sh", "--json", "--vault", str(vault)),
            *("--permissions", '{"trust_mode": false, "bash": ["git"]}'),
        )
        found = said.json()
        assert found["verdict"] == "ask"
        first = found["commands"][0]
        assert first["words"] == ["git", "log"]
        assert "git log | sh"[first["start"] : first["end"]] == first["text"]
        assert {"deniedBy", "named"} <= {*found["paths"][0]} if found["paths"] else True

    async def test_what_would_change_the_answer_is_suggested(
        self, tmp_path: Path, vault: Path
    ) -> None:
        said = await policy(
            *(tmp_path, "explain", "Read", "notes/a.md", "--vault", str(vault)),
            *("--permissions", '{"trust_mode": false}'),
        )
        assert said.out.startswith("ask\n")
        assert "read notes/a.md" in said.out
        assert "read notes/*" in said.out

    @pytest.mark.parametrize(
        ("tool", "note"),
        [
            ("Reed", "did you mean `Read`?"),
            ("webfetch", "did you mean `WebFetch`?"),
            ("SomethingElse", "no policy file names the tool `SomethingElse`"),
            ("mcp__notes__read", None),
            ("Read", None),
        ],
    )
    async def test_a_tool_that_no_file_names_is_explained_with_a_note(
        self, tmp_path: Path, vault: Path, tool: str, note: str | None
    ) -> None:
        said = await policy(tmp_path, "explain", tool, "{}", "--vault", str(vault))
        assert said.status == 0
        assert (note in said.out) if note else ("no policy file names" not in said.out)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("mcp__x__y", "no json"), "JSON"),
            (("Read", "{"), "JSON"),
            (("Bash", "ls", "--permissions", '{"trust_mod": 1}'), "did you mean `trust_mode`?"),
            (("bash", "ls"), "did you mean the tool `Bash`?"),
            (("Bash", "ls", "--trust", "none"), "full"),
            (("Bash", "ls", "--vault", "/nowhere/at/all"), "/nowhere/at/all"),
        ],
        ids=str,
    )
    async def test_a_call_that_makes_no_sense_is_refused(
        self, tmp_path: Path, vault: Path, arguments: tuple[str, ...], words: str
    ) -> None:
        given = arguments if "--vault" in arguments else (*arguments, "--vault", str(vault))
        said = await policy(tmp_path, "explain", *given)
        assert said.status == 2
        assert words in said.err

    async def test_nothing_that_a_call_holds_reaches_the_terminal_as_a_command(
        self, tmp_path: Path, vault: Path
    ) -> None:
        said = await policy(
            tmp_path, "explain", "Bash", "cat 'a\x1b[2Jb' \u202e.md", "--vault", str(vault)
        )
        assert "\x1b" not in said.out
        assert "\u202e" not in said.out

    async def test_nothing_is_run(self, tmp_path: Path, vault: Path) -> None:
        before = sorted(str(path) for path in tmp_path.rglob("*"))
        await policy(tmp_path, "explain", "Bash", "touch new-file", "--vault", str(vault))
        assert sorted(str(path) for path in tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("audit")
class TestReplay:
    @pytest.fixture
    async def audit(self, tmp_path: Path, vault: Path) -> Path:
        log = Log(shipped_policy(), vault)
        await log.add("Read", file_path="notes/a.md", times=3, permissions=UNTRUSTED)
        await log.add("Read", file_path="notes/Café.md", permissions=UNTRUSTED)
        await log.add("Read", file_path="docs/guide.md", permissions=None)
        path = tmp_path / "data" / "audit.jsonl"
        await log.write(path)
        return path

    @pytest.fixture
    def candidate(self, tmp_path: Path) -> Path:
        path = tmp_path / "candidate.yaml"
        path.write_text(
            "version: 1\ndeny:\n  - {id: guides, reason: not for agents, paths: [docs]}\n"
        )
        return path

    async def test_it_lists_what_flips_and_the_grants_that_would_have_saved_prompts(
        self, tmp_path: Path, candidate: Path
    ) -> None:
        said = await policy(tmp_path, "replay", "--candidate", str(candidate), "--since", "9999d")
        assert (said.status, said.err) == (0, "")
        assert "allow → deny: 1, by rule guides" in said.out
        assert "docs/guide.md" in said.out
        found = (await policy(tmp_path, "replay", "--candidate", str(candidate), "--json")).json()
        assert found["decided"] == 5
        (flip,) = found["flips"]
        assert (flip["before"], flip["after"], flip["afterRule"]) == ("allow", "deny", "guides")
        assert found["prompts"] == 4
        assert found["savings"] == [
            {
                "prompts": 4,
                "trustLevel": "vault",
                "grants": [{"kind": "read", "pattern": "notes/*"}],
            }
        ]

    async def test_a_folder_stands_in_the_place_of_the_files_in_force(
        self, tmp_path: Path, candidate: Path, policies: Path
    ) -> None:
        broken = tmp_path / "broken"
        broken.mkdir()
        (broken / "a.yaml").write_text("version: 1\ndney: []\n")
        candidate.rename(policies / "site.yaml")
        words = ("replay", "--candidate", str(policies), "--json")
        said = await policy(tmp_path, *words)
        (flip,) = said.json()["flips"]
        assert (flip["before"], flip["after"], flip["afterRule"]) == ("allow", "deny", "guides")
        said = await policy(tmp_path, *words, TRUSTFLOOR_POLICIES=str(broken))
        assert len(said.json()["flips"]) == 1, "those in force aren't looked at"
        (policies / "default.yaml").unlink()
        said = await policy(tmp_path, *words)
        assert said.status == 1
        assert "name no tools or no models" in said.err

    async def test_it_takes_nothing_from_a_log_that_was_changed_on(
        self, tmp_path: Path, audit: Path, candidate: Path
    ) -> None:
        lines = audit.read_bytes().splitlines(keepends=True)
        lines[3] = lines[3].replace(b"notes/a.md", b"notes/b.md")
        audit.write_bytes(b"".join(lines))
        said = await policy(tmp_path, "replay", "--candidate", str(candidate), "--json")
        assert said.status == 1
        assert "line 4" in said.err
        assert said.json()["decided"] == 2
        assert said.json()["brokenAt"] == 4

    async def test_a_moment_in_the_future_leaves_nothing(
        self, tmp_path: Path, candidate: Path
    ) -> None:
        arguments = ("replay", "--candidate", str(candidate), "--json", "--since")
        assert (await policy(tmp_path, *arguments, "2999-01-01")).json()["decided"] == 0
        assert (await policy(tmp_path, *arguments, "1h")).json()["decided"] == 5
        said = await policy(tmp_path, *arguments, "soon")
        assert said.status == 2
        assert "30d" in said.err

    async def test_a_candidate_with_a_mistake_is_told_with_its_place(
        self, tmp_path: Path, candidate: Path
    ) -> None:
        candidate.write_text("version: 1\ndeny: [{id: x}]\n")
        said = await policy(tmp_path, "replay", "--candidate", str(candidate))
        assert said.status == 1
        assert f"{candidate}:2:" in said.err
