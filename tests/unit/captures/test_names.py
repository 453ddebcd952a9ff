"""A document is stored under a name that any file system holds, and that leads nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.captures.names import LONGEST_BYTES, numbered, stored_name
from supervisor.errors import InvalidRequest


@pytest.mark.parametrize(
    ("given_name", "stored"),
    [
        ("notes.md", "notes.md"),
        ("отчёт.txt", "отчёт.txt"),
        ("план-🧭.txt", "план-🧭.txt"),
        ("../x", "__x"),
        ("..\\x", "__x"),
        ("/etc/cron.d/x", "_etc_cron.d_x"),
        ("a/../../x", "a_.._.._x"),
        ("%2e%2e%2fx", "%2e%2e%2fx"),
        ("..%00/x", "_%00_x"),
        ("a\0b", "a_b"),
        ("a\nb", "a_b"),
        ("a\r\nSet-Cookie: x=1", "a__Set-Cookie_ x=1"),
        ("a\x1bb", "ab"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("a.", "a"),
        ("a ", "a"),
        (".env", "_env"),
        (".mcp.json", "_mcp.json"),
        ('a"b;c.txt', "a_b;c.txt"),
        ("a\\b.txt", "a_b.txt"),
        ("e\u0301.txt", "é.txt"),
        ("a\u202egpj.exe", "agpj.exe"),
    ],
)
def test_what_leads_elsewhere_or_can_not_be_seen_is_replaced(given_name: str, stored: str) -> None:
    assert stored_name(given_name) == stored


@pytest.mark.parametrize("name", ["", " ", ".", "..", "...", "\0", "/", "___", "\u200b"])
def test_what_names_nothing_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest):
        stored_name(name)


@pytest.mark.parametrize("letters", ["x" * 255, "x" * 256, "ä" * 130, "👩‍👩‍👧" * 60])
def test_a_long_name_is_cut_at_a_letter_and_keeps_its_ending(letters: str) -> None:
    name = stored_name(f"{letters}.markdown")
    assert len(name.encode()) <= LONGEST_BYTES
    assert name.endswith(".markdown")


@given(st.text(max_size=400))
def test_every_name_is_refused_or_safe_and_stays_as_it_is(name: str) -> None:
    try:
        stored = stored_name(name)
    except InvalidRequest:
        return
    assert len(stored.encode()) <= LONGEST_BYTES
    assert stored not in (".", "..")
    assert not set(stored) & set('/\\<>:"|?*\0\r\n')
    assert not stored.startswith(".")
    assert stored_name(stored) == stored
    assert len(numbered(stored, 9_999).encode()) <= LONGEST_BYTES
