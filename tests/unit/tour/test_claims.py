"""The tour's judgements can fail: each claim is shown a world in which it doesn't hold."""

from typing import Any

import pytest

from supervisor.cli.client import Heard
from supervisor.cli.tour.claims import (
    Told,
    found_in,
    gave_no_secret,
    nothing_came_out,
    numbered_without_gaps,
    outcome,
    own_containers,
    plain,
    ran_at,
    says,
    shortened,
)
from supervisor.cli.tour.sandbox_steps import environments_are_clean, receipt_shown
from supervisor.cli.tour.witness import Looked

SECRETS = {".env": "secret-0123", "the key": "sk-ant-demo-canary-4567"}


Event = tuple[str, dict[str, Any]]


def told(*events: Event, start: int = 1) -> Told:
    return Told(tuple(Heard(start + n, kind, data) for n, (kind, data) in enumerate(events)))


def session(level: str = "sandboxed", name: str = "s1") -> Event:
    return ("session", {"sessionId": name, "trustLevel": level})


def isolation(cage: str = "container", *, accepted: bool = True, **receipt: Any) -> Event:
    return ("isolation", {"cage": cage, "accepted": accepted, "receipt": receipt})


def call(
    identity: str, command: str, result: str | None = None, *, failed: bool = False
) -> list[Event]:
    events: list[Event] = [
        ("tool_use", {"tool": {"id": identity, "name": "Bash", "input": {"command": command}}})
    ]
    if result is not None:
        events.append(
            ("tool_result", {"toolUseId": identity, "content": result, "isError": failed})
        )
    return events


DONE: Event = ("done", {"response": "So it is."})


def test_a_call_is_told_with_its_result_and_found_by_a_part_of_its_command() -> None:
    turn = told(session(), *call("a", "ls /vault", "notes"), *call("b", "cat x", "no", failed=True))
    assert [act.result for act in turn.acts] == ["notes", "no"]
    assert turn.act("cat").failed
    assert turn.act("ls").subject == "ls /vault"


def test_results_that_come_in_another_order_stay_with_their_calls() -> None:
    first, second = call("a", "one", "1"), call("b", "two", "2")
    turn = told(first[0], second[0], second[1], first[1])
    assert [act.result for act in turn.acts] == ["1", "2"]


def test_a_call_that_was_never_made_holds_nothing() -> None:
    turn = told(session(), DONE)
    assert not gave_no_secret("no secret", turn.act("cat"), SECRETS).held
    assert not says("it says", turn.act("cat"), "").held
    assert outcome(turn.act("cat")) == "no such call was heard"


def test_a_call_without_a_result_holds_nothing() -> None:
    turn = told(*call("a", "cat x"))
    assert not gave_no_secret("no secret", turn.act("cat"), SECRETS).held
    assert not says("it says", turn.act("cat"), "").held


def test_an_empty_result_gives_no_secret() -> None:
    turn = told(*call("a", "cat x", ""))
    claim = gave_no_secret("no secret", turn.act("cat"), SECRETS)
    assert claim.held
    assert claim.evidence == "(nothing)"


def test_a_result_with_a_secret_does_not_hold_and_the_evidence_does_not_repeat_it() -> None:
    turn = told(*call("a", "cat x", "TOKEN=secret-0123"))
    claim = gave_no_secret("no secret", turn.act("cat"), SECRETS)
    assert not claim.held
    assert ".env" in claim.evidence
    assert "secret-0123" not in claim.evidence


@pytest.mark.parametrize(
    "leak",
    [
        ("text", {"delta": "it is sk-ant-demo-canary-4567"}),
        ("tool_use", {"tool": {"id": "a", "name": "Bash", "input": {"command": "x secret-0123"}}}),
        ("error", {"error": "failed near secret-0123"}),
        ("isolation", {"receipt": {"probe": {"environment": ["KEY=sk-ant-demo-canary-4567"]}}}),
    ],
    ids=lambda leak: leak[0],
)
def test_a_secret_in_any_event_does_not_hold(leak: Event) -> None:
    assert nothing_came_out([told(session(), DONE)], SECRETS, "none").held
    claim = nothing_came_out([told(session(), leak, DONE)], SECRETS, "none")
    assert not claim.held
    assert not found_in(claim.evidence, SECRETS)


def test_having_heard_nothing_proves_nothing() -> None:
    assert not nothing_came_out([], SECRETS, "none").held
    assert not numbered_without_gaps([]).held
    assert not own_containers([], {}).held


@pytest.mark.parametrize(
    ("last", "says_why"),
    [
        (("error", {"error": "the engine went away"}), "the engine went away"),
        (("aborted", {"message": "by a person"}), "by a person"),
        (("text", {"delta": "and then"}), "not heard"),
    ],
)
def test_a_turn_that_ended_otherwise_did_not_end_well(last: Event, says_why: str) -> None:
    assert told(session(), DONE).ended == "done"
    turn = told(session(), last)
    assert turn.ended != "done"
    assert says_why in turn.ended


def test_what_to_do_about_a_turn_that_failed_is_told() -> None:
    failed = told(session(), ("error", {"error": "no image", "remedy": "run scripts/images"}))
    assert failed.remedy == "run scripts/images"
    assert told(session(), DONE).remedy is None
    assert told().remedy is None


