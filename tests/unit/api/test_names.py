"""Under which names the server answers, and which pages are its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.api.names import Authority, Names

PORT = 3333


@pytest.mark.parametrize(
    ("allowed", "host", "answers"),
    [
        ("box.example", "box.example", True),
        ("box.example", "box.example:443", True),
        ("box.example", "box.example:3333", True),
        ("box.example", "box.example:8080", False),
        ("box.example:8443", "box.example:8443", True),
        ("box.example:8443", "box.example", False),
        ("box.example:8443", "box.example:443", False),
        ("box.example", "sub.box.example", False),
        ("192.168.1.5", "192.168.1.5:3333", True),
        ("localhost:4444", "localhost:4444", True),  # the near end of a tunnel
        ("localhost:4444", "localhost:4445", False),
        ("localhost:4444", "localhost:3333", True),
        ("localhost:4444", "127.0.0.1:4444", False),
    ],
)
def test_an_allowed_name_is_answered_as_it_was_listed(
    allowed: str, host: str, answers: bool
) -> None:
    authority = Authority.parse(host)
    assert authority is not None
    assert Names([allowed]).answers_to(authority, PORT) is answers


@given(st.text())
def test_of_all_texts_only_loopbacks_names_are_answered_unasked(text: str) -> None:
    host = Authority.parse(text)
    if host is not None and Names([]).answers_to(host, PORT):
        assert host.name in {"localhost", "127.0.0.1", "[::1]"}
        assert host.port in {None, PORT}


@given(st.text())
def test_of_all_origins_only_loopbacks_own_port_is_ours_unasked(text: str) -> None:
    names = ("localhost", "127.0.0.1", "[::1]")
    own = {f"http://{name}:{PORT}" for name in names}
    assert Names([]).is_own_page(text, PORT) is (text.lower() in own)
    assert Names([]).is_own_page(f"http://{text}", PORT) is (f"http://{text}".lower() in own)


def test_a_page_of_an_allowed_name_is_ours_under_tls_and_without() -> None:
    names = Names(["box.example"])
    assert names.is_own_page("https://box.example", PORT)
    assert names.is_own_page("http://box.example", PORT)
    assert not names.is_own_page("https://box.example:8443", PORT)
    assert not names.is_own_page("https://box.example.evil.example", PORT)
