"""The scripts say what they find and touch nothing that they needn't."""

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(each for each in (ROOT / "scripts").iterdir() if each.is_file())
COMMANDS = [each for each in SCRIPTS if each.name != "shell.sh"]


def run(script: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / script, *options],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@contextmanager
def listener(path: Path, answer: bytes | None) -> Iterator[None]:
    """A socket that takes one call and answers so; None: never answers."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1024)
                if answer is None:
                    connection.recv(1024)  # until the other side gives up
                else:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_every_script_is_sound_shell(script: Path) -> None:
    subprocess.run(["bash", "-n", script], check=True)
    sourced = script.name == "shell.sh"
    assert os.access(script, os.X_OK) != sourced


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("script", COMMANDS, ids=lambda script: script.name)
def test_a_script_that_is_asked_for_help_says_what_it_is_for_and_does_nothing(
    script: Path, option: str, tmp_path: Path
) -> None:
    # Without a PATH it could do nothing: what it shows is shown before anything is looked for.
    for name in ("bash", "dirname", "basename", "sed"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    shown = subprocess.run(
        [str(shutil.which("bash")), os.path.relpath(script, tmp_path), option],
        env={"PATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    first = script.read_text().splitlines()[1]
    assert shown.stdout.splitlines()[0] == first.removeprefix("# ")
    assert "set -euo" not in shown.stdout


@pytest.mark.parametrize(
    "script", ["images", "runner-image", "supervisor-image", "find-base", "lint", "setup", "engine"]
)
def test_a_word_that_a_script_doesnt_know_is_told_before_anything_is_done(script: str) -> None:
    told = run(f"scripts/{script}", "--hlep")
    assert told.returncode == 1
    assert f"{script}: usage: scripts/{script}" in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_setup_does_nothing_and_says_nothing_the_second_time() -> None:
    assert run("scripts/setup", "--dev").returncode == 0
    again = run("scripts/setup", "--dev")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


BUILDER = """
import zipfile

FILES = {
    "small.py": "def main(): pass",
    "small-1.dist-info/METADATA": "Metadata-Version: 2.1\\nName: small\\nVersion: 1\\n",
    "small-1.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    "small-1.dist-info/entry_points.txt": "[console_scripts]\\ntrustfloor = small:main\\n",
    "small-1.dist-info/RECORD": "",
}

def build_editable(folder, settings=None, metadata=None):
    with zipfile.ZipFile(f"{folder}/small-1-py3-none-any.whl", "w") as wheel:
        for name, text in FILES.items():
            wheel.writestr(name, text)
    return "small-1-py3-none-any.whl"
"""


@pytest.fixture
def small_clone(tmp_path: Path) -> Path:
    """The scripts with a project and requirements that need nothing of any registry."""
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "scripts", clone / "scripts")
    (clone / "requirements").mkdir()
    for name in ("runtime.txt", "dev.txt"):
        (clone / "requirements" / name).write_text("")
    (clone / "pyproject.toml").write_text(
        "[project]\nname = 'small'\nversion = '1'\n"
        "[build-system]\nrequires = []\nbuild-backend = 'build'\nbackend-path = ['.']\n"
    )
    (clone / "build.py").write_text(BUILDER)
    return clone


def test_setup_keeps_pip_s_talk_of_the_machine_s_settings_to_itself(small_clone: Path) -> None:
    settings = {"PYTHON": sys.executable, "PIP_FIND_LINKS": "/nowhere/at/all", "PIP_NO_INDEX": "1"}
    told = run(str(small_clone / "scripts/setup"), **settings)
    assert told.returncode == 0, told.stderr
    assert told.stdout == ""
    assert all(line.startswith("setup: ") for line in told.stderr.splitlines()), told.stderr
    again = run(str(small_clone / "scripts/setup"), **settings)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_setup_tells_now_and_then_how_far_it_is_and_no_more_of_what_pip_says(
    small_clone: Path,
) -> None:
    setup, builder = small_clone / "scripts" / "setup", small_clone / "build.py"
    setup.write_text(setup.read_text().replace("every=10 ", "every=1 "))
    slow = "print('Looking in https://index.example', flush=True); __import__('time').sleep(3)"
    builder.write_text(builder.read_text().replace("    with zip", f"    {slow}\n    with zip"))
    told = run(str(setup), PYTHON=sys.executable, PIP_NO_INDEX="1")
    assert told.returncode == 0, told.stderr
    assert re.search(r"^setup: the project, after \d s: ", told.stderr, re.MULTILINE), told.stderr
    assert "example" not in told.stderr
    assert all(line.startswith("setup: ") for line in told.stderr.splitlines()), told.stderr


def test_setup_shows_all_that_pip_said_if_it_fails(small_clone: Path) -> None:
    (small_clone / "requirements" / "runtime.txt").write_text(
        f"no-such-package==1 --hash=sha256:{'0' * 64}\n"
    )
    told = run(str(small_clone / "scripts/setup"), PYTHON=sys.executable, PIP_NO_INDEX="1")
    assert told.returncode == 1
    assert "no-such-package" in told.stderr
    assert "the requirements could not be installed" in told.stderr
    assert not (small_clone / ".venv" / "trustfloor-setup").exists()


def test_an_engine_that_answers_is_left_alone_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    with listener(path, b"HTTP/1.0 200 OK\r\n\r\nOK"):
        answer = run("scripts/engine", TRUSTFLOOR_ENGINE_SOCKET=str(path))
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


@pytest.mark.parametrize("answer", [None, b"SSH-2.0-something\r\n"], ids=["silent", "foreign"])
def test_what_listens_but_is_no_working_engine_is_left_alone_and_told(
    tmp_path: Path, answer: bytes | None
) -> None:
    path = tmp_path / "e.sock"
    with listener(path, answer):
        told = run("scripts/engine", TRUSTFLOOR_ENGINE_SOCKET=str(path))
    assert told.returncode == 1
    assert f"something listens on {path}" in told.stderr


def test_an_engine_of_one_s_own_is_never_installed_or_started(tmp_path: Path) -> None:
    path = tmp_path / "none.sock"
    told = run("scripts/engine", TRUSTFLOOR_ENGINE_SOCKET=str(path))
    assert told.returncode == 1
    assert f"no engine answers on {path}" in told.stderr


def test_packages_that_are_there_are_not_installed_again() -> None:
    told = run("scripts/packages", "a test asks", "dpkg", "bash")
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
