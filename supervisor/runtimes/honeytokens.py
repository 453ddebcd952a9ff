r"""The honeytokens of one turn: what stands where denied files were, and how it is known again.

A decoy begins with a NUL byte, so that a broad search (`grep -r`, ripgrep) takes it for a binary
file and prints no line of it: only who reads a denied file's bytes on purpose comes by the token.
What follows is a comment for most parsers (`#`), and plain words for a person: nothing in it looks
like a key. Where a file that is there but can't be read breaks more than one that is missing (what
version control and the agent's own program keep for themselves), there is no decoy.

The token is an id, a mark and the id again; the mark is the turn's, the id the file's. It stands in
the decoy four times, at places that differ modulo 16, so that dumps of 16 bytes a line show the
mark whole. Looked for is the mark alone, in each encoding it is known in, in text that was folded:
without case, and without all but letters and digits, so that wrapped, spaced, quoted and escaped
forms are one. Four letters are left out as well, on both sides: `n`, `r` and `t` are what is left
of a JSON string's line ends and tabs, `x` of `\x74`. Not recognised: encryption, compression, other
bases, encodings within encodings, and a mark that was cut in pieces.
"""

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from supervisor.errors import HoneytokenTripped
from supervisor.policy.builtin import HIDDEN
from supervisor.policy.deny_list import DenyList

SECRET_BYTES: Final = 32
"""Of the secret that a turn's honeytokens are derived from."""
MAX_DECOYS: Final = 1_000
"""Of a turn; each is a file to make. Denied files beyond that are absent, or empty."""
DECOY_NAME: Final = "decoy"
"""The one file that is in the decoy of a denied folder."""
UNNAMED: Final = "(one of the denied files)"
"""Stands for the path where the mark showed up without the id beside it."""

_MARK_CHARS: Final = 12  # 60 bits: not met by chance in all that a turn can say
_ID_CHARS: Final = 16
_ALPHABET: Final = b"abcdefghijklmopqsuvwyz0123456789"
_COPIES: Final = 4
_BETWEEN: Final = b" (decoy) "  # 9: with a token of 44, copies lie 5 apart modulo 16
_WORDS: Final = b"\0\n# A decoy: this file is on the deny list, and its bytes are not here. "
_KEPT: Final = 192
"""Characters kept between pieces: the longest form of an id and a mark has 112."""
_SEAM: Final = 256

_PROGRAMS: Final = DenyList(HIDDEN)
_VERSION_CONTROL: Final = frozenset({".hg", ".svn", ".jj", "objects"})
_PACK: Final = "pack-"

_LOWER: Final = bytes(ord(chr(code).lower()) if code < 128 else code for code in range(256))  # noqa: PLR2004
_DROPPED: Final = bytes(code for code in range(256) if _LOWER[code] not in _ALPHABET)


def folded(data: bytes) -> bytes:
    """In lower case, and without all that isn't of the tokens' alphabet."""
    return data.translate(_LOWER, _DROPPED)


Form = Callable[[bytes], bytes]
"""Encodes a text: what of the outcome doesn't depend on the text's neighbours."""


