"""Public names that lead to an address by how they are made: `10.0.0.1.nip.io`, `lvh.me`.

Nothing is looked up: what a name says is all there is. A name of one's own can lead anywhere.
"""

import ipaddress
import re
from typing import Final

_IP = ipaddress.IPv4Address | ipaddress.IPv6Address

ZONES: Final = frozenset(
    """nip.io sslip.io xip.io xip.name xip.lhjmmc.cn ip.es.io backname.io traefik.me local-ip.co
    local-ip.sh local-ip.dev local-ip.medicmobile.org plex.direct rbndr.us rebind.network 1u.ms
    localdomain.pw ipq.co ip.addr.tools""".split()  # noqa: SIM905  (a table to read)
)
"""Below them the address that a name holds is what it leads to."""

LOOPBACK: Final = frozenset(
    """localtest.me lvh.me vcap.me lacolhost.com fuf.me fuf.st ulh.us yoogle.com ortkut.com
    feacebook.com beweb.com smackaho.st localho.st local.gd 42foo.com loopback.jp ratchetlocal.com
    127-0-0-1.org.uk traefik.me spoofed.burpcollaborator.net localhost.direct lndo.site
    ddev.site""".split()  # noqa: SIM905  (a table to read)
)
"""They, and all names below them, lead to this machine."""

ELSEWHERE: Final = {
    "metadata.nicob.net": "169.254.169.254",
    "aws.zaproxy.org": "169.254.169.254",
    "alibaba.zaproxy.org": "100.100.100.200",
    "metadata.tencentyun.com": "169.254.0.23",
}
"""Single names that are known to lead to a machine's own network."""

_LONGEST: Final = 253
_DOTTED: Final = re.compile(r"(?<![0-9])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9])")
_DASHED: Final = re.compile(r"(?<![0-9])(?:[0-9]{1,3}-){3}[0-9]{1,3}(?![0-9])")
_HEX: Final = re.compile(r"(?<![0-9a-z])(?:0x)?([0-9a-f]{8})(?![0-9a-z])")
_SIX: Final = re.compile(r"(?<![0-9a-f-])(?=[0-9a-f-]*-)[0-9a-f-]{2,45}(?![0-9a-f-])")
_STARTS: Final = frozenset(each.rpartition(".")[2] for each in (*ZONES, *LOOPBACK, *ELSEWHERE))
"""The last labels of all of them: what most names don't end with."""


def led_to(host: str) -> tuple[_IP, ...]:
    """The addresses that a canonical host leads to by its name, as far as that is known."""
    if host.rpartition(".")[2] not in _STARTS or len(host) > _LONGEST:
        return ()
    single = ELSEWHERE.get(host)
    if single is not None:
        return (ipaddress.ip_address(single),)
    found: list[_IP] = []
    name, rest = host, ""
    while name:
        if name in ZONES and rest:
            found.extend(_held(rest))
        if name in LOOPBACK and not found:
            found.append(ipaddress.IPv4Address("127.0.0.1"))
        label, _, name = name.partition(".")
        rest = f"{rest}.{label}" if rest else label
    return tuple(found)


def _held(text: str) -> list[_IP]:
    """The addresses in a name: dotted, with dashes, as eight hexadecimal digits, of IPv6."""
    texts = [each[0] for each in _DOTTED.finditer(text)]
    texts += [each[0].replace("-", ".") for each in _DASHED.finditer(text)]
    found: list[_IP] = []
    for each in texts:
        numbers = [int(part) for part in each.split(".")]
        if max(numbers) <= 255:  # noqa: PLR2004 - what a part of an address holds
            found.append(ipaddress.IPv4Address(bytes(numbers)))
    found += [ipaddress.IPv4Address(int(each[1], 16)) for each in _HEX.finditer(text)]
    for label in text.split("."):
        for each in _SIX.findall(label):
            try:
                found.append(ipaddress.IPv6Address(each.replace("-", ":")))
            except ValueError:
                continue
    return found
