"""A created container is judged by what the engine reports; each fact flipped is named."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.runtimes.container.spec import Limits
from supervisor.runtimes.container.verify import CHECKS, shortfalls
from tests.worlds.cage_reports import a_report, a_spec

FLIPS: list[tuple[str, Any]] = [
    ("Image", "sha256:" + "b" * 64),
    ("State.Status", "running"),
    ("Config.User", ""),
    ("Config.User", "0:0"),
    ("Config.Entrypoint", ["/bin/sh"]),
    ("Config.Cmd", ["-c", "true"]),
    ("Config.Env", ["HOME=/home/agent", "LANG=C.UTF-8", "PATH=/bin", "KEY=secret"]),
    ("Config.Env", None),
    ("Config.Labels", {}),
    ("Config.Labels", None),
    ("Config.Hostname", "host"),
    ("Config.WorkingDir", "/vault"),
    ("Config.Volumes", {"/data": {}}),
    ("Config.ExposedPorts", {"80/tcp": {}}),
    ("Config.Healthcheck", {"Test": ["CMD", "true"]}),
    ("Config.Tty", True),
    ("Config.OpenStdin", False),
    ("Config.StdinOnce", False),
    ("ExecIDs", ["1"]),
    ("HostConfig.Privileged", True),
    ("HostConfig.Privileged", None),
    ("HostConfig.CapAdd", ["SYS_ADMIN"]),
    ("HostConfig.CapDrop", []),
    ("HostConfig.CapDrop", ["NET_RAW"]),
    ("HostConfig.SecurityOpt", None),
    ("HostConfig.SecurityOpt", ["no-new-privileges", "seccomp=unconfined"]),
    ("HostConfig.SecurityOpt", ["no-new-privileges:false"]),
    ("HostConfig.SecurityOpt", ["apparmor=unconfined"]),
    ("AppArmorProfile", "unconfined"),
    ("HostConfig.GroupAdd", ["0"]),
    ("HostConfig.Sysctls", {"net.ipv4.ip_forward": "1"}),
    ("HostConfig.NetworkMode", "bridge"),
    ("HostConfig.NetworkMode", "host"),
    ("HostConfig.NetworkMode", "default"),
    ("Config.NetworkDisabled", False),
    ("NetworkSettings.Networks", {"none": {}, "bridge": {}}),
    ("NetworkSettings.Networks", None),
    ("HostConfig.PidMode", "host"),
    ("HostConfig.IpcMode", "host"),
    ("HostConfig.IpcMode", "shareable"),
    ("HostConfig.UTSMode", "host"),
    ("HostConfig.UsernsMode", "host"),
    ("HostConfig.CgroupnsMode", "host"),
    ("HostConfig.Cgroup", "container:x"),
    ("HostConfig.CgroupParent", "/elsewhere"),
    ("HostConfig.ReadonlyRootfs", False),
    ("Mounts", []),
    ("Mounts", None),
    ("HostConfig.Mounts", None),
    ("HostConfig.Binds", ["/:/host"]),
    ("HostConfig.VolumesFrom", ["other"]),
    ("HostConfig.VolumeDriver", "nfs"),
    ("HostConfig.Tmpfs", {"/tmp": "rw"}),
    ("HostConfig.Tmpfs", None),
    ("HostConfig.MaskedPaths", []),
    ("HostConfig.MaskedPaths", None),
    ("HostConfig.ReadonlyPaths", []),
    ("HostConfig.LogConfig.Type", "json-file"),
    ("HostConfig.Devices", [{"PathOnHost": "/dev/sda"}]),
    ("HostConfig.DeviceRequests", [{"Driver": "nvidia"}]),
    ("HostConfig.DeviceCgroupRules", ["a *:* rwm"]),
    ("HostConfig.PortBindings", {"80/tcp": [{"HostPort": "80"}]}),
    ("HostConfig.PublishAllPorts", True),
    ("HostConfig.Links", ["db"]),
    ("HostConfig.ExtraHosts", ["metadata:169.254.169.254"]),
    ("HostConfig.Memory", 0),
    ("HostConfig.Memory", 1 << 40),
    ("HostConfig.MemorySwap", -1),
    ("HostConfig.OomKillDisable", True),
    ("HostConfig.PidsLimit", None),
    ("HostConfig.PidsLimit", 0),
    ("HostConfig.NanoCpus", 0),
    ("HostConfig.Ulimits", None),
    ("HostConfig.RestartPolicy.Name", "always"),
    ("HostConfig.AutoRemove", True),
    ("HostConfig.Init", True),
]

MAY_BE_ABSENT = {check.path for check in CHECKS if check.may_be_absent}


def put(report: dict[str, Any], path: str, value: Any) -> None:
    *folders, name = path.split(".")
    for folder in folders:
        report = report[folder]
    report[name] = value


def drop(report: dict[str, Any], path: str) -> None:
    *folders, name = path.split(".")
    for folder in folders:
        report = report[folder]
    report.pop(name, None)


def test_what_was_asked_for_has_no_shortfall() -> None:
    spec = a_spec()
    assert shortfalls(spec, a_report(spec)) == ()


@pytest.mark.parametrize(("path", "value"), FLIPS)
def test_a_fact_that_is_otherwise_is_named(path: Any, value: Any) -> None:
    spec = a_spec()
    report = a_report(spec)
    put(report, path, value)
    found = shortfalls(spec, report)
    assert len(found) == 1
    assert found[0].startswith(path)


def test_every_check_is_flipped_at_least_once() -> None:
    assert {check.path for check in CHECKS} == {path for path, _ in FLIPS}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.path)
def test_a_fact_that_is_not_reported_counts_against_the_container(check: Any) -> None:
    spec = a_spec()
    report = a_report(spec)
    drop(report, check.path)
    found = shortfalls(spec, report)
    if check.path in MAY_BE_ABSENT:
        assert found == ()
    else:
        assert any(each.startswith(check.path) and "not reported" in each for each in found)


@pytest.mark.parametrize(
    "change",
    [
        {"RW": True},
        {"Propagation": "rshared"},
        {"Type": "volume"},
        {"Source": "/etc"},
        {"Destination": "/other"},
    ],
)
def test_a_mount_that_is_otherwise_is_named(change: Any) -> None:
    spec = a_spec()
    report = a_report(spec)
    report["Mounts"][0].update(change)
    assert [each.split(" ")[0] for each in shortfalls(spec, report)] == ["Mounts"]


def test_a_third_mount_is_named() -> None:
    spec = a_spec()
    report = a_report(spec)
    report["Mounts"].append({**report["Mounts"][0], "Destination": "/more"})
    assert [each.split(" ")[0] for each in shortfalls(spec, report)] == ["Mounts"]


def test_a_bind_that_would_bring_what_is_mounted_below_it_is_named() -> None:
    spec = a_spec()
    report = a_report(spec)
    report["HostConfig"]["Mounts"][0]["BindOptions"].pop("NonRecursive")
    assert [each.split(" ")[0] for each in shortfalls(spec, report)] == ["HostConfig.Mounts"]


def test_a_host_option_that_nobody_knows_here_is_a_shortfall_once_it_is_set() -> None:
    spec = a_spec()
    report = a_report(spec)
    report["HostConfig"]["BackDoor"] = None
    assert shortfalls(spec, report) == ()
    report["HostConfig"]["BackDoor"] = ["open"]
    assert shortfalls(spec, report) == (
        "HostConfig.BackDoor is ['open'], and nobody knows it here",
    )


def test_limits_are_the_ones_of_this_spec_not_of_any() -> None:
    report = a_report(a_spec(limits=Limits(pids=512)))
    assert [each.split(" ")[0] for each in shortfalls(a_spec(), report)] == ["HostConfig.PidsLimit"]


def test_an_empty_report_has_every_shortfall() -> None:
    assert len(shortfalls(a_spec(), {})) == len(CHECKS) - len(MAY_BE_ABSENT)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(st.sampled_from([check.path for check in CHECKS]), JSON)
def test_a_report_of_any_shape_is_judged_and_never_an_error(path: Any, value: Any) -> None:
    spec = a_spec()
    report = copy.deepcopy(a_report(spec))
    put(report, path, value)
    shortfalls(spec, report)


@given(st.dictionaries(st.sampled_from(["Config", "HostConfig", "Mounts", "State"]), JSON))
def test_a_report_that_is_none_at_all_is_full_of_shortfalls(report: Any) -> None:
    assert shortfalls(a_spec(), report)