@pytest.mark.parametrize(
    "events",
    [
        [session("full"), isolation()],
        [session(), isolation("none")],
        [session(), isolation(accepted=False)],
        [session(), ("text", {"delta": "early"}), isolation()],
        [session()],
        [],
    ],
    ids=["looser level", "no cage", "not accepted", "receipt too late", "no receipt", "nothing"],
)
def test_a_weaker_cage_or_a_late_receipt_does_not_hold(events: list[Event]) -> None:
    assert ran_at(told(session(), isolation(), DONE), "sandboxed", "container").held
    assert not ran_at(told(*events), "sandboxed", "container").held


def test_a_gap_in_the_numbers_does_not_hold() -> None:
    first = told(session(), DONE)
    assert numbered_without_gaps([first, told(session(), DONE, start=3)]).held
    assert numbered_without_gaps([first, told(session(name="s2"), DONE)]).held
    assert not numbered_without_gaps([first, told(session(), DONE, start=4)]).held
    assert not numbered_without_gaps([first, told(session(), DONE, start=2)]).held


@pytest.mark.parametrize(
    "made",
    [{}, {"c1": "t1"}, {"c1": "t1", "c2": "t1"}, {"c1": "t1", "c2": "t2", "c3": ""}],
    ids=["none", "one for two", "two for one", "one too many"],
)
def test_other_containers_than_one_for_each_message_do_not_hold(made: dict[str, str]) -> None:
    turns = [told(("session", {"turn_id": name})) for name in ("t1", "t2")]
    assert own_containers(turns, {"c1": "t1", "c2": "t2"}).held
    assert not own_containers(turns, made).held


def test_a_secret_that_had_to_be_redacted_was_there() -> None:
    leak: Event = ("text", {"delta": "it is [redacted]"})
    assert not nothing_came_out([told(session(), leak, DONE)], SECRETS, "none").held


GOOD_PROBE: dict[str, Any] = {
    "capabilities": {"CapEff": "0000000000000000", "CapBnd": "0000000000000000"},
    "noNewPrivileges": 1,
    "seccomp": 2,
    "interfaces": ["lo"],
    "uids": [10001, 10001, 10001],
    "acts": {"mount": "EPERM", "become root": "EPERM"},
}
ENGINE = {"network": "none", "readOnlyRoot": True}


def test_a_receipt_that_shows_a_closed_cage_holds() -> None:
    assert receipt_shown(told(session(), isolation(inside=GOOD_PROBE, engine=ENGINE))).held


@pytest.mark.parametrize(
    "weaker",
    [
        {"capabilities": {"CapEff": "0000000000000020"}},
        {"capabilities": {}},
        {"noNewPrivileges": 0},
        {"seccomp": 0},
        {"interfaces": ["eth0", "lo"]},
        {"uids": [0, 0, 0]},
        {"acts": {"mount": "DONE"}},
        {"acts": {}},
    ],
    ids=str,
)
def test_a_receipt_that_shows_something_open_does_not_hold(weaker: dict[str, Any]) -> None:
    inside = GOOD_PROBE | weaker
    assert not receipt_shown(told(session(), isolation(inside=inside, engine=ENGINE))).held
    assert not receipt_shown(told(session())).held


def test_evidence_is_one_short_line() -> None:
    assert shortened("one\n\n  two\r\nthree") == "one · two · three"
    assert len(shortened("x" * 500)) == 110
    assert shortened("x" * 500).endswith("…")


@pytest.mark.parametrize(
    ("result", "says_so"),
    [
        ("Exit code 1\ncat: x: No such file", "cat: x: No such file"),
        ("refused: `x` is denied", "`x` is denied"),
        ("     7→the seventh\n     8\tthe eighth", "the seventh\nthe eighth"),
        ("it is Exit code 1 here, 7→8", "it is Exit code 1 here, 7→8"),
    ],
)
def test_evidence_leaves_out_what_the_agent_s_program_adds(result: str, says_so: str) -> None:
    assert plain(result).strip() == says_so


def looked(
    *holding: int, read: tuple[int, ...] = (1, 7, 9), closed: tuple[int, ...] = ()
) -> Looked:
    return Looked(frozenset(read), frozenset(closed), frozenset(holding))


def test_environments_are_clean_if_the_decoy_alone_has_the_key() -> None:
    assert environments_are_clean([(9, looked(9))], 7).held
    closed = environments_are_clean([(9, looked(9, read=(1, 9), closed=(7,)))], 7)
    assert closed.held
    assert "closed" in closed.evidence


@pytest.mark.parametrize(
    "found",
    [
        [],
        [(9, looked())],
        [(9, looked(7, 9))],
        [(9, looked(7))],
        [(9, looked(9, read=(1, 9)))],
    ],
    ids=["not looked", "misses the decoy", "in another", "only in another", "supervisor not seen"],
)
def test_environments_that_have_the_key_or_were_not_seen_do_not_hold(
    found: list[tuple[int, Looked]],
) -> None:
    assert not environments_are_clean(found, 7).held


@pytest.mark.parametrize("weaker", [{"network": "bridge"}, {"readOnlyRoot": False}], ids=str)
def test_an_engine_that_reports_something_open_does_not_hold(weaker: dict[str, Any]) -> None:
    engine = ENGINE | weaker
    assert not receipt_shown(told(session(), isolation(inside=GOOD_PROBE, engine=engine))).held
