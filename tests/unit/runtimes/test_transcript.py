"""The kept transcript: appended to, in the vault and nowhere else."""

import json
from pathlib import Path, PurePosixPath

import pytest

from supervisor.runtimes.transcript import TranscriptFile

NAME = PurePosixPath(".claude/projects/-v/s.jsonl")


async def test_entries_are_added_one_a_line_and_sub_agents_have_their_own_file(
    tmp_path: Path,
) -> None:
    kept = TranscriptFile(tmp_path, NAME)
    await kept.append([{"n": 1}], None)
    await kept.append([{"n": 2}, {"n": 3}], None)
    await kept.append([{"n": 4}], "subagents/agent-a")
    lines = (tmp_path / NAME).read_text().splitlines()
    assert [json.loads(line)["n"] for line in lines] == [1, 2, 3]
    below = tmp_path / NAME.with_suffix("") / "subagents" / "agent-a.jsonl"
    assert json.loads(below.read_text())["n"] == 4


async def test_a_torn_last_line_does_not_spoil_the_next(tmp_path: Path) -> None:
    kept = TranscriptFile(tmp_path, NAME)
    await kept.append([{"n": 1}], None)
    with (tmp_path / NAME).open("a") as file:
        file.write('{"n": 2, "te')
    await kept.append([{"n": 3}], None)
    lines = (tmp_path / NAME).read_text().splitlines()
    assert [lines[0], lines[2]] == ['{"n":1}', '{"n":3}']


@pytest.mark.parametrize("link", [".claude", ".claude/projects", ".claude/projects/-v"])
async def test_a_link_on_the_way_is_not_followed(tmp_path: Path, link: str) -> None:
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    outside.mkdir()
    (vault / link).parent.mkdir(parents=True)
    (vault / link).symlink_to(outside)
    with pytest.raises(OSError):
        await TranscriptFile(vault, NAME).append([{"n": 1}], None)
    assert list(outside.iterdir()) == []


async def test_a_link_in_the_transcripts_place_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine\n")
    (tmp_path / NAME).parent.mkdir(parents=True)
    (tmp_path / NAME).symlink_to(target)
    with pytest.raises(OSError):
        await TranscriptFile(tmp_path, NAME).append([{"n": 1}], None)
    assert target.read_text() == "mine\n"
