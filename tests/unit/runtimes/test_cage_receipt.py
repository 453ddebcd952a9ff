"""A cage's receipt is judged by a closed list: what is missing or odd counts against it."""

from typing import Any

import pytest

from supervisor.runtimes.local.bubblewrap import Bind, CageSpec
from supervisor.runtimes.local.cage_receipt import (
    FORBIDDEN_ACTS,
    Demands,
    parse,
    shortfalls,
    summary,
)
from supervisor.runtimes.local.entry import FORBIDDEN, to_json

SPEC = CageSpec(
    vault="/v", cwd="/v", home="/home/a", system=(), programs=(), turn=(), uid=7, gid=8,
    by_root=True, covers=(Bind("/m", "/v/.env"),), read_only=("/v/policies",), absent=("/data",),
)  # fmt: skip
DEMANDS = Demands(SPEC, ("1:2",), frozenset({"HOME"}))


def good() -> dict[str, Any]:
    return {
        "trustfloor": "receipt",
        "uids": [7, 7, 7],
        "gids": [8, 8, 8],
        "groups": [],
        "capabilities": dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), "0000"),
        "noNewPrivileges": 1,
        "seccomp": 2,
        "processes": 2,
        "environment": ["HOME", "PWD"],
        "interfaces": ["eth0", "lo"],
        "writableMounts": ["/v", "/tmp", "/home/a", "/dev/pts", "/proc"],
        "absent": ["ENOENT"],
        "covered": ["1:2"],
        "readOnly": ["ro"],
        "acts": {act: min(refusals) for act, refusals in FORBIDDEN_ACTS.items()},
    }


def test_control_a_cage_as_it_must_be_has_no_shortfall() -> None:
    assert shortfalls(good(), DEMANDS) == ()


def test_each_thing_that_was_not_measured_counts() -> None:
    for name in set(good()) - {"trustfloor"}:
        measured = good()
        del measured[name]
        assert shortfalls(measured, DEMANDS), name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("uids", [0, 7, 7]),
        ("groups", [0]),
        ("capabilities", {"CapEff": "0"}),
        ("capabilities", good()["capabilities"] | {"CapBnd": "1"}),
        ("noNewPrivileges", 0),
        ("seccomp", 0),
        ("processes", 40),
        ("processes", "two"),
        ("environment", ["HOME", "ANTHROPIC_SECRET"]),
        ("writableMounts", ["/v", "/usr"]),
        ("writableMounts", [7]),
        ("absent", ["DONE"]),
        ("absent", []),
        ("covered", ["9:9"]),
        ("covered", [["1:2"]]),
        ("readOnly", ["rw"]),
        ("acts", {}),
        ("acts", "none"),
    ],
)
def test_what_is_weaker_or_of_another_form_counts(name: str, value: object) -> None:
    assert shortfalls(good() | {name: value}, DEMANDS)


@pytest.mark.parametrize("act", FORBIDDEN_ACTS)
def test_each_forbidden_act_that_succeeds_counts(act: str) -> None:
    measured = good()
    measured["acts"][act] = "DONE"
    assert shortfalls(measured, DEMANDS) == (f"{act}: DONE",)


def test_what_the_entry_tries_is_what_is_judged() -> None:
    assert set(FORBIDDEN) == set(FORBIDDEN_ACTS)


def test_a_receipt_survives_the_way_and_all_else_is_none() -> None:
    assert parse(to_json(good()).encode()) == good()
    for line in (b"", b"{}", b"[]", b"bwrap: no", b'{"trustfloor": 1}', b"[" * 100_000):
        assert parse(line) is None


def test_an_event_carries_how_many_places_there_are_and_not_which() -> None:
    told = summary(good(), DEMANDS)
    assert told["covered"] == 1
    assert "/v/.env" not in repr(told)
