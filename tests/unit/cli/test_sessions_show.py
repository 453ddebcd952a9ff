"""`trustfloor sessions show`: what tools were asked for and gave is told as theirs, not as said."""

import io
from typing import Any

from supervisor.cli.render import Screen
from supervisor.cli.sessions import _say


def shown(*messages: dict[str, Any]) -> str:
    written = io.StringIO()
    screen = Screen(written)
    for message in messages:
        _say(screen, {"timestamp": "2026-03-01T10:00:00.000Z", **message})
    return written.getvalue()


def test_a_call_is_shown_with_its_input_and_what_it_gave_is_not_the_user_s_word() -> None:
    call = {"type": "tool_use", "name": "Read", "input": {"file_path": "notes/ä.md"}}
    gave = {"type": "tool_result", "content": "one\ntwo", "isError": False}
    said = shown(
        {"role": "user", "blocks": [{"type": "text", "text": "Read it."}]},
        {"role": "assistant", "blocks": [{"type": "text", "text": "I do."}, call]},
        {"role": "user", "blocks": [gave]},
    )
    assert said.count("user  2026") == 1
    assert '  ▸ Read {"file_path": "notes/ä.md"}' in said
    assert "  → one (and 1 more lines)" in said


def test_why_a_call_was_refused_is_shown_whole() -> None:
    refused = {
        "type": "tool_result",
        "content": "permission was refused: put it\ninto notes/",
        "isError": True,
    }
    said = shown({"role": "user", "blocks": [refused]})
    assert said == "  ✗ permission was refused: put it\n    into notes/\n"


def test_an_endless_input_is_cut_and_no_line_break_in_a_name_begins_a_line() -> None:
    call = {"type": "tool_use", "name": "a\nuser  2026", "input": {"x": "y" * 5_000}}
    said = shown({"role": "assistant", "blocks": [call]})
    assert "more characters)" in said
    assert not any(line.startswith("user") for line in said.splitlines())
