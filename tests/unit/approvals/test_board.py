"""The board of what is open: a watcher, however slow, ends up knowing exactly what is open."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.approvals import board as module
from supervisor.approvals.board import Board, TurnContext, Watch
from supervisor.events.schema import PermissionResolvedEvent, UserMessageEvent
from supervisor.ids import RequestId, SessionId, TurnId


@dataclass(frozen=True)
class Note:
    """Something that is on the board."""

    id: RequestId
    turn: TurnContext
    asked: UserMessageEvent


def request(number: int) -> Note:
    turn = TurnContext(SessionId(f"s{number % 3}"), TurnId("turn_1"))
    return Note(RequestId(f"r{number:03}"), turn, UserMessageEvent(content=str(number)))


class Model:
    """What a reader of the changes believes to be open, in order."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.open: list[str] = []

    def look(self) -> None:
        ended, fresh = self.watch.look()
        for gone in ended:
            self.open.remove(gone.resolved.id)
        for each in fresh:
            assert each.id not in self.open
            self.open.append(each.id)


@given(st.lists(st.tuples(st.sampled_from(["ask", "end", "look", "look slowly"]), st.integers(0))))
def test_whatever_happens_a_watcher_knows_what_is_open_in_its_order(
    steps: list[tuple[str, int]],
) -> None:
    board, posted = Board(), 0
    with board.watching(lambda _: True) as quick, board.watching(lambda _: True) as slow:
        often, seldom = Model(quick), Model(slow)
        open_now: list[Note] = []
        for step, number in steps:
            if step == "ask":
                made = request(posted)
                posted += 1
                open_now.append(made)
                board.post(made)
            elif step == "end" and open_now:
                gone = open_now.pop(number % len(open_now))
                board.settle(gone, PermissionResolvedEvent(id=gone.id, decision="denied"))
            often.look()
            if step == "look slowly":
                seldom.look()
            assert often.open == [each.id for each in open_now] == [e.id for e in board.open()]
        seldom.look()
        assert seldom.open == often.open
    assert board.watchers == 0


def test_what_somebody_may_not_see_is_told_neither_open_nor_closed() -> None:
    board = Board()
    mine, other = request(0), request(1)
    with board.watching(lambda each: each.turn.session_id == "s0") as watch:
        board.post(mine)
        board.post(other)
        assert [each.id for each in watch.look()[1]] == [mine.id]
        for each in (mine, other):
            board.settle(each, PermissionResolvedEvent(id=each.id, decision="granted"))
        (ended,) = watch.look()[0]
        assert (ended.resolved.id, ended.resolved.decision) == (mine.id, "granted")


def test_one_closed_so_long_ago_that_nobody_remembers_how_is_void_to_a_very_slow_watcher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 1)
    board = Board()
    with board.watching(lambda _: True) as watch:
        requests = [request(0), request(1)]
        for each in requests:
            board.post(each)
        watch.look()
        for each in requests:
            board.settle(each, PermissionResolvedEvent(id=each.id, decision="granted"))
        assert [each.resolved.decision for each in watch.look()[0]] == ["void", "granted"]
