import os
from pathlib import Path

import pytest

from supervisor.errors import ConfigurationError, DataFolderInUse, VaultInUse
from supervisor.storage.lock import hold_data_folder, hold_database
from tests.worlds.storage import child


def test_a_second_holder_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    with hold_data_folder(tmp_path / "data"):
        with (
            pytest.raises(DataFolderInUse, match="another supervisor") as refusal,
            hold_data_folder(tmp_path / "data"),
        ):
            pass
        assert refusal.value.where is not None
        assert f"process {os.getpid()}, since 20" in refusal.value.where
        assert (tmp_path / "data" / "lock").stat().st_mode & 0o777 == 0o600
    with hold_data_folder(tmp_path / "data"):
        pass


def test_two_data_folders_can_not_share_a_database(tmp_path: Path) -> None:
    with (
        hold_data_folder(tmp_path / "one"),
        hold_data_folder(tmp_path / "two"),
        hold_database(tmp_path / "sessions.db"),
        pytest.raises(VaultInUse, match="vault") as refusal,
        hold_database(tmp_path / "sessions.db"),
    ):
        pass
    assert "--vault" in str(refusal.value.remedy)
    assert "process" in str(refusal.value.where)


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    code = """
import sys; from pathlib import Path; from supervisor.storage.lock import hold_data_folder
with hold_data_folder(Path(sys.argv[1])):
    print("held", flush=True); sys.stdin.readline()
"""
    with child(code, str(tmp_path)) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(DataFolderInUse, match="data folder") as refusal:
            hold_data_folder(tmp_path).__enter__()
        assert f"process {holder.pid}," in str(refusal.value.where)
        holder.kill()
        holder.wait()
    with hold_data_folder(tmp_path):
        pass


def test_a_symlink_in_the_lock_files_place_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "sessions.db.lock").symlink_to(victim)
    with pytest.raises(ConfigurationError), hold_database(tmp_path / "sessions.db"):
        pass
    assert victim.read_text() == "precious"
