"""`trustfloor audit`: what it says of a whole log and of a damaged one, and what it hands on."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from supervisor.cli.main import app
from supervisor.observability.audit import AuditLog, Rotation
from supervisor.observability.audit_files import base_path, key_path
from tests.worlds.audit import NAME, LogCopy


def audit(data: Path, *words: str) -> Result:
    return CliRunner().invoke(
        app, ["audit", *words], env={"TRUSTFLOOR_DATA_DIR": str(data), "COLUMNS": "200"}
    )


@pytest.fixture
async def log(tmp_path: Path) -> LogCopy:
    path = tmp_path / "data" / NAME
    async with AuditLog(path, rotation=Rotation(1_500)) as log:
        for number in range(6):
            body = {"tool": "=cmd()", "verdict": "allow", "rule": f"r{number % 2}", "x": "\x1b[2J"}
            await log.append("decision", f"s{number % 3}", f"t{number}", body)
        await log.append("kill", None, None, {"what": "turn"})
    return LogCopy(path)


async def test_a_whole_log_is_told_with_its_head_and_the_head_is_an_anchor(log: LogCopy) -> None:
    data = log.path.parent
    said = audit(data, "verify")
    assert said.exit_code == 0, said.output
    assert "signed with the key" in said.stdout
    head = said.stdout.split("head ")[1].strip()
    assert audit(data, "verify", "--anchor", head).exit_code == 0
    n, _, digest = head.partition(":")
    other = audit(data, "verify", "--anchor", f"{n}:{'0' * len(digest)}")
    assert other.exit_code == 1
    assert "anchor" in other.stderr
    assert audit(data, "verify", "--anchor", "7").exit_code == 2


async def test_the_first_thing_that_is_wrong_is_told_by_file_and_line(log: LogCopy) -> None:
    lines = log.lines(1)
    lines[1] = lines[1].replace(b"allow", b"deny!")
    log.put(1, lines)
    said = audit(log.path.parent, "verify")
    assert said.exit_code == 1
    assert f"{log.files[1].name}, line 2" in said.stderr
    assert "edited" in said.stderr
    told = json.loads(audit(log.path.parent, "verify", "--json").stdout)
    assert (told["whole"], told["bad"]["line"], told["bad"]["kind"]) == (False, 2, "edited")


async def test_without_the_key_it_is_said_that_only_hashes_were_checked(log: LogCopy) -> None:
    key_path(log.path).rename(log.path.with_name("elsewhere"))
    said = audit(log.path.parent, "verify")
    assert said.exit_code == 1
    assert "key can't be read" in said.stderr
    given = audit(log.path.parent, "verify", "--key", str(log.path.with_name("elsewhere")))
    assert given.exit_code == 0


async def test_damage_that_a_start_found_is_told_until_it_is_known(log: LogCopy) -> None:
    log.path.with_name(NAME + ".head").unlink()
    async with AuditLog(log.path):
        pass
    said = audit(log.path.parent, "verify")
    assert said.exit_code == 1
    noted = json.loads(audit(log.path.parent, "verify", "--json").stdout)["noted"][0]["n"]
    assert audit(log.path.parent, "verify", "--known", str(noted)).exit_code == 0


@pytest.mark.parametrize("command", [("verify",), ("show",), ("export",), ("archive", "x")])
def test_a_log_that_is_nowhere_is_no_whole_one(tmp_path: Path, command: tuple[str, ...]) -> None:
    for data, more in (
        (tmp_path / "none", ()),
        (tmp_path, ("--log", str(tmp_path / "typo.jsonl"))),
    ):
        said = audit(data, *command, *more)
        assert (said.exit_code, "there is no audit log" in said.stderr) == (2, True), said.output
    fresh = audit(tmp_path, "verify")  # control: a supervisor's first start is still to come
    assert (fresh.exit_code, fresh.stdout) == (0, "there is no entry yet\n")


async def test_a_log_whose_open_file_is_gone_is_damaged_and_not_nowhere(log: LogCopy) -> None:
    log.path.unlink()
    said = audit(log.path.parent, "verify", "--log", str(log.path))
    assert said.exit_code == 1
    assert "there is no audit log" not in said.output


async def test_entries_are_shown_by_filter_the_last_one_last_and_obey_no_terminal(
    log: LogCopy,
) -> None:
    data = log.path.parent
    said = audit(data, "show", "--kind", "decision", "--rule", "r1", "--since", "1h")
    assert said.exit_code == 0
    assert [line.split("[session ")[1][:2] for line in said.stdout.splitlines()] == [
        "s1", "s0", "s2",
    ]  # fmt: skip
    assert "\x1b[2J" not in said.stdout
    for command in ("show", "export"):
        unknown = audit(data, command, "--kind", "decisions")
        assert unknown.exit_code == 2
        assert "incident" in unknown.output
        assert "did you mean `decision`?" in unknown.output
    assert audit(data, "show", "--kind", "policy").stdout == "no entries\n"
    assert audit(data, "show", "--kind", "policy", "--json").stdout == ""
    last = audit(data, "show", "--limit", "1", "--json")
    assert json.loads(last.stdout)["kind"] == "kill"
    of_one = audit(data, "show", "--session", "s2", "--json")
    assert {json.loads(line)["session_id"] for line in of_one.stdout.splitlines()} == {"s2"}


async def test_the_beginning_of_an_id_shows_its_session_and_of_several_names_them(
    log: LogCopy,
) -> None:
    data = log.path.parent
    several = audit(data, "show", "--session", "s")
    assert (several.exit_code, several.stdout) == (1, "")
    assert "the ids of several sessions begin so: s0, s1, s2" in several.stderr
    export = audit(data, "export", "--session", "s2")
    assert (export.exit_code, export.stdout) == (2, "")
    assert "whole id" in export.stderr


async def test_an_export_is_checked_by_somebody_who_has_nothing_else(
    log: LogCopy, tmp_path: Path
) -> None:
    data, elsewhere = log.path.parent, tmp_path / "elsewhere"
    elsewhere.mkdir()
    exported = audit(data, "export")
    assert exported.stdout.encode() == b"".join(file.read_bytes() for file in log.files)
    for name, text in (
        ("out.jsonl", exported.stdout),
        ("out.csv", audit(data, "export", "--csv").stdout),
    ):
        (elsewhere / name).write_text(text, newline="")
        said = audit(tmp_path / "no data folder", "verify", str(elsewhere / name))
        assert said.exit_code == 0, said.output
        assert "signatures were not checked" in said.stdout
        changed = text.replace("allow", "deny!", 1).replace("allow", "deny!", 1)
        (elsewhere / name).write_text(changed, newline="")
        assert audit(elsewhere, "verify", str(elsewhere / name)).exit_code == 1


async def test_no_cell_of_a_table_is_a_formula(log: LogCopy) -> None:
    rows = list(csv.DictReader(audit(log.path.parent, "export", "--csv").stdout.splitlines()))
    assert {row["tool"] for row in rows} == {"'=cmd()", ""}
    assert len(rows) == len(log.entries())


async def test_an_export_ends_where_the_log_is_damaged_and_says_so(log: LogCopy) -> None:
    lines = log.lines(1)
    log.put(1, lines[1:])
    said = audit(log.path.parent, "export")
    assert said.exit_code == 1
    assert said.stdout.encode() == log.files[0].read_bytes()
    assert "missing" in said.stderr


async def test_full_files_that_were_moved_away_leave_a_log_that_is_whole(
    log: LogCopy, tmp_path: Path
) -> None:
    data, attic = log.path.parent, tmp_path / "attic"
    full = [file.name for file in log.files[:-1]]
    said = audit(data, "archive", str(attic))
    assert said.exit_code == 0, said.output
    assert [file.name for file in log.files] == [NAME]
    assert audit(data, "verify").exit_code == 0
    key = key_path(log.path)
    for name in full:
        moved = audit(data, "verify", str(attic / name), "--key", str(key))
        assert moved.exit_code == 0, moved.output
        assert "signed with the key" in moved.stdout
    async with AuditLog(log.path) as again:
        await again.append("decision", None, None, {})
    assert audit(data, "verify").exit_code == 0
    # The control: what stays, without the word that they were moved, lacks its beginning.
    base = base_path(log.path).read_text()
    base_path(log.path).unlink()
    assert audit(data, "verify").exit_code == 1
    forged = json.loads(base) | {"hash": "0" * 64}
    base_path(log.path).write_text(json.dumps(forged))
    assert audit(data, "verify").exit_code == 1


async def test_a_damaged_log_is_not_taken_apart(log: LogCopy, tmp_path: Path) -> None:
    log.put(0, log.lines(0)[1:])
    said = audit(log.path.parent, "archive", str(tmp_path / "attic"))
    assert said.exit_code == 2
    assert len(log.files) > 1
