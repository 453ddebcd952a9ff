"""From the name that a file was uploaded under to one that any file system holds."""

import re
import unicodedata
from typing import Final

from supervisor.errors import InvalidRequest

LARGEST: Final = 25 * 1024 * 1024
"""Bytes of a document."""
LONGEST_BYTES: Final = 200
"""Bytes of a stored name: below the 255 that file systems hold, with room for what is added."""
LONGEST_GIVEN: Final = 4_096
"""Characters of a name as it is given."""

_ENDING: Final = 20
"""Characters of an ending (`.markdown`) that is kept when a name is cut."""
_NOT_STORED: Final = re.compile(r'[/\\<>:"|?*\x00-\x1f\x7f]')
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?\Z", re.IGNORECASE)
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs", "Co"})


def stored_name(given: str) -> str:
    """The name that a file is stored under. Raises InvalidRequest for what names nothing.

    What leads elsewhere, can't be seen, or means something to Windows is replaced or left out; a
    name that is hidden by a dot isn't any more. The name is in Unicode form NFC.
    """
    if len(given) > LONGEST_GIVEN:
        raise InvalidRequest(
            f"the name has {len(given)} characters",
            where="filename",
            remedy=f"give at most {LONGEST_GIVEN}",
        )
    visible = "".join(c for c in unicodedata.normalize("NFC", given) if _may_stand(c))
    plain = _NOT_STORED.sub("_", visible).strip().rstrip(". ")
    if not plain.strip("._ "):
        raise InvalidRequest(
            "this can't be a file's name", where="filename", remedy="give one with letters"
        )
    if plain.startswith(".") or _RESERVED.match(plain):
        plain = f"_{plain.lstrip('.')}"
    return _cut(plain)


def numbered(name: str, number: int) -> str:
    """The name for a further file of the same name: `plan-2.md`."""
    stem, ending = _parts(name)
    return f"{_fit(stem, LONGEST_BYTES - len(ending.encode()) - 8)}-{number}{ending}"


def _may_stand(letter: str) -> bool:
    # A control character that is a line or a NUL is replaced later on, not joined over.
    return letter in "\x00\t\n\r" or unicodedata.category(letter) not in _INVISIBLE


def _cut(name: str) -> str:
    stem, ending = _parts(name)
    return _fit(stem, LONGEST_BYTES - len(ending.encode())) + ending


def _parts(name: str) -> tuple[str, str]:
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending) > _ENDING:
        return name, ""
    return stem, dot + ending


def _fit(text: str, most: int) -> str:
    """As many whole characters as go into so many bytes."""
    cut = text.encode()[:most].decode(errors="ignore")
    return text if cut == text else cut.rstrip(". ")
