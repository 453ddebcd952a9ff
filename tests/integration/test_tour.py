"""The tour as a person runs it: on a real supervisor, engine and agent; and that it can fail."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.engine
SECONDS = 240


def play(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "supervisor", "demo", *options],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.fixture
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A temporary folder of the tour's own, with a path that is short enough for sockets."""
    folder = Path(f"/tmp/tf-{os.getpid()}")
    folder.mkdir()
    yield folder
    folder.rmdir()  # fails if anything is left in it


def lines_with(told: str, word: str) -> list[str]:
    return re.findall(rf"^   {word}\b.*$", told, re.MULTILINE)


@pytest.mark.slow
def test_every_claim_of_the_tour_holds_and_nothing_is_left_behind(temporary: Path) -> None:
    tour = play(TMPDIR=str(temporary))
    assert tour.returncode == 0, tour.stdout + tour.stderr
    last = re.fullmatch(r"tour: (\d+) of (\d+) held, 0 left behind", tour.stdout.splitlines()[-1])
    assert last
    assert last[1] == last[2]
    played = tour.stdout[tour.stdout.index("\n1. ") :]
    assert len(lines_with(played, "held")) == int(last[1])
    assert "\x1b" not in tour.stdout
    assert tour.stderr == ""


def test_a_policy_that_denies_no_file_makes_the_tour_say_so(
    temporary: Path, tmp_path: Path
) -> None:
    shipped = yaml.safe_load((ROOT / "policies" / "default.yaml").read_text(encoding="utf-8"))
    shipped["deny"] = []
    (tmp_path / "default.yaml").write_text(yaml.safe_dump(shipped), encoding="utf-8")
    tour = play("--policies", str(tmp_path), TMPDIR=str(temporary))
    assert tour.returncode == 1
    failed = lines_with(tour.stdout, "NOT HELD")
    assert any("reading every file" in line for line in failed), tour.stdout
    assert any("nothing that the turn told has a secret in it" in line for line in failed)
    assert re.search(r"^tour: \d+ of \d+ held, 0 left behind$", tour.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("setting", "value", "remedy"),
    [
        ("TRUSTFLOOR_ENGINE_SOCKET", "/nowhere/none.sock", "start the engine that listens there"),
        ("TRUSTFLOOR_RUNNER_IMAGE", "trustfloor-test/none:1", "run scripts/images"),
    ],
    ids=["no engine", "no image"],
)
def test_without_a_sandbox_the_tour_says_what_to_do_and_claims_nothing(
    temporary: Path, setting: str, value: str, remedy: str
) -> None:
    tour = play(TMPDIR=str(temporary), **{setting: value})
    assert tour.returncode == 1
    assert "Traceback" not in tour.stdout + tour.stderr
    assert len(re.findall(r"^error: ", tour.stdout, re.MULTILINE)) == 1
    assert value in tour.stdout
    assert f"what to do: {remedy}" in tour.stdout
    claims = tour.stdout.split("error: ")[1]
    assert not re.search(r"^   (held|NOT HELD)\b|^tour: ", claims, re.MULTILINE)


def ended_by(by: signal.Signals, temporary: Path) -> tuple[int, str]:
    """A tour that gets this signal while a turn is about to run: its exit status and last words."""
    with subprocess.Popen(
        [sys.executable, "-m", "supervisor", "demo"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as tour:
        assert tour.stdout is not None
        for line in tour.stdout:
            if line.startswith("   person"):
                tour.send_signal(by)
                break
        return tour.wait(timeout=SECONDS), tour.stdout.read()


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP], ids=str)
def test_a_tour_that_is_ended_from_outside_leaves_nothing_and_says_so(
    by: signal.Signals, temporary: Path
) -> None:
    status, words = ended_by(by, temporary)
    assert status == 128 + by
    assert "what it had started is gone" in words
    assert "Traceback" not in words
    assert not with_folder_in_environment(temporary)
    assert not list(temporary.iterdir())


def test_the_supervisor_of_a_tour_that_is_killed_ends_too(temporary: Path) -> None:
    ended_by(signal.SIGKILL, temporary)
    until = time.monotonic() + SECONDS
    while with_folder_in_environment(temporary):
        assert time.monotonic() < until
        time.sleep(0.1)
    for each in temporary.iterdir():  # nobody is left who could do it
        shutil.rmtree(each)


def with_folder_in_environment(folder: Path) -> Mapping[str, bytes]:
    """The processes that were told of the folder."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"{folder}/".encode() in environment:
                found[entry.name] = environment
    return found
