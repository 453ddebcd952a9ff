"""What a sandbox measured of itself is judged; anything missing, odd or weaker is named."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.runtimes.container.receipt import (
    FORBIDDEN_ACTS,
    MAX_LINE_BYTES,
    judge,
    measured_shortfalls,
    parse,
    receipt_of,
)
from tests.worlds.cage_reports import NONCE, a_measurement, a_report, a_spec

WEAKER: list[tuple[str, Any]] = [
    ("nonce", "another"),
    ("nonce", ""),
    ("uids", [0, 0, 0]),
    ("uids", [10001, 10001, 0]),
    ("gids", [0, 0, 0]),
    ("groups", [10001, 999]),
    ("capabilities", {}),
    ("capabilities", dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), "1")),
    ("capabilities", {"CapEff": "0"}),
    ("noNewPrivileges", 0),
    ("noNewPrivileges", True),
    ("seccomp", 0),
    ("seccomp", "2"),
    ("interfaces", ["eth0", "lo"]),
    ("routes", ["eth0"]),
    ("devices", ["null", "sda"]),
    ("devices", "null"),
    ("processes", 200),
    ("processes", 0),
    ("hostname", "host"),
    ("environment", ["HOME", "ANTHROPIC_API_KEY"]),
    ("memoryBytes", 1 << 60),
    ("memoryBytes", -1),
    ("pids", 100_000),
    ("fileBytes", -1),
    ("coreBytes", -1),
]


def test_a_good_cage_has_no_shortfall() -> None:
    spec = a_spec()
    assert judge(a_measurement(spec), a_report(spec), spec, NONCE) == ()


@pytest.mark.parametrize(("fact", "value"), WEAKER)
def test_a_weaker_fact_is_named(fact: Any, value: Any) -> None:
    spec = a_spec()
    found = measured_shortfalls({**a_measurement(spec), fact: value}, spec, NONCE)
    assert len(found) == 1
    assert found[0].startswith(fact)


@pytest.mark.parametrize("fact", sorted(set(a_measurement(a_spec())) - {"trustfloor", "micros"}))
def test_a_fact_that_was_not_measured_counts_against_the_cage(fact: Any) -> None:
    spec = a_spec()
    measured = a_measurement(spec)
    del measured[fact]
    assert measured_shortfalls(measured, spec, NONCE)


@pytest.mark.parametrize("act", FORBIDDEN_ACTS)
@pytest.mark.parametrize("outcome", ["DONE", "EIO", None, 0, ["EPERM"]])
def test_a_forbidden_act_that_was_possible_or_not_tried_is_named(act: Any, outcome: Any) -> None:
    spec = a_spec()
    measured = a_measurement(spec)
    measured["acts"][act] = outcome
    found = measured_shortfalls(measured, spec, NONCE)
    assert len(found) == 1
    assert found[0].startswith(act)


@pytest.mark.parametrize(
    "mount",
    [
        {"target": "/vault", "type": "ext4", "mode": "rw", "options": "rw"},
        {"target": "/run/trustfloor", "type": "ext4", "mode": "rw", "options": "rw"},
        {"target": "/vault/below", "type": "ext4", "mode": "ro", "options": "ro"},
        {"target": "/host", "type": "ext4", "mode": "ro", "options": "ro"},
        {"target": "/", "type": "overlay", "mode": "rw", "options": "rw"},
        {"target": "/tmp", "type": "tmpfs", "mode": "rw", "options": "rw,nodev"},
        {"target": "/sys", "type": "sysfs", "mode": "rw", "options": "rw"},
        {"target": "/proc/sys", "type": "proc", "mode": "rw", "options": "rw"},
        {"target": "/dev", "type": "devtmpfs", "mode": "rw", "options": "rw"},
        {"target": "/var/run/docker.sock", "type": "tmpfs", "mode": "ro", "options": "ro"},
        {"target": "/vault"},
        "a mount",
    ],
)
def test_a_mount_that_does_not_belong_is_a_shortfall_also_when_the_good_one_is_there(
    mount: Any,
) -> None:
    spec = a_spec()
    measured = a_measurement(spec)
    measured["mounts"].append(mount)
    assert len(measured_shortfalls(measured, spec, NONCE)) == 1


@pytest.mark.parametrize("target", ["/", "/vault", "/run/trustfloor", "/tmp", "/home/agent"])
def test_a_mount_that_is_missing_is_a_shortfall(target: Any) -> None:
    spec = a_spec()
    measured = a_measurement(spec)
    measured["mounts"] = [each for each in measured["mounts"] if each["target"] != target]
    assert measured_shortfalls(measured, spec, NONCE) == (f"{target} is not mounted",)


def test_without_a_nonce_nothing_is_accepted() -> None:
    spec = a_spec()
    assert measured_shortfalls({**a_measurement(spec), "nonce": ""}, spec, "")


def test_the_receipt_carries_both_halves_and_nothing_that_was_smuggled_in() -> None:
    spec = a_spec()
    measured = {**a_measurement(spec), "smuggled": "x" * 10}
    made = receipt_of(measured, a_report(spec), spec, NONCE)
    assert made.shortfalls == ()
    assert made.cage == "container"
    assert set(made.measured) == {"engine", "inside"}
    assert "smuggled" not in made.measured["inside"]
    assert made.measured["inside"]["seccomp"] == 2
    json.dumps(made.measured)


def test_a_weak_engine_report_is_a_shortfall_also_when_the_probe_says_all_is_well() -> None:
    spec = a_spec()
    report = a_report(spec)
    report["HostConfig"]["Privileged"] = True
    assert any("Privileged" in each for each in judge(a_measurement(spec), report, spec, NONCE))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"trustfloor":"other"}',
        b"\xff\xfe",
        b"[" * 20_000,
        b'{"trustfloor":"receipt","x":"' + b"x" * MAX_LINE_BYTES + b'"}',
    ],
)
def test_a_line_that_is_no_receipt_is_none(line: Any) -> None:
    assert parse(line) is None


def test_a_receipt_is_parsed() -> None:
    measured = a_measurement(a_spec())
    assert parse(json.dumps(measured).encode()) == measured


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(st.sampled_from(sorted(a_measurement(a_spec()))), JSON)
def test_a_measurement_of_any_shape_is_judged_and_never_an_error(fact: Any, value: Any) -> None:
    spec = a_spec()
    found = measured_shortfalls({**a_measurement(spec), fact: value}, spec, NONCE)
    assert all(each.isprintable() and len(each) < 300 for each in found)


@given(st.dictionaries(st.text(max_size=8), JSON))
def test_a_receipt_of_anything_else_is_full_of_shortfalls(measured: Any) -> None:
    assert measured_shortfalls(measured, a_spec(), NONCE)
