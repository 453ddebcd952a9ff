"""The scripts say what they find and touch nothing that they needn't."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(each for each in (ROOT / "scripts").iterdir() if each.is_file())


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


def test_setup_does_nothing_and_says_nothing_the_second_time() -> None:
    assert run("scripts/setup", "--dev").returncode == 0
    again = run("scripts/setup", "--dev")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


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
