"""How a script comes by the right to use the engine: for one run, as the same user, and told.

`sudo` is a stand-in here that notes what it is asked for; whom it would let do it is its business.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.worlds.second_engine import short_folder

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")

SHELL = Path(__file__).parents[2] / "scripts" / "shell.sh"
NOBODY, THEIR_GROUP = 65534, 54321
PROBE = """#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
. ./shell.sh
with_engine_rights ./probe "$@"
echo "at work as $(id -u) with $WANTED: $*"
"""
SUDO = """#!/bin/sh
[ "$*" = "-n true" ] && exit {password_wanted}
echo "$*" >>{folder}/asked
[ -z "{lends}" ] || chmod 600 {folder}/engine.sock
shift 8
exec "$@"
"""
WANTED = 'what\'s in "no" argument'


@dataclass(frozen=True)
class Newcomer:
    """Somebody who may not use the engine, and what `sudo` does for them."""

    folder: Path

    def sudo(self, *, password_wanted: bool = False, lends: bool = True) -> None:
        program = self.folder / "bin" / "sudo"
        program.write_text(
            SUDO.format(
                folder=self.folder,
                password_wanted=int(password_wanted),
                lends="yes" if lends else "",
            )
        )
        program.chmod(0o755)

    def run(self, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.folder / "probe", "one", "two words"],
            env={
                "PATH": str(self.folder / "bin"),
                "TMPDIR": str(self.folder / "tmp"),
                "TRUSTFLOOR_ENGINE_SOCKET": str(self.folder / "engine.sock"),
                "WANTED": WANTED,
                **variables,
            },
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @property
    def asked(self) -> str:
        """What `sudo` was asked to run."""
        path = self.folder / "asked"
        return path.read_text() if path.exists() else ""


@pytest.fixture(name="newcomer")
def newcomer_fixture() -> Iterator[Newcomer]:
    with short_folder() as folder, closing(socket.socket(socket.AF_UNIX)) as engine:
        (folder / "bin").mkdir()
        for tool in ("bash", "sh", "basename", "dirname", "id", "stat", "tr", "mktemp", "rm",
                     "setpriv", "chmod"):  # fmt: skip
            found = shutil.which(tool)
            assert found is not None
            (folder / "bin" / tool).symlink_to(found)
        (folder / "tmp").mkdir()
        shutil.copy(SHELL, folder / "shell.sh")
        (folder / "probe").write_text(PROBE)
        (folder / "probe").chmod(0o755)
        engine.bind(str(folder / "engine.sock"))
        # Theirs, so that the stand-in can open it; but not to be written to.
        (folder / "engine.sock").chmod(0o400)
        for each in (folder, folder / "tmp", folder / "engine.sock"):
            os.chown(each, NOBODY, THEIR_GROUP)
        yield Newcomer(folder)


def test_who_may_use_the_engine_is_asked_for_nothing(newcomer: Newcomer) -> None:
    newcomer.sudo()
    (newcomer.folder / "engine.sock").chmod(0o600)
    told = newcomer.run()
    assert told.stdout == f"at work as {NOBODY} with {WANTED}: one two words\n"
    assert (told.stderr, newcomer.asked) == ("", "")


def test_who_may_not_is_lent_the_socket_s_group_and_stays_who_they_are(newcomer: Newcomer) -> None:
    newcomer.sudo()
    told = newcomer.run()
    assert told.stdout == f"at work as {NOBODY} with {WANTED}: one two words\n", told.stderr
    assert "usermod -aG" in told.stderr
    assert "whoever has it can become root by it" in told.stderr
    wanted = f"-n setpriv --reuid {NOBODY} --regid {NOBODY} --groups {NOBODY},{THEIR_GROUP} bash -c"
    assert newcomer.asked.startswith(wanted)
    # Variables come along, and are nowhere that others could look.
    assert WANTED not in newcomer.asked
    assert list((newcomer.folder / "tmp").iterdir()) == []


def test_a_group_that_does_not_help_is_lent_once(newcomer: Newcomer) -> None:
    newcomer.sudo(lends=False)
    told = newcomer.run()
    assert told.returncode == 1
    assert "can't be written to, even with the group" in told.stderr
    assert newcomer.asked.count("setpriv") == 1
    assert list((newcomer.folder / "tmp").iterdir()) == []


def test_a_password_that_nobody_can_be_asked_for_is_told(newcomer: Newcomer) -> None:
    newcomer.sudo(password_wanted=True)
    told = newcomer.run()
    assert told.returncode == 1
    assert "sudo asks for a password, but there is no terminal to ask at" in told.stderr
    assert (told.stdout, newcomer.asked) == ("", "")


def test_a_machine_without_sudo_is_told_what_to_run_as_root(newcomer: Newcomer) -> None:
    told = newcomer.run()
    assert told.returncode == 1
    assert "is not yours to use, and there is no sudo. As root, once:  usermod -aG" in told.stderr
    assert "setpriv" not in told.stderr, "what it would run is of no use to anybody else"
    assert list((newcomer.folder / "tmp").iterdir()) == []


def test_an_engine_of_another_machine_is_refused_with_the_variable_s_name(
    newcomer: Newcomer,
) -> None:
    told = newcomer.run(TRUSTFLOOR_ENGINE_SOCKET="", DOCKER_HOST="tcp://127.0.0.1:2375")
    assert told.returncode == 1
    assert "DOCKER_HOST=tcp://127.0.0.1:2375 is no Unix socket" in told.stderr
