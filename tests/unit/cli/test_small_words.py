"""What commands say in passing: numbers, last questions, tables, and calls that make no sense."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from supervisor.cli import stats
from supervisor.cli.be_sure import be_sure
from supervisor.cli.counted import counted
from supervisor.cli.main import app


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (counted(0, "message"), "0 messages"),
        (counted(1, "message"), "1 message"),
        (counted(1_200, "message"), "1,200 messages"),
        (counted(2, "sandbox", "sandboxes"), "2 sandboxes"),
    ],
)
def test_one_thing_is_not_told_as_several(said: str, text: str) -> None:
    assert said == text


def test_a_last_question_that_nobody_answers_says_what_else_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(typer.Exit) as ended:
        be_sure("Delete it for good?")
    assert ended.value.exit_code == 1
    said = capsys.readouterr()
    assert "Delete it for good? [y/N]: \n" in said.out
    assert "nobody said yes" in said.err
    assert "--yes" in said.err


def test_a_last_question_takes_a_yes_from_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    be_sure("Delete it for good?")


def test_the_table_of_days_fits_into_eighty_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    day = {"day": "2026-05-01", "turns": {"done": 12_345}, "tokens": 12_345_678, "costUsd": 1234.5}
    found: dict[str, Any] = {
        "sessions": {"active": 1, "archived": 0, "running": 0},
        "waiting": {"permissions": 1, "questions": 0},
        "grants": 2,
        "spentByModel": {"default": {"sessions": 1, "tokens": 10, "costUsd": 0.0}},
        "days": [day],
    }
    monkeypatch.setattr(stats, "answered", lambda *_: found)
    stats.stats()
    first, model, _, *table = capsys.readouterr().out.splitlines()
    assert first.startswith("1 session, 0 put away, 0 with a turn now; waiting: 1 permission and 0")
    assert model.startswith("default: 1 session, ")
    assert max(map(len, table)) < 80
    assert "12,345,678" in table[1]


def explained(vault: Path, *words: str) -> str:
    environment = {"TRUSTFLOOR_VAULT": str(vault), "COLUMNS": "200"}
    return CliRunner().invoke(app, ["policy", "explain", *words], env=environment).output


def test_a_call_that_makes_no_sense_is_told_as_an_error(tmp_path: Path) -> None:
    assert explained(tmp_path, "mcp__notes__find", "x").startswith("error: the input of this tool")
    said = explained(tmp_path, "Bash", "ls", "--vault", str(tmp_path / "none"))
    assert said.startswith("error: the vault is not a folder")


def test_what_a_sub_agent_is_told_can_be_given_as_it_is(tmp_path: Path) -> None:
    assert explained(tmp_path, "Task", "look at the notes").startswith("allow\n")


def test_an_effect_of_no_program_is_told_by_its_reason_alone(tmp_path: Path) -> None:
    assert "  unknown: the shell's text is malformed" in explained(tmp_path, "Bash", "if [")
