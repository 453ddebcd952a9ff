"""Hosts and addresses in one spelling: `2130706433`, `0x7f.1` and `[::ffff:127.0.0.1]` are one."""

import ipaddress
import re
import unicodedata
from functools import lru_cache
from urllib.parse import unquote

from supervisor.policy.led_names import led_to

_IP = ipaddress.IPv4Address | ipaddress.IPv6Address
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)\Z", re.ASCII)
_MOST_PARTS = 4
_LARGEST = 1 << 32
_LOCAL_NAMES = (
    "localhost",
    "localdomain",
    "local",
    "internal",
    "lan",
    "home.arpa",
    "intranet",
    "svc",
    "home",
    "corp",
    "private",
    "consul",
    "test",
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LONGEST = 1_024
_WEB = r"(?:https?|ftps?|wss?|gopher|dict|tftp|ldaps?|smbs?|rtmps?|rtsp|sftp|scp):"
_READ_DIFFERENTLY = re.compile(rf"[%\\\s]|:/{{3}}|\A{_WEB}(?!//)|\A//", re.IGNORECASE)
"""What programs read in different ways in an address."""
_SCHEME = re.compile(rf"\A(?:{_WEB})?[/\\]*", re.IGNORECASE)
_BLANK = re.compile(r"[\t\r\n]|\A\s+|\s+\Z")
_CUT = re.compile(r"[\x00-\x20/?#\\]")

METADATA = frozenset(
    {
        "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16",
        "169.254.42.42", "169.254.0.23", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23",
        "fd00:42::42", "fd20:ce::254",
    }
)  # fmt: skip
"""Where clouds answer with the machine's own account; the rule `cloud-metadata` has the same."""
_EMBEDDING = tuple(map(ipaddress.ip_network, ("::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96")))
"""More networks whose addresses end with one of IPv4: compatible, local NAT64, translated."""


@lru_cache(maxsize=1024)
def canonical_host(text: str) -> str:
    """The host in its one spelling: lower case, an address in its usual form.

    Takes what may stand around it in a URL: a user's name, a port, brackets.
    """
    # A resolver that normalises names takes full-width digits and dots for what they look like.
    host = unicodedata.normalize("NFKC", text.strip()[:_LONGEST]).rsplit("@", 1)[-1]
    if host.startswith("["):
        host = host[1:].split("]", 1)[0]
    elif host.count(":") == 1:
        host = host.split(":", 1)[0]
    host = host.split("%", 1)[0] if ":" in host else host
    host = host.replace("\u3002", ".").rstrip(".").lower()
    found = address(host)
    return str(found) if found is not None else host


def host_of(target: str) -> str:
    """The canonical host of what a command reaches: a URL, or a host with what may follow it."""
    _, scheme, rest = target.partition("://")
    return canonical_host(re.split(r"[/?#\\]", rest if scheme else target, maxsplit=1)[0])


@lru_cache(maxsize=1024)
def hosts_of(target: str) -> tuple[str, ...]:
    """All hosts that a program may take a URL, or a host, to mean; the plain reading first.

    Programs differ in what they make of backslashes, of encoded characters, and of slashes that
    are missing or too many. What a name or an address leads to by its form is among them.
    """
    plain = host_of(target)
    found = [plain]
    if _READ_DIFFERENTLY.search(target):
        found += _other_readings(target)
    for each in tuple(found):
        found += [str(one) for one in _behind(each)]
    return tuple(dict.fromkeys(each for each in found if each)) or (plain,)


def _behind(host: str) -> tuple[_IP, ...]:
    """What a canonical host leads to besides itself."""
    found = address(host)
    return _led(host) if found is None else _embedded(found)


def _led(host: str) -> tuple[_IP, ...]:
    """The same of a name, each in its usual form."""
    return tuple(address(str(each)) or each for each in led_to(host))


def _other_readings(target: str) -> list[str]:
    bare = _SCHEME.sub("", _BLANK.sub("", target))
    found = []
    for text in (bare, bare.replace("\\", "/").lstrip("/")):
        authority = re.split(r"[/?#]", text, maxsplit=1)[0]
        decoded = unquote(authority)
        found += [canonical_host(each) for each in (authority, decoded, _CUT.split(decoded)[0])]
    return found


def address(host: str) -> _IP | None:
    """The address that a host is, in any spelling that a resolver takes; None for a name."""
    if ":" in host:
        try:
            found = ipaddress.IPv6Address(host)
        except ValueError:
            return None
        if found.ipv4_mapped is not None:
            return found.ipv4_mapped
        if found.sixtofour is not None:
            return found.sixtofour
        if found in _NAT64:
            return ipaddress.IPv4Address(int(found) & (_LARGEST - 1))
        return found
    number = _as_inet_aton(host)
    return ipaddress.IPv4Address(number) if number is not None else None


def is_private(host: str) -> bool:
    """Whether a canonical host is this machine, its networks, or a name that means such."""
    found = address(host)
    if found is not None:
        return any(not each.is_global or each.is_multicast for each in (found, *_embedded(found)))
    if led := _led(host):
        return any(not each.is_global for each in led)
    return "." not in host or any(
        host == each or host.endswith(f".{each}") for each in _LOCAL_NAMES
    )


def is_metadata(host: str) -> bool:
    """Whether an address, in any spelling, is or leads to a machine's own metadata.

    All link-local ones count: nobody else answers there. A name is none.
    """
    found = address(host.partition("%")[0])
    return found is not None and any(
        each.is_link_local or str(each) in METADATA for each in (found, *_embedded(found))
    )


def _embedded(found: _IP) -> tuple[ipaddress.IPv4Address, ...]:
    if not isinstance(found, ipaddress.IPv6Address):
        return ()
    if found.teredo is not None:
        return found.teredo
    is_embedding = any(found in each for each in _EMBEDDING)
    return (ipaddress.IPv4Address(int(found) & (_LARGEST - 1)),) if is_embedding else ()


def host_matches(host: str, pattern: str) -> bool:
    """Whether a canonical host is the pattern's; `*.example.org` stands for all below it."""
    if pattern.startswith("*."):
        return host.endswith(pattern[1:].lower())
    return pattern == "*" or host == canonical_host(pattern)


def _as_inet_aton(host: str) -> int | None:
    parts = host.split(".")
    if not 0 < len(parts) <= _MOST_PARTS or not all(_NUMBER.match(part) for part in parts):
        return None
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:
        return None
    *first, last = numbers
    if any(each > 255 for each in first) or last >= 256 ** (_MOST_PARTS - len(first)):  # noqa: PLR2004
        return None
    value = last
    for place, each in enumerate(first):
        value += each << (8 * (3 - place))
    return value


def _number(text: str) -> int:
    if text[:2].lower() == "0x":
        return int(text[2:] or "0", 16)
    return int(text, 8) if text.startswith("0") and len(text) > 1 else int(text)
