from pathlib import Path

import pytest

from supervisor.storage.witness import FOLDER, Witness, sight

ID = "0123"


def file(folder: Path) -> Path:
    path = folder / "x.db"
    path.write_text("content")
    return path


def test_what_was_left_in_order_is_known_by_its_content(tmp_path: Path) -> None:
    path, witness = file(tmp_path), Witness(tmp_path)
    assert not witness.agrees(ID, sight(path))
    witness.opened(ID, path)
    path.write_text("ours")
    witness.closed(ID, path)
    assert witness.agrees(ID, sight(path))
    assert not witness.agrees("4567", sight(path))
    path.write_text("theirs")
    assert not witness.agrees(ID, sight(path))


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_a_log_beside_what_was_left_in_order_is_not_ours(tmp_path: Path, end: str) -> None:
    path, witness = file(tmp_path), Witness(tmp_path)
    witness.opened(ID, path)
    witness.closed(ID, path)
    path.with_name(path.name + end).write_text("log")
    assert not witness.agrees(ID, sight(path))


def test_while_we_work_on_it_the_file_is_known_by_its_identity(tmp_path: Path) -> None:
    path, witness = file(tmp_path), Witness(tmp_path)
    witness.opened(ID, path)
    path.write_text("ours")
    assert witness.agrees(ID, sight(path))
    other = tmp_path / "other"
    other.write_text("ours")
    other.replace(path)
    assert not witness.agrees(ID, sight(path))
    witness.closed(ID, path)
    assert not witness.agrees(ID, sight(path))


@pytest.mark.parametrize(
    "note", ["", "[]", "{}", '{"inode": 1}', '{"inode":1,"logs":5,"digest":0}']
)
def test_a_note_that_cannot_be_read_vouches_for_nothing(tmp_path: Path, note: str) -> None:
    path, witness = file(tmp_path), Witness(tmp_path)
    witness.opened(ID, path)
    (tmp_path / FOLDER / f"{ID}.json").write_text(note)
    assert not witness.agrees(ID, sight(path))
