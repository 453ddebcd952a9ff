"""Of a process's transcripts only its own session's are kept, and only so much of them."""

import json

import pytest

from supervisor.runtimes import wire
from supervisor.runtimes.admitted import Mirror
from tests.worlds.transcript import entry
from tests.worlds.wire import ENTRY, OTHER, PROJECTS, SESSION, a_wire, codes, fed, line, mirror


def test_the_sessions_own_transcript_is_kept() -> None:
    admitted = fed(mirror(f"{PROJECTS}/-vault/{SESSION}.jsonl"))
    assert admitted == [Mirror((ENTRY,), None)]


def test_an_entry_that_no_cli_writes_is_left_out_and_the_others_of_its_frame_are_kept() -> None:
    frame = mirror(f"{PROJECTS}/-vault/{SESSION}.jsonl")
    bad = {"type": "user", "sessionId": SESSION, "uuid": "x", "message": 5}
    admitted = fed(frame | {"entries": [bad, ENTRY, bad]})
    assert codes(admitted) == ["bad_entry"]
    assert admitted[1:] == [Mirror((ENTRY,), None)]


def test_transcripts_have_a_byte_budget_for_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_MIRROR_BYTES", 2_000)
    target = a_wire()
    told = []
    for _ in range(4):
        frame = mirror(f"{PROJECTS}/x/{SESSION}.jsonl")
        frame["entries"] = [entry(SESSION, "user", "x" * 500)]
        told += list(target.feed(line(frame)))
    assert codes(told) == ["transcript_too_long"]
    assert sum(isinstance(each, Mirror) for each in told) == 2


def test_a_sub_agents_transcript_is_kept_under_its_name() -> None:
    admitted = fed(mirror(f"{PROJECTS}/-vault/{SESSION}/subagents/agent-abc.jsonl"))
    assert [each.subagent for each in admitted if isinstance(each, Mirror)] == [
        "subagents/agent-abc"
    ]


@pytest.mark.parametrize(
    "path",
    [
        f"{PROJECTS}/-vault/{OTHER}.jsonl",
        f"{PROJECTS}/../x/{SESSION}.jsonl/../../y.jsonl",
        f"{PROJECTS}/-vault/{SESSION}/subagents/../../../x.jsonl",
        f"{PROJECTS}/-vault/{SESSION}/subagents/agent-a/../../../../x.jsonl",
        f"{PROJECTS}/-vault/{SESSION}/tool-results/x.jsonl",
        f"/elsewhere/-vault/{SESSION}.jsonl",
        f"{PROJECTS}/-vault/{SESSION}.txt",
        None,
        7,
    ],
)
def test_any_other_transcript_is_left_out(path: str) -> None:
    admitted = fed(mirror(path))
    assert codes(admitted) == ["foreign_transcript"]
    assert len(admitted) == 1


def test_an_entry_of_another_session_spoils_its_frame() -> None:
    assert codes(fed(mirror(f"{PROJECTS}/-v/{SESSION}.jsonl", OTHER))) == ["foreign_transcript"]


def test_sub_agents_files_are_bounded_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervisor.runtimes.mirrored.MAX_SUBAGENTS", 2)
    target = a_wire()

    def mirror(number: int) -> str:
        path = f"{PROJECTS}/x/{SESSION}/subagents/agent-{number}.jsonl"
        frame = {"type": "transcript_mirror", "filePath": path, "entries": [{"type": "tag"}]}
        return type(next(target.feed(json.dumps(frame).encode() + b"\n"))).__name__

    assert [mirror(number) for number in (1, 2, 3, 1)] == [
        "Mirror",
        "Mirror",
        "Objection",
        "Mirror",
    ]
