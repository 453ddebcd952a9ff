"""The folder of policies: read in the order of names, swapped whole or not at all."""

import contextlib
import os
import shutil
import socket
from pathlib import Path

import pytest

from supervisor.errors import ConfigurationError
from supervisor.gate.policy_files import PolicySource
from tests.worlds.policy_world import SHIPPED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(SHIPPED / "default.yaml", tmp_path / "default.yaml")
    return tmp_path


def reload(source: PolicySource) -> ConfigurationError | None:
    """Read the files again, as the watch does; what is wrong."""
    reading = source.read()
    if reading is not None:
        source.adopt(reading)
    return source.error


def test_a_valid_change_is_in_force_after_a_reload(folder: Path) -> None:
    source = PolicySource(folder)
    before = source.current
    (folder / "site.yaml").write_text("version: 1\ntools: {levels: {full: {web: ask}}}\n")
    assert source.current is before
    assert reload(source) is None
    assert source.current.hash != before.hash


def test_an_invalid_file_leaves_the_last_good_policy_whole_and_is_told(folder: Path) -> None:
    source = PolicySource(folder)
    before = source.current
    (folder / "a.yaml").write_text("version: 1\ntools: {levels: {full: {web: deny}}}\n")
    (folder / "site.yaml").write_text("version: 1\ndney: []\n")
    error = reload(source)
    assert error is not None
    assert error.where == f"{folder}/site.yaml:2:1 dney"
    assert source.current is before
    assert source.error is error
    (folder / "site.yaml").unlink()
    assert reload(source) is None
    assert source.error is None
    assert source.current.hash != before.hash


def test_later_names_override_earlier_ones(folder: Path) -> None:
    (folder / "x.yaml").write_text("version: 1\nbudgets: {turn: {tokens: 1}}\n")
    (folder / "y.yaml").write_text("version: 1\nbudgets: {turn: {tokens: 2}}\n")
    assert PolicySource(folder).current.gateway.turn.tokens == 2


def test_a_start_without_policy_files_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        PolicySource(tmp_path)
    assert refusal.value.remedy is not None
    with pytest.raises(ConfigurationError):
        PolicySource(tmp_path / "nowhere")


def test_a_file_that_cannot_be_read_leaves_the_policy_in_force(folder: Path) -> None:
    source = PolicySource(folder)
    (folder / "z.yaml").symlink_to(folder / "gone")
    assert reload(source) is not None
    (folder / "z.yaml").unlink()
    (folder / "z.yaml").mkdir()
    assert reload(source) is not None
    assert source.current.denied.match(".env") is not None


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "device", "link to a pipe"])
def test_what_is_no_regular_file_is_refused_by_name_and_not_waited_for(
    folder: Path, kind: str
) -> None:
    source = PolicySource(folder)
    before, odd = source.current, folder / "z.yaml"
    with contextlib.ExitStack() as stack:
        match kind:
            case "pipe":
                os.mkfifo(odd)
            case "link to a pipe":
                os.mkfifo(folder / "pipe")
                odd.symlink_to("pipe")
            case "socket":
                listener = stack.enter_context(socket.socket(socket.AF_UNIX))
                stack.enter_context(contextlib.chdir(folder))  # a socket's path has few bytes
                listener.bind(odd.name)
            case "device":
                odd.symlink_to("/dev/zero")
            case _:
                odd.mkdir()
        for refused in (reload(source), started(folder)):
            assert refused is not None
            assert refused.where == str(odd)
            assert "no regular file" in refused.message
    assert source.current is before
    odd.unlink() if kind != "folder" else odd.rmdir()
    assert reload(source) is None


def started(folder: Path) -> ConfigurationError:
    """Why no supervisor begins with these files."""
    with pytest.raises(ConfigurationError) as refused:
        PolicySource(folder)
    return refused.value


def test_files_that_say_too_little_are_refused(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text("version: 1\n")
    with pytest.raises(ConfigurationError):
        PolicySource(tmp_path)
