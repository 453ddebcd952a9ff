"""What is wrong with an address that an agent wants to fetch, read from its text alone."""

import base64
import binascii
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlsplit

from supervisor.policy.hosts import address, canonical_host, hosts_of, is_private

SHORTEST_DATA = 12
"""Characters of a text that could carry data away."""
LONGEST_QUERY = 1_500
LONGEST_LABEL = 48

_SCHEMES = frozenset({"http", "https"})
_OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")
_ENDINGS = frozenset({"com", "org", "net", "edu", "gov", "mil"})
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}\Z")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+\Z")
_ADDRESS_IN_NAME = re.compile(r"(?:\A|[.-])\d{1,3}[.-]\d{1,3}[.-]\d{1,3}[.-]\d{1,3}(?:\Z|[.-])")
_BASE32 = re.compile(r"[A-Z2-7]+={0,6}\Z")


@dataclass(frozen=True, slots=True)
class Address:
    """A URL as far as policy reads it. `doubts` are reasons to ask a person, a sentence each."""

    host: str
    private: bool = False
    doubts: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def read_address(url: str) -> Address:
    """The host of a URL, and what about it a person should see."""
    text = "".join(c for c in url.strip() if c not in "\t\r\n").replace("\\", "/")
    if "://" not in text[:16] and not _OTHER_SCHEME.match(text):
        text = "https://" + text.lstrip("/")
    try:
        parts = urlsplit(text)
        host = canonical_host(unquote(parts.netloc))
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return Address(host="", doubts=("it isn't a web address that can be read",))
    doubts = []
    if parts.scheme.lower() not in _SCHEMES:
        doubts.append(f"its scheme is `{parts.scheme[:20]}`, not http or https")
    if not host:
        doubts.append("it has no host")
    if "@" in parts.netloc:
        doubts.append("what stands before `@` looks like a host, and isn't")
    if address(host) is None:
        doubts.extend(_about_name(host))
    if len(parts.query) > LONGEST_QUERY:
        doubts.append("its query is so long that it could carry data away")
    texts = [value for _key, value in query] + [key for key, _value in query]
    texts += [*parts.path.split("/"), parts.fragment, *host.split(".")]
    if any(carries_data(each) for each in texts):
        doubts.append("it holds encoded text, which could carry data away")
    private = any(is_private(each) for each in hosts_of(url) if each)
    return Address(host=host, private=private, doubts=tuple(doubts))


def carries_data(text: str) -> bool:
    """Whether a text is the encoding of another text (base64, base32, hexadecimal)."""
    if len(text) < SHORTEST_DATA:
        return False
    return any(_is_text(each) for each in _decodings(text))


def _decodings(text: str) -> Iterator[bytes]:
    if _HEX.match(text):
        yield bytes.fromhex(text)
    bare = text.rstrip("=")
    for form, decode, group in (
        (_BASE64, base64.urlsafe_b64decode, 4),
        (_BASE32, base64.b32decode, 8),
    ):
        if form.match(text):
            padded = bare.replace("+", "-").replace("/", "_") + "=" * (-len(bare) % group)
            with suppress(binascii.Error, ValueError):
                yield decode(padded)


def _is_text(data: bytes) -> bool:
    return len(data) > 6 and all(32 <= each < 127 or each in (9, 10, 13) for each in data)  # noqa: PLR2004


def _about_name(host: str) -> list[str]:
    labels = host.split(".")
    doubts = []
    if _ADDRESS_IN_NAME.search(host):
        doubts.append("its name holds an address, to which it may lead")
    # `docs.python.org.evil.example`: an ending in the middle makes the beginning look like a site.
    if any(label in _ENDINGS for label in labels[1:-2]):
        doubts.append("a well-known ending in the middle of the name makes it look like another's")
    if any(label.startswith("xn--") or not label.isascii() for label in labels):
        doubts.append("its name holds letters that can look like others")
    if any(len(label) > LONGEST_LABEL for label in labels):
        doubts.append("a part of its name is so long that it could carry data away")
    return doubts
