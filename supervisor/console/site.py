"""The console's files as they are served: a list of what there is, read once when a server starts.

A request names an entry of the list or nothing: no name that comes in ever becomes a path.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

FOLDER: Final = Path(__file__).parent / "static"

TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        ".html": "text/html; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".svg": "image/svg+xml",
    }
)
"""The kinds of files that there may be; one of another kind is a mistake of ours."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""What the page may load and do: its own files, its own server, nothing that is made of text."""

HEADERS: Final = (
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
"""The security headers of each file of the console besides its policy, in place of the API's."""

_PAGE: Final = "index.html"
_WITHIN: Final = "start.js"
"""The one script that stands in the page itself."""
_ASKED_ANEW: Final = "no-cache"
_FOR_GOOD: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class File:
    """One file: its bytes, and how it is to be taken and kept."""

    content: bytes
    media_type: str
    tag: str
    cache_control: str
    policy: str = POLICY


class Site:
    """The files by the paths they are asked for with.

    The page is at `/`, all else below `/console/` and the hash of everything: a page never gets
    the scripts of another version, and a browser asks for none of them twice.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        read = {name: (folder / name).read_bytes() for name in sorted(_names(folder))}
        digest = hashlib.sha256()
        for name, content in read.items():
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        self.root = f"/console/{digest.hexdigest()[:16]}/"
        self._files = {"/": _page(read.pop(_PAGE), read.pop(_WITHIN), self.root)}
        for name, content in read.items():
            self._files[self.root + name] = _file(name, content, _FOR_GOOD)

    def __contains__(self, path: object) -> bool:
        return path in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def find(self, path: str) -> File | None:
        """The file at this path of an address, decoded; None: there is none."""
        return self._files.get(path)


def _names(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.relative_to(folder).as_posix()


def _page(page: bytes, script: bytes, root: str) -> File:
    """The page with its script in it, which is the only one in a page that a browser may run."""
    whole = page.replace(b'"/console/', f'"{root}'.encode())
    named = f'<script src="{root}{_WITHIN}"></script>'.encode()
    whole = whole.replace(named, b"<script>" + script + b"</script>")
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    policy = POLICY.replace("script-src 'self'", f"script-src 'self' 'sha256-{digest}'")
    return _file(_PAGE, whole, _ASKED_ANEW, policy)


def _file(name: str, content: bytes, cache_control: str, policy: str = POLICY) -> File:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return File(content, TYPES[Path(name).suffix], tag, cache_control, policy)
