"""The last words of a turn: exactly one terminal event, of the right kind, with what was heard."""

import pytest

from supervisor.errors import EngineLost, TrustfloorError, TurnFailed, TurnTimedOut
from supervisor.events.schema import (
    AbortedEvent,
    DoneEvent,
    ErrorEvent,
    PermissionDeniedEvent,
    Spending,
    TextEvent,
)
from supervisor.runtimes.contract import RunResult
from supervisor.sessions.ending import cut_off, failed, last_words
from supervisor.sessions.turn import Ending, Heard, Stopped
from tests.worlds.plans import planned

DENIED = PermissionDeniedEvent(tool_use_id="toolu_1", tool_name="Read", rule="env", reason="no")


def said_of(ending: Ending, heard: Heard | None = None) -> tuple[object, str, str | None]:
    words = last_words(
        planned(),
        ending,
        heard or Heard(),
        denials=(DENIED,),
        duration_ms=5,
        message_count=2,
    )
    assert words.event.TERMINAL
    return words.event, words.state, words.error_code


def heard_half() -> Heard:
    heard = Heard(spending=Spending(input_tokens=3))
    heard.note(TextEvent(delta="half "))
    heard.note(TextEvent(delta="a word"))
    return heard


def test_a_result_is_done_with_what_the_gateway_counted() -> None:
    event, state, code = said_of(RunResult(text="the answer", usage={"cost": 9}), heard_half())
    assert isinstance(event, DoneEvent)
    assert (state, code) == ("done", None)
    assert event.response == "the answer"
    assert event.spending.input_tokens == 3
    assert event.permission_denials == (DENIED,)


def test_a_result_without_text_has_the_text_that_was_streamed() -> None:
    event, _, _ = said_of(RunResult(text=""), heard_half())
    assert isinstance(event, DoneEvent)
    assert event.response == "half a word"


def test_a_stop_is_aborted_with_its_reason_and_the_partial_text() -> None:
    event, state, _ = said_of(Stopped("enough"), heard_half())
    assert isinstance(event, AbortedEvent)
    assert (event.message, event.partial_response, state) == ("enough", "half a word", "aborted")


@pytest.mark.parametrize("failure", [EngineLost("gone", remedy="wait"), TurnTimedOut("long")])
def test_a_failure_is_an_error_with_its_code_and_remedy(failure: TurnFailed) -> None:
    event, state, code = said_of(failure, heard_half())
    assert isinstance(event, ErrorEvent)
    assert (state, code, event.code) == ("error", failure.code, failure.code)
    assert (event.error, event.remedy) == (failure.message, failure.remedy)
    assert event.partial_response == "half a word"


def test_the_text_of_an_endless_answer_is_kept_only_so_far() -> None:
    heard = Heard()
    for _ in range(40):
        heard.note(TextEvent(delta="x" * 100_000))
    assert len(heard.partial_response) < 2_000_000


def test_a_turn_cut_off_by_its_supervisors_end_says_so() -> None:
    words = cut_off(planned().run.session_id, "half")
    assert isinstance(words.event, ErrorEvent)
    assert (words.state, words.event.code) == ("interrupted", "turn_interrupted")
    assert words.event.partial_response == "half"


def test_any_error_of_the_tree_can_be_the_last_word() -> None:
    words = failed(planned().run.session_id, TrustfloorError("broken"))
    assert isinstance(words.event, ErrorEvent)
    assert words.error_code == "internal_error"
