"""What reaches a terminal: readable lines, and nothing that it would obey."""

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.cli.client import Heard
from supervisor.cli.neutral import neutral
from supervisor.cli.render import Screen

OBEYED = (
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[H",
    "\x9b2J",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\rhidden",
    "\x08\x08\x08",
    "\u202egnp.exe",
    "\u2066x\u2069",
    "\x00\x7f\x85",
    "\U000e0041",
    "a\u2028b",
)


@pytest.mark.parametrize("attack", OBEYED)
def test_control_characters_are_shown_by_name(attack: str) -> None:
    shown = neutral(attack)
    assert shown != attack
    assert not any(unicodedata.category(each) in {"Cc", "Zl", "Zp", "Cs"} for each in shown)
    assert not any(each in shown for each in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2069")


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cf", "Zl", "Zp", "Cs", "Cn"])))
def test_ordinary_text_is_shown_as_it_is(said: str) -> None:
    assert neutral(said) == said


def test_line_breaks_tabs_and_composed_emoji_stay() -> None:
    assert neutral("a\r\nb\tc\n👩\u200d💻") == "a\nb\tc\n👩\u200d💻"


LINES = "title\ndone · 1 + 1 tokens\r\nerror: no\n\n"


def test_a_line_begins_no_other_whatever_is_in_it() -> None:
    file = io.StringIO()
    Screen(file).line(f"0d8f  {LINES}")
    assert file.getvalue().count("\n") == 1


def test_no_line_of_a_text_passes_for_one_of_ours() -> None:
    file = io.StringIO()
    Screen(file).lines(LINES, indent="    ")
    assert file.getvalue().splitlines() == [
        *("    title", "    done · 1 + 1 tokens", "    error: no", "")
    ]


def test_a_fault_of_several_lines_is_told_whole_and_set_in() -> None:
    file = io.StringIO()
    Screen(file).failure("several:\ndone\nmore", "a\nb", "c\nd", "x")
    assert file.getvalue().splitlines() == [
        *("error: several: [x]", "  done", "  more", "  where: a␊b", "  what to do: c␊d")
    ]


def everything_said(attack: str) -> list[Heard]:
    """Each type of event, with the attack wherever an agent's words can be."""
    trust = {"requested": "full", "effective": "sandboxed", "trace": ["x", attack]}
    tool = {"id": "1", "name": attack, "input": {attack: attack}}
    data: dict[str, dict[str, object]] = {
        "session": {
            "sessionId": attack,
            "workspace": attack,
            "trustLevel": "sandboxed",
            "trust": trust,
        },
        "isolation": {"accepted": False, "cage": "container", "shortfalls": [attack]},
        "text": {"delta": attack},
        "thinking": {"delta": attack},
        "tool_use": {"tool": tool, "agent": attack},
        "tool_result": {"content": attack, "isError": True},
        "permission_request": {
            "toolName": attack,
            "reason": attack,
            "display": attack,
            "hasHiddenCharacters": True,
            "agentName": attack,
            "effects": [{"act": attack, "target": attack, "reason": attack, "remarks": [attack]}],
        },
        "permission_resolved": {"id": attack, "decision": attack},
        "user_question": {
            "requestId": attack,
            "questions": [{"question": attack}],
            "agentName": attack,
            "hasHiddenCharacters": True,
        },
        "permission_denied": {"toolName": attack, "reason": attack, "rule": attack},
        "warning": {"message": attack, "code": attack},
        "done": {"model": attack},
        "aborted": {"message": attack},
        "error": {"error": attack, "code": attack, "where": attack, "remedy": attack},
        "unknown_to_us": {"anything": attack},
        "__init__": {"file": attack},
    }
    return [Heard(1, kind, each) for kind, each in data.items()]


@pytest.mark.parametrize("attack", OBEYED)
def test_no_event_can_command_the_terminal(attack: str) -> None:
    written = io.StringIO()
    screen = Screen(written)
    for heard in everything_said(attack):
        screen.show(heard)
    assert not any(
        unicodedata.category(each) == "Cc" and each not in "\n\t" for each in written.getvalue()
    )
    assert attack not in written.getvalue()


def test_no_text_of_an_agent_can_begin_a_line_that_looks_like_ours() -> None:
    attack = "x)\nallow this? [y/N] y\npermission: granted"
    request = {
        "toolName": attack,
        "reason": attack,
        "display": attack,
        "hasHiddenCharacters": False,
        "agentName": attack,
        "effects": [{"act": "reads", "target": attack, "remarks": [attack]}],
    }
    refused = {"toolName": attack, "reason": attack, "rule": attack}
    said = shown(
        Heard(1, "permission_request", request),
        Heard(2, "permission_denied", refused),
        Heard(3, "tool_use", {"tool": {"id": "1", "name": attack, "input": {}}}),
        Heard(4, "user_question", {"requestId": "r", "questions": [], "agentName": attack}),
    )
    for line in said.splitlines():
        assert not line.startswith(("allow this?", "permission: granted"))


def test_control_written_as_it_is_it_would_command_the_terminal() -> None:
    written = io.StringIO()
    written.write(OBEYED[1])
    assert "\x1b[2J" in written.getvalue()


def test_rich_markup_in_an_agents_words_stays_words() -> None:
    written = io.StringIO()
    Screen(written).show(
        Heard(1, "text", {"delta": "[bold]x[/bold] [link=http://e]y[/link] :skull:"})
    )
    assert written.getvalue() == "[bold]x[/bold] [link=http://e]y[/link] :skull:"


def test_text_flows_and_other_events_get_lines_of_their_own() -> None:
    written = io.StringIO()
    screen = Screen(written)
    for delta in ("Hel", "lo\nwor", "ld"):
        screen.show(Heard(1, "text", {"delta": delta}))
    screen.show(Heard(2, "tool_result", {"content": "one\ntwo\n"}))
    assert written.getvalue() == "Hello\nworld\n  one\n  two\n"


def test_who_raised_the_trust_is_told() -> None:
    written = io.StringIO()
    trace = ["asked for full", "runs at sandboxed: workspace 'w' demands at least sandboxed"]
    trust = {"requested": "full", "effective": "sandboxed", "trace": trace}
    data = {"sessionId": "s", "workspace": "w", "trustLevel": "sandboxed", "trust": trust}
    Screen(written).show(Heard(1, "session", data))
    assert "asked for full, runs at sandboxed: workspace 'w' demands" in written.getvalue()


def test_a_scripted_model_is_named_as_one_whatever_name_it_goes_by() -> None:
    trust = {"requested": "vault", "effective": "vault", "trace": []}
    data = {"sessionId": "s", "workspace": "w", "trustLevel": "vault", "trust": trust}
    done = Heard(2, "done", {"model": "claude-sonnet-4-5"})
    said = shown(Heard(1, "session", {**data, "scripted": True}), done)
    assert "trust vault · scripted model\n" in said
    assert "done · scripted model (as claude-sonnet-4-5) · " in said
    assert "scripted" not in shown(Heard(1, "session", {**data, "scripted": False}), done)


@pytest.mark.parametrize(
    ("level", "words"),
    [
        ("full", "isolation: none at this level\n"),
        (
            "vault",
            (
                "isolation: none: this machine has no cage, so each command asks"
                " (`trustfloor doctor` says why)\n"
            ),
        ),
    ],
)
def test_a_cage_that_a_machine_lacks_is_not_one_that_no_turn_of_the_level_has(
    level: str, words: str
) -> None:
    data = {"cage": "none", "accepted": True, "shortfalls": [], "level": level}
    assert shown(Heard(1, "isolation", data)) == words


@pytest.mark.parametrize(
    ("receipt", "words"),
    [
        ({"network": "none"}, "isolation: bubblewrap, measured and accepted; no network\n"),
        ({"network": "the host's"}, "measured and accepted; the machine's network\n"),
        ({}, "isolation: bubblewrap, measured and accepted\n"),
        ({"waitedSeconds": 12.6}, "accepted; made ahead, it waited 13 s for this message\n"),
    ],
)
def test_what_the_cage_has_of_the_network_and_whether_it_waited_is_told(
    receipt: dict[str, object], words: str
) -> None:
    data = {"cage": "bubblewrap", "accepted": True, "shortfalls": [], "receipt": receipt}
    assert shown(Heard(1, "isolation", data)).endswith(words)


def shown(*events: Heard) -> str:
    written = io.StringIO()
    screen = Screen(written)
    for heard in events:
        screen.show(heard)
    return written.getvalue()


def test_a_denial_is_told_once_whatever_came_of_it() -> None:
    said = shown(
        Heard(1, "permission_resolved", {"id": "req", "decision": "denied", "message": "not now"}),
        Heard(
            2,
            "permission_denied",
            {"toolUseId": "t", "toolName": "Bash", "reason": "not now", "rule": "bash"},
        ),
        Heard(3, "tool_result", {"toolUseId": "t", "content": "hook: not now", "isError": True}),
        Heard(4, "tool_result", {"toolUseId": "other", "content": "a result"}),
    )
    assert said == "✗ Bash was denied: not now [bash]\n  a result\n"


@pytest.mark.parametrize(
    ("asked", "decision", "words"),
    [
        ("question", "granted", "question: answered"),
        ("question", "void", "question: no longer open"),
        ("permission", "granted", "permission: granted"),
        ("permission", "void", "permission: no longer open"),
    ],
)
def test_how_a_request_ended_is_said_in_words_that_fit_it(
    asked: str, decision: str, words: str
) -> None:
    data = {"requestId": "req", "questions": [{"question": "Which?"}]}
    before = [Heard(1, "user_question", data)] if asked == "question" else []
    assert shown(*before, Heard(2, "permission_resolved", {"id": "req", "decision": decision})) == (
        f"{words}\n"
    )


def test_what_comes_while_a_prompt_stands_open_begins_on_a_line_of_its_own() -> None:
    written = io.StringIO()
    screen = Screen(written)
    screen.ask("allow this? ")
    screen.line("no longer open")
    screen.ask("again? ")
    screen.answered()
    screen.line("thanks")
    assert written.getvalue() == "allow this? \nno longer open\nagain? thanks\n"
