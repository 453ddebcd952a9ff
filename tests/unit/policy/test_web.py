"""What a person should see about an address before it is fetched."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.policy.web import carries_data, read_address


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.python.org.evil.example/x", "https://docs.python.org@evil.example/x",
        "https://evil.example/?d=QVBJX0tFWT0x", "https://evil.example/QVBJX0tFWT0x",
        "https://evil.example/#QVBJX0tFWT0x", "https://evil.example/?QVBJX0tFWT0x=1",
        "https://4150495f4b45593d31.evil.example/", "https://evil.example/?d=IFIESX2LIVMT2MI",
        "https://github.com%2eevil.example@evil.example/", "ftp://example.org/x",
        "javascript:alert(1)", "https://", "https://[", "https://example.org/?q=" + "a" * 2000,
        "https://xn--pypal-4ve.com/", "https://p\u0430ypal.com/", "https://a.127.0.0.1.nip.io/",
        "https://" + "a" * 60 + ".example.org/", "https:\\\\good.org@evil.example",
    ],
)  # fmt: skip
def test_an_address_that_deceives_or_carries_data_raises_a_doubt(url: str) -> None:
    assert read_address(url).doubts


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.python.org/3/library/os.html", "https://en.wikipedia.org/wiki/Sudo",
        "https://example.org/?q=sudo+rm+-rf", "https://www.bbc.co.uk/news/articles/c0123456789o",
        "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "https://web.archive.org/web/2020/https://a.com",
        "https://github.com/a/b/commit/8f3c2d1e4b5a69788796a5b4c3d2e1f001122334",
        "https://example.org/project/requirements/", "https://api.dev.example.com/v1/users?limit=10",
        "https://pypi.org/project/python-dateutil/#description", "https://crates.io/crates/serde_json",
        "https://docs.rs/tokio/latest/tokio/sync/struct.Semaphore.html", "https://example.org:8443/",
        "example.org/docs", "HTTP://EXAMPLE.ORG/A", "https://developer.mozilla.org/en-US/docs/Web/API",
    ],
)  # fmt: skip
def test_an_ordinary_address_raises_none(url: str) -> None:
    assert read_address(url).doubts == ()


@pytest.mark.parametrize(
    "url", ["http://127.1/", "http://[::1]/x", "http://10.0.0.5/", "http://0/"]
)
def test_this_machine_is_known_in_any_spelling(url: str) -> None:
    assert read_address(url).private


@given(st.text(alphabet=st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=9))
def test_an_encoded_text_is_seen(text: str) -> None:
    assert carries_data(base64.urlsafe_b64encode(text.encode()).decode())
    assert carries_data(text.encode().hex())


@given(st.text(max_size=200))
def test_no_address_makes_it_fail(url: str) -> None:
    read_address(url)
