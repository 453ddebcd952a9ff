"""One host has one spelling, however it was written."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.policy.hosts import (
    METADATA,
    address,
    canonical_host,
    host_matches,
    hosts_of,
    is_metadata,
    is_private,
)
from supervisor.variables import SHIPPED_POLICIES


@pytest.mark.parametrize(
    "spelling",
    [
        "169.254.169.254", "2852039166", "0xa9fea9fe", "0xA9.0xFE.0xA9.0xFE", "0251.0376.0251.0376",
        "169.254.43518", "169.16689662", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]",
        "::ffff:a9fe:a9fe", "169.254.169.254.", "169.254.169.254:80", "user@169.254.169.254",
        "a:b@169.254.169.254:80", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", " 169.254.169.254 ",
        "\uff11\uff16\uff19.254.169.254", "169\u3002254\u3002169\u3002254",
    ],
)  # fmt: skip
def test_every_spelling_of_an_address_is_that_address(spelling: str) -> None:
    assert canonical_host(spelling) == "169.254.169.254"


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [
        ("Example.ORG", "example.org"),
        ("example.org:8080", "example.org"),
        ("example.org.", "example.org"),
        ("docs.python.org@evil.example", "evil.example"),
        ("[FD00:EC2::254]", "fd00:ec2::254"),
        ("fd00:ec2:0:0:0:0:0:254", "fd00:ec2::254"),
        ("127.1", "127.0.0.1"),
        ("0", "0.0.0.0"),  # noqa: S104
        ("1.2.3.256", "1.2.3.256"),
        ("08.1.1.1", "08.1.1.1"),
    ],
)
def test_a_host_has_one_spelling(spelling: str, canonical: str) -> None:
    assert canonical_host(spelling) == canonical


@pytest.mark.parametrize(
    "host",
    ["localhost", "127.0.0.1", "10.0.0.5", "192.168.1.1", "172.16.0.1", "169.254.169.254", "::1",
     "fe80::1", "fd00::1", "0.0.0.1", "100.64.0.1", "printer", "a.localhost", "nas.local",
     "x.internal", "224.0.0.1"],
)  # fmt: skip
def test_this_machine_and_its_networks_are_private(host: str) -> None:
    assert is_private(host)


@pytest.mark.parametrize("host", ["example.org", "1.1.1.1", "2606:4700::1111", "localhost.example"])
def test_the_open_net_is_not_private(host: str) -> None:
    assert not is_private(host)


@pytest.mark.parametrize(
    ("host", "pattern", "fits"),
    [
        ("a.example.org", "*.example.org", True),
        ("example.org", "*.example.org", False),
        ("evilexample.org", "*.example.org", False),
        ("example.org", "Example.org", True),
        ("example.org.evil.net", "example.org", False),
        ("127.0.0.1", "2130706433", True),
        ("anything.at.all", "*", True),
    ],
)
def test_a_pattern_of_hosts_ends_at_a_dot(host: str, pattern: str, fits: bool) -> None:
    assert host_matches(host, pattern) is fits


@given(st.text(max_size=60))
def test_no_text_makes_it_fail(text: str) -> None:
    assert is_private(canonical_host(text)) in (True, False)


@pytest.mark.parametrize(
    "spelling",
    ["169.254.169.254", "2852039166", "::ffff:169.254.169.254", "::169.254.169.254",
     "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::", "::ffff:0:a9fe:a9fe",
     "100.100.100.200", "::ffff:100.100.100.200", "168.63.129.16", "fd00:ec2::254", "fe80::1",
     "fe80::a9fe:a9fe%eth0", "2001:0:a9fe:a9fe::"],
)  # fmt: skip
def test_a_machines_metadata_is_known_in_every_spelling(spelling: str) -> None:
    assert is_metadata(spelling)


@pytest.mark.parametrize(
    "spelling",
    ["127.0.0.1", "::1", "10.0.0.5", "100.100.100.201", "fd00:ec2::255", "192.0.2.1", "2001:db8::1",
     "64:ff9b::c000:201", "metadata.google.internal", "example.org", ""],
)  # fmt: skip
def test_other_addresses_and_names_are_no_metadata(spelling: str) -> None:
    assert not is_metadata(spelling)


def test_the_shipped_rule_and_the_egress_know_the_same_addresses() -> None:
    text = (SHIPPED_POLICIES / "default.yaml").read_text("utf-8")
    (rule,) = re.findall(r"- id: cloud-metadata\n.*?examples:", text, re.DOTALL)
    hosts = re.findall(r"^      - (\S+)$", rule, re.MULTILINE)
    assert {each for each in hosts if address(each) is not None} == METADATA


@pytest.mark.parametrize(
    "name",
    [
        "127.0.0.1.nip.io", "app.10.0.0.5.nip.io", "app-10-0-0-5.nip.io", "0a000005.nip.io",
        "x-0a000005.nip.io", "--1.sslip.io", "www.192-168-0-1.sslip.io", "0--ffff-7f00-1.sslip.io",
        "lvh.me", "a.b.localtest.me", "x.traefik.me", "10-0-0-5.traefik.me",
        "7f000001.c0a80001.rbndr.us", "169-254-169-254.nip.io", "metadata.nicob.net",
    ],
)  # fmt: skip
def test_a_name_that_is_made_to_lead_here_is_private(name: str) -> None:
    assert is_private(name)


@pytest.mark.parametrize(
    "name",
    ["nip.io", "www.nip.io", "8.8.8.8.nip.io", "2a01-4f8-c17-b8f--2.sslip.io", "mynip.io",
     "10.0.0.5.nip.io.example.org", "notlvh.me", "traefik.io", "999.1.1.1.nip.io"],
)  # fmt: skip
def test_other_names_are_not(name: str) -> None:
    assert not is_private(name)


@pytest.mark.parametrize(
    "target",
    [
        "http:169.254.169.254/", "http:/169.254.169.254", "http:////169.254.169.254/x",
        "//169.254.169.254/", "http://a\\@169.254.169.254/", "http://169.254.169.254\\@a.org/",
        "http://169%2e254%2e169%2e254/", "http://169.254.169.254%00.a.org/",
        "http://169.254.169.254%0d%0a.a.org/", "http://a9fea9fe.nip.io/", "[::a9fe:a9fe]",
        "http://169.25\t4.169.254/",
    ],
)  # fmt: skip
def test_what_a_program_may_read_an_address_as_is_among_its_hosts(target: str) -> None:
    assert "169.254.169.254" in hosts_of(target)


@pytest.mark.parametrize(
    ("target", "host"),
    [("https://example.org/a%20b?x=1", "example.org"), ("me@host:metadata", "host"),
     ("https://example.org/@169.254.169.254", "example.org"), ("example.org:8443", "example.org")],
)  # fmt: skip
def test_an_ordinary_address_means_one_host(target: str, host: str) -> None:
    assert hosts_of(target) == (host,)
