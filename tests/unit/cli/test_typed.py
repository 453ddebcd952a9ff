"""An API's field is told as what the person typed: an option, or an argument of the command."""

from collections.abc import Iterator

import pytest
from typer.main import get_command

from supervisor.cli import typed
from supervisor.cli.main import app
from supervisor.cli.remedies import in_words
from supervisor.cli.typed import as_typed, note_run
from supervisor.errors import InvalidRequest, LooserThanFloor, NotFound, SessionNotFound
from trustfloor.errors import Refused


@pytest.fixture(autouse=True)
def none_runs() -> Iterator[None]:
    yield
    typed._running.set(None)


def run(*words: str) -> None:
    """As if these words had been typed behind `trustfloor`."""
    command, rest = get_command(app), list(words)
    while hasattr(command, "get_command"):
        context = command.make_context(None, list(rest), resilient_parsing=True)
        command = command.get_command(context, rest.pop(0))
    note_run(command, rest)


@pytest.mark.parametrize(
    ("words", "field", "told"),
    [
        ("search x", "query.type.0", "--type"),
        ("search x", "query.q", "WORD"),
        ("chat hi", "trustLevel", "--trust"),
        ("chat hi", "workingDirectory", "--dir"),
        ("chat hi", "agentPath", "--agent"),
        ("chat hi", "attachments.0.content", "--attach"),
        ("chat hi", "message", "MESSAGE"),
        ("events -f", "type", "--type"),
        ("sessions list", "before", "--before"),
        ("sessions rename 5f0c x", "title", "TITLE"),
        ("workspaces set x", "floor", "--floor"),
        ("mcp add notes --env A=b", "notes.env", "--env"),
        ("mcp add notes", "notes.headers.Authorization", "--header"),
        ("tokens create x", "expiresIn", "--expires"),
        ("captures add a.md", "filename", "--name"),
        ("ready", "type", None),
    ],
)
def test_a_field_is_told_as_it_was_typed(words: str, field: str, told: str | None) -> None:
    run(*words.split())
    assert as_typed(field) == told


def test_without_a_command_a_field_is_what_it_is() -> None:
    assert as_typed("type") is None
    assert in_words(InvalidRequest("no", where="type"))[1] == "type"


def test_a_refusal_of_one_field_says_only_what_is_wrong_and_one_of_several_which() -> None:
    run("search", "x")
    errors = [{"field": "query.type.0", "detail": "use one of: a, b"}]
    problem = {"code": "invalid_request", "detail": "query.type.0: …", "where": "query.type.0"}
    assert in_words(Refused(422, {**problem, "errors": errors}))[:2] == (
        "use one of: a, b",
        "--type",
    )
    errors.append({"field": "query.q", "detail": "it is too long"})
    told, _, _ = in_words(Refused(422, {**problem, "errors": errors}))
    assert told == "--type: use one of: a, b; WORD: it is too long"


def test_what_is_not_there_is_told_by_what_was_given() -> None:
    run("captures", "get", "plan.md")
    assert in_words(NotFound("no capture", where="filename"))[1] == "plan.md"
    assert in_words(InvalidRequest("no name", where="filename"))[1] == "NAME"


def test_a_session_that_is_gone_is_told_by_its_id_wherever_that_stood() -> None:
    run("sessions", "show", "5f0c")
    assert in_words(SessionNotFound("no session", where="sessionId"))[1] == "5f0c"
    run("grants", "list", "--session", "5f0c")
    assert in_words(SessionNotFound("no session", where="sessionId"))[1] == "--session"


def test_what_is_no_field_stays_as_it_is() -> None:
    run("chat", "hi")
    assert in_words(LooserThanFloor("no", where="workspace"))[1] == "workspace"
    assert in_words(NotFound("no session", where="5f0c"))[1] == "5f0c"
