"""The tour's world: fresh secrets, links to them, and a supervisor that is told of nothing else."""

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.cli.tour.claims import Act, Claim
from supervisor.cli.tour.host import environment
from supervisor.cli.tour.teller import Teller
from supervisor.cli.tour.witness import (
    Left,
    decoy_process,
    environments_with,
    files_with,
    instance_of,
    processes_with,
)
from supervisor.cli.tour.world import World, persons_files, readable_here, tour_world
from supervisor.errors import TrustfloorError

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "sample-vault"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("read @VAULT@/a and @OUTSIDE@\n")
    with tour_world(SAMPLE, scenario) as made:
        yield made


def test_every_secret_can_be_read_from_outside_under_each_of_its_names(world: World) -> None:
    readable = readable_here(world)
    assert all(readable.values())
    assert len(readable) == len(world.secrets) + 2


def test_two_worlds_have_no_secret_in_common(world: World, tmp_path: Path) -> None:
    with tour_world(SAMPLE, world.scenario) as other:
        assert not set(world.secrets.values()) & set(other.secrets.values())
        assert world.key != other.key


def test_the_sample_vault_has_no_secret_that_is_not_marked_as_a_placeholder(world: World) -> None:
    for name in world.secrets:
        text = (SAMPLE / name).read_text()
        values = [line.partition("=")[2] or line for line in text.splitlines()]
        assert all("not-a-real-secret" in value for value in values)
        assert "not-a-real-secret" not in (world.vault / name).read_text()


def test_the_script_speaks_of_this_world_s_folders(world: World) -> None:
    assert world.scenario.read_text() == f"read {world.vault}/a and {world.outside}\n"


def test_the_world_is_gone_after_it(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("")
    with tour_world(SAMPLE, tmp_path / "s.yaml") as world:
        assert world.root.is_dir()
    assert not world.root.exists()


@pytest.mark.parametrize("change", ["touched", "added", "removed", "mode"])
def test_every_kind_of_change_to_the_person_s_files_shows(world: World, change: str) -> None:
    before = persons_files(world.vault)
    (world.vault / "Chat").mkdir()
    (world.vault / "Chat" / "sessions.db").write_text("the supervisor's")
    assert persons_files(world.vault) == before
    note = world.vault / "notes" / "garden.md"
    match change:
        case "touched":
            note.write_text(note.read_text() + "x")
        case "added":
            (world.vault / "notes" / "new.md").write_text("")
        case "removed":
            note.unlink()
        case "mode":
            note.chmod(0o600)
    assert persons_files(world.vault) != before


def test_the_supervisor_is_told_nothing_of_the_person_s_own_setup(world: World) -> None:
    inherited = {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "the person's",
        "ANTHROPIC_BASE_URL": "http://elsewhere",
        "CLAUDE_CONFIG_DIR": "/home/ada/.claude",
        "VAULT_PATH": "/home/ada/vault",
        "TRUSTFLOOR_FLOOR": "sandboxed",
        "TRUSTFLOOR_API_KEY": "the person's other",
        "TRUSTFLOOR_RUNNER_IMAGE": "mine:1",
    }
    told = environment(world, inherited)
    assert told["PATH"] == "/bin"
    assert told["TRUSTFLOOR_RUNNER_IMAGE"] == "mine:1"
    assert told["ANTHROPIC_API_KEY"] == world.key
    assert not {"the person's", "the person's other", "sandboxed"} & set(told.values())
    assert not {"ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "VAULT_PATH"} & set(told)


def test_a_marked_process_is_found_while_it_lives() -> None:
    marked = {"MARK": "tour-test-1"}
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=marked,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it has become Python, with its new environment
        assert list(processes_with("MARK=tour-test-1")) == [process.pid]
        assert list(processes_with("MARK=tour-test")) == []
        process.communicate()
    assert list(processes_with("MARK=tour-test-1")) == []


def test_a_search_of_environments_finds_the_decoy_while_it_lives_and_nothing_else() -> None:
    with decoy_process("tour-test-secret-4711") as decoy:
        looked = environments_with("tour-test-secret-4711")
        assert looked.holding == {decoy}
        assert os.getpid() in looked.read
        assert not environments_with("tour-test-secret-4712").holding
    assert not environments_with("tour-test-secret-4711").holding


def test_a_file_with_a_secret_is_found_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "log").write_bytes(b"\xff\x00 before s3cret after")
    (tmp_path / "a" / "clean").write_text("nothing")
    (tmp_path / "link").symlink_to("a/b/log")
    assert files_with(tmp_path, {"it": "s3cret"}) == [os.path.join("a", "b", "log")]  # noqa: PTH118
    assert files_with(tmp_path, {"it": "other"}) == []


def test_the_instance_is_read_without_its_line_break(tmp_path: Path) -> None:
    (tmp_path / "instance").write_text("0123\n")
    assert instance_of(tmp_path) == "0123"


def test_anything_that_is_left_counts() -> None:
    assert Left(0, 0, 0, 0, 0, 0).total == 0
    for place in range(6):
        counts = [0] * 6
        counts[place] = 2
        assert Left(*counts).total == 2


def test_what_an_agent_says_reaches_the_terminal_without_its_control_characters() -> None:
    file = io.StringIO()
    teller = Teller(file)
    teller.act(Act("Bash", {"command": "\x1b[2Jls\nb \u202e"}, None, failed=False))
    teller.message("\x1b]0;title\x07", "new")
    teller.claim(Claim("it \x1b[31mholds", held=True, evidence="\x9b2J"))
    told = file.getvalue()
    assert not any(c in told for c in "\x1b\x07\x9b\u202e")
    assert "held" in told
    assert re.search(r"Bash: a script\n +\S*ls\n +b ", told)


def test_a_command_of_many_lines_is_shown_line_by_line_and_a_very_long_one_is_cut() -> None:
    file = io.StringIO()
    teller = Teller(file)
    command = "if true\nthen\n  ls\nfi"
    teller.act(Act("Bash", {"command": command, "description": "Look"}, None, failed=False))
    teller.act(Act("Bash", {"command": "\n".join(map(str, range(40)))}, None, failed=False))
    told = file.getvalue()
    assert "agent    Bash: Look\n            if true\n            then\n              ls\n" in told
    assert "… and 24 more lines" in told
    assert "⏎" not in told


def test_what_keeps_the_tour_from_starting_is_told_once_with_what_to_do() -> None:
    file = io.StringIO()
    Teller(file).failure(TrustfloorError("no image", where="there", remedy="run scripts/images"))
    assert file.getvalue() == "error: no image\n  where: there\n  what to do: run scripts/images\n"
