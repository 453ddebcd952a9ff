"""Messages to far servers: admitted for the turn's own, within the limits of any request."""

import json

import pytest

from supervisor.ids import SessionId
from supervisor.runtimes import wire
from supervisor.runtimes.admitted import Admitted, FarCancelled, FarMessage, Objection
from supervisor.runtimes.wire import Wire

SESSION = SessionId("11111111-2222-4333-8444-555555555555")
MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def a_wire(*far: str) -> Wire:
    return Wire(SESSION, "/projects", frozenset(far))


def request(request_id: str = "r1", **changes: object) -> dict[str, object]:
    asked = {"subtype": "mcp_message", "server_name": "far", "message": MESSAGE, **changes}
    return {"type": "control_request", "request_id": request_id, "request": asked}


def fed(target: Wire, *frames: object) -> list[Admitted]:
    lines = [json.dumps(frame).encode() + b"\n" for frame in frames]
    return [admitted for line in lines for admitted in target.feed(line)]


def test_a_message_to_a_server_of_the_turn_is_admitted_and_to_no_other() -> None:
    assert fed(a_wire("far"), request()) == [FarMessage("r1", "far", MESSAGE)]
    for target in (a_wire(), a_wire("another")):
        (objection,) = fed(target, request())
        assert isinstance(objection, Objection)
        assert objection.code == "request_not_allowed"


@pytest.mark.parametrize("server", [None, 1, ["far"], {"far": 1}, "", "FAR"])
def test_a_server_that_is_none_is_refused(server: object) -> None:
    (objection,) = fed(a_wire("far"), request(server_name=server))
    assert isinstance(objection, Objection)


@pytest.mark.parametrize("message", [None, 1, "tools/list", [MESSAGE]])
def test_what_is_no_message_is_refused(message: object) -> None:
    (objection,) = fed(a_wire("far"), request(message=message))
    assert isinstance(objection, Objection)
    assert objection.code == "bad_request"


def test_an_id_counts_once_until_it_is_answered() -> None:
    target = a_wire("far")
    first, second = fed(target, request(), request())
    assert isinstance(first, FarMessage)
    assert isinstance(second, Objection)
    target.sent(json.dumps({"type": "control_response", "response": {"request_id": "r1"}}))
    assert fed(target, request()) == [FarMessage("r1", "far", MESSAGE)]


def test_one_that_is_cancelled_is_told_once_and_not_to_the_sdk() -> None:
    target = a_wire("far")
    cancel = {"type": "control_cancel_request", "request_id": "r1"}
    assert fed(target, cancel) == []
    assert fed(target, request(), cancel, cancel) == [
        FarMessage("r1", "far", MESSAGE),
        FarCancelled("r1"),
    ]


def test_messages_count_towards_the_limits_of_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_OPEN_REQUESTS", 2)
    admitted = fed(a_wire("far"), *(request(f"r{i}") for i in range(5)))
    assert [type(each) for each in admitted] == [FarMessage, FarMessage, Objection]
