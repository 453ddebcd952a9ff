"""What goes on turn after turn is told when it begins."""

from supervisor.events.schema import WarningEvent
from supervisor.ids import SessionId
from supervisor.mcp.chosen import LEFT_OUT
from supervisor.sessions.warned import MOST_OF_A_TURN, MOST_SESSIONS, Warned

S = SessionId("s")
FAILED = WarningEvent(code=LEFT_OUT, message="the MCP server a is left out")


def told(warned: Warned, *events: WarningEvent, session: SessionId = S) -> list[bool]:
    warned.turn_begins(session)
    return [not warned.is_told(session, each) for each in events]


def test_a_trouble_that_goes_on_is_told_once_and_anew_after_a_turn_without_it() -> None:
    warned = Warned()
    other = WarningEvent(code=LEFT_OUT, message="the MCP server b is left out")
    assert told(warned, FAILED) == [True]
    assert told(warned, FAILED, other) == [False, True]
    assert told(warned, FAILED) == [False]
    assert told(warned) == []
    assert told(warned, FAILED) == [True]


def test_other_sessions_and_other_warnings_are_told_each_time() -> None:
    warned = Warned()
    retry = WarningEvent(code="model_retry", message="trying again")
    assert told(warned, FAILED, retry) == [True, True]
    assert told(warned, retry) == [True]
    assert told(warned, FAILED, session=SessionId("t")) == [True]


def test_what_is_remembered_is_bounded() -> None:
    warned = Warned()
    many = [WarningEvent(code=LEFT_OUT, message=str(n)) for n in range(MOST_OF_A_TURN + 50)]
    assert all(told(warned, *many))
    assert sum(told(warned, *many)) == 50
    for number in range(MOST_SESSIONS):
        warned.turn_begins(SessionId(f"other-{number}"))
    assert told(warned, FAILED) == [True]