def _base64_at(offset: int) -> Form:
    """With so many bytes before it, modulo 3; the URL-safe kind looks the same for letters."""

    def form(text: bytes) -> bytes:
        whole = b64encode(bytes(offset) + text)
        return whole[-(-offset * 8 // 6) : (offset + len(text)) * 8 // 6]

    return form


def _hex_after(before: bytes) -> Form:
    return lambda text: b"".join(before + b"%02x" % byte for byte in text)


def _words_at(offset: int) -> Form:
    """As `od -x` and `hexdump` show it: words of two bytes, the second one first."""

    def form(text: bytes) -> bytes:
        pairs = range(offset, len(text) - 1, 2)
        return b"".join(b"%02x%02x" % (text[at + 1], text[at]) for at in pairs)

    return form


_FORMS: Final[tuple[Form, ...]] = (
    bytes,
    _base64_at(0),
    _base64_at(1),
    _base64_at(2),
    _hex_after(b""),  # %74 and \x74 too
    lambda text: text[::-1],
    _hex_after(b"u00"),  # \u0074
    _hex_after(b"0x"),
    _words_at(0),
    _words_at(1),
)


@dataclass(frozen=True, slots=True)
class Trip:
    """A honeytoken showed up: whose (a path relative to the vault), and in what."""

    path: str
    where: str


def tripped(trip: Trip) -> HoneytokenTripped:
    """How a turn ends that this happened in; the token itself is in no word of it."""
    return HoneytokenTripped(
        f"the agent read what stands in for {trip.path}, a denied file: it showed up in"
        f" {trip.where}",
        where=trip.path,
        remedy="see in the turn's events what led the agent there, then send the next message",
    )


class Honeytokens:
    """One turn's decoys and the search for what is in them.

    `secret` is the turn's own and random; it shows in no repr. Decoys may be made in one thread
    while another searches.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._mark = self._derive(b"mark", _MARK_CHARS)
        self._needles = tuple(folded(form(self._mark)) for form in _FORMS)
        self._issued: dict[bytes, str] = {}
        self._first: Trip | None = None
        self._listener: Callable[[], object] | None = None

    @property
    def in_use(self) -> bool:
        """Whether there is a decoy; without one there is nothing to look for."""
        return bool(self._issued)

    @property
    def tripped(self) -> Trip | None:
        """The first that was reported."""
        return self._first

    def decoy(self, path: str) -> bytes:
        """What to show in place of the denied file; `path` is relative to the vault.

        Empty where a decoy would break what works without the file, and beyond `MAX_DECOYS`.
        """
        if _breaks_things(path):
            return b""
        whose = self._derive(b"path:" + path.encode("utf-8", "surrogateescape"), _ID_CHARS)
        if whose not in self._issued:
            if len(self._issued) >= MAX_DECOYS:
                return b""
            self._issued[whose] = path
        token = whose + self._mark + whose
        return _WORDS + _BETWEEN.join([token] * _COPIES) + b"\n"

    def trip(self, data: bytes | str) -> str | None:
        """The path of the denied file whose token is in this, or None. Reports nothing."""
        if not self.in_use:
            return None
        return self.find(folded(data.encode("utf-8", "replace") if isinstance(data, str) else data))

    def find(self, text: bytes) -> str | None:
        """`trip` for what is folded already."""
        for needle in self._needles:
            at = text.find(needle)
            if at >= 0:
                return self._whose(text[max(0, at - _KEPT) : at + len(needle) + _KEPT])
        return None

    def report(self, path: str, where: str) -> Trip:
        """Raise the alarm; the first one counts, and is what comes back."""
        if self._first is None:
            self._first = Trip(_visible(path), where)
            if self._listener is not None:
                self._listener()
        return self._first

    def check(self, data: bytes | str, where: str) -> Trip | None:
        """`trip`, and `report` where there is one."""
        path = self.trip(data)
        return None if path is None else self.report(path, where)

    def listen(self, listener: Callable[[], object]) -> None:
        """Call this at the first report; in the thread that reports."""
        self._listener = listener

    def scanner(self) -> "Scanner":
        """A search of its own through a stream."""
        return Scanner(self)

    def _whose(self, around: bytes) -> str:
        # Only once in a turn, so all ids may be tried: case is lost, and nothing can be decoded.
        # Half of one does: a dump of 16 bytes a line cuts it at one place at most.
        half = _ID_CHARS // 2
        for whose, path in list(self._issued.items()):
            for part in (whose[:half], whose[half:]):
                if any(folded(form(part)) in around for form in _FORMS):
                    return path
        return UNNAMED

    def _derive(self, what: bytes, chars: int) -> bytes:
        digest = hmac.digest(self._secret, what, hashlib.sha256)
        return bytes(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:chars])


class Scanner:
    """Searches a stream, however it is cut; holds some 200 bytes of it."""

    def __init__(self, tokens: Honeytokens) -> None:
        self._tokens = tokens
        self._tail = b""

    def feed(self, data: bytes) -> str | None:
        """The path of the denied file whose token was completed by this piece, or None."""
        if not self._tokens.in_use:
            return None
        text = self._tail + folded(data)
        self._tail = text[-_KEPT:]
        return self._tokens.find(text)

    def feed_seam(self, text: str) -> str | None:
        """`feed` for a piece that was itself searched: only where pieces meet is looked at."""
        if len(text) <= 2 * _SEAM:
            return self.feed(text.encode("utf-8", "replace"))
        found = self.feed(text[:_SEAM].encode("utf-8", "replace"))
        return found or self.feed(text[-_SEAM:].encode("utf-8", "replace"))


def _breaks_things(path: str) -> bool:
    """Whether it is a program's own, which would take a decoy for damage."""
    parts = path.lower().split("/")
    return (
        parts[-1].startswith(_PACK)
        or any(part in _VERSION_CONTROL or part.endswith(".git") for part in parts)
        or _PROGRAMS.match(path) is not None
    )


def _visible(path: str) -> str:
    """The path as text that can't draw anything but itself."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
