"""Large texts and transcripts are read in parts: memory doesn't grow with them."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from supervisor.runtimes.visible import VisibleFile
from supervisor.search.vault_texts import digest, head, parts
from supervisor.sessions.reading_on import read_on
from tests.worlds.search import said

MIB = 1024 * 1024


def seen(vault: Path, name: str) -> VisibleFile:
    found = (vault / name).stat()
    return VisibleFile(
        name,
        (found.st_dev, found.st_ino),
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_size,
        found.st_nlink,
    )


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("line", ["words of a line " * 12 + "\n", "no end of words "])
def test_a_large_text_is_read_in_parts(tmp_path: Path, traced: None, line: str) -> None:
    with (tmp_path / "large.md").open("w") as file:
        for _ in range(12):
            file.write(line * (MIB // len(line)))
    file_seen = seen(tmp_path, "large.md")
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    assert digest(tmp_path, file_seen) is not None
    assert head(tmp_path, file_seen).title == "large"
    size = sum(len(part.text) for part in parts(tmp_path, file_seen))
    assert size > 11 * MIB
    assert tracemalloc.get_traced_memory()[1] - before < 6 * MIB


def test_a_large_transcript_is_read_in_parts(tmp_path: Path, traced: None) -> None:
    count = 400
    with (tmp_path / "large.jsonl").open("wb") as file:
        for number in range(count):
            file.write(said("user", "words " * 8_000, number))
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    numbers = [number for number, _ in read_on(tmp_path, (PurePosixPath("large.jsonl"),))]
    assert numbers == list(range(1, count + 1))
    assert tracemalloc.get_traced_memory()[1] - before < 8 * MIB
