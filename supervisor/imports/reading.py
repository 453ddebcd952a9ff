"""From the bytes of an upload to the conversations in them, recognised by what they hold.

A name in the upload is a text to show; nothing is unpacked to the disk.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson

from supervisor.errors import InvalidRequest
from supervisor.imports.chatgpt import is_chatgpt, read_chatgpt
from supervisor.imports.claude import is_claude, read_claude
from supervisor.imports.claude_code import is_claude_code, is_of_subagent, read_claude_code
from supervisor.imports.conversation import Broken, Conversation, Read, Unreadable
from supervisor.imports.fields import mapping, text

MAX_UNPACKED: Final = 256 * 1024 * 1024
"""Bytes of all that is read out of one archive."""
MOST_ENTRIES: Final = 20_000
"""Files of an archive."""
MOST_BROKEN: Final = 1_000
"""Broken places that are told singly."""

_ARCHIVE: Final = b"PK\x03\x04"
_CONVERSATIONS: Final = "conversations"
_STEP: Final = 1024 * 1024

_Found = Conversation | Broken


def read_export(name: str, content: bytes) -> Read:
    """What an upload holds; blocks. What of it is broken costs itself only.

    Raises InvalidRequest for an upload in which there is nothing of the kind at all.
    """
    found = list(_in_archive(content) if content.startswith(_ARCHIVE) else _in_file(name, content))
    conversations = tuple(each for each in found if isinstance(each, Conversation))
    broken = [each for each in found if isinstance(each, Broken)]
    if not conversations and not broken:
        raise InvalidRequest(
            "no conversation is in this file",
            where="content",
            remedy="give an export of Claude or ChatGPT, or a transcript of Claude Code",
        )
    if len(broken) > MOST_BROKEN:
        more = Broken(text(name, 200), f"{len(broken) - MOST_BROKEN} more are broken")
        broken = [*broken[:MOST_BROKEN], more]
    return Read(conversations, tuple(broken))


def _in_archive(content: bytes) -> Iterator[_Found]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise InvalidRequest(f"the archive can't be read: {error}", where="content") from None
    with archive:
        entries = archive.infolist()
        if len(entries) > MOST_ENTRIES:
            raise InvalidRequest(
                f"the archive has {len(entries)} files",
                where="content",
                remedy=f"give one with at most {MOST_ENTRIES}",
            )
        room = MAX_UNPACKED
        for entry in entries:
            if not _is_wanted(entry.filename):
                continue
            place = text(entry.filename, 200)
            try:
                unpacked = _unpacked(archive, entry, room)
            except _UNPACKING as error:
                yield Broken(place, f"it can't be unpacked: {error}")
                continue
            room -= len(unpacked)
            yield from _in_file(place, unpacked)


_UNPACKING: Final = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    ValueError,
    RuntimeError,  # it is encrypted
    NotImplementedError,
)


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> bytes:
    """The entry's bytes; what it says of its own size isn't believed."""
    parts: list[bytes] = []
    held = 0
    with archive.open(entry) as file:
        while part := file.read(_STEP):
            held += len(part)
            if held > room:
                raise InvalidRequest(
                    "the archive unpacks to too much",
                    where="content",
                    remedy=f"give one of at most {MAX_UNPACKED} bytes",
                )
            parts.append(part)
    return b"".join(parts)


def _is_wanted(name: str) -> bool:
    last = name.replace("\\", "/").rpartition("/")[2].lower()
    if name.startswith("__MACOSX/") or last.startswith("."):
        return False
    return last.endswith(".jsonl") or (last.startswith(_CONVERSATIONS) and last.endswith(".json"))


def _in_file(place: str, content: bytes) -> Iterator[_Found]:
    place = text(place, 200) or "the file"
    document = _loaded(content)
    if isinstance(document, list):
        yield from _in_list(place, document)
    elif isinstance(document, dict) and isinstance(document.get("conversations"), list):
        yield from _in_list(place, document["conversations"])
    elif isinstance(document, dict) and (is_claude(document) or is_chatgpt(document)):
        yield from _one(document, place)
    else:
        yield from _in_lines(place, content)


def _in_list(place: str, documents: list[Any]) -> Iterator[_Found]:
    for number, document in enumerate(documents):
        yield from _one(document, f"{place}[{number}]")


def _one(document: object, place: str) -> Iterator[_Found]:
    found = mapping(document)
    if is_claude(found):
        yield _judged(lambda: read_claude(found, place), place)
    elif is_chatgpt(found):
        yield _judged(lambda: read_chatgpt(found, place), place)
    else:
        yield Broken(place, "this is no conversation of a known kind")


def _in_lines(place: str, content: bytes) -> Iterator[_Found]:
    records: list[dict[str, Any]] = []
    unreadable: list[int] = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            record = _loaded(line)
            if isinstance(record, dict):
                records.append(record)
            else:
                unreadable.append(number)
    if not any(is_claude_code(record) for record in records):
        yield Broken(place, "this is no export and no transcript of a known kind")
        return
    if unreadable:
        lines = ", ".join(str(number) for number in unreadable[:5])
        more = f" and {len(unreadable) - 5} more" if len(unreadable) > 5 else ""  # noqa: PLR2004
        yield Broken(f"{place}:{unreadable[0]}", f"lines that are no records: {lines}{more}")
    if not is_of_subagent(records):
        yield _judged(lambda: read_claude_code(records, place), place)


def _judged(read: Callable[[], Conversation], place: str) -> _Found:
    try:
        return read()
    except Unreadable as error:
        return Broken(place, str(error))


def _loaded(content: bytes) -> object:
    """The JSON document; None for what is none."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        pass
    if content.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        # One half of a surrogate pair, or a byte that is no UTF-8, spoils only its own text here.
        return json.loads(content.decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError):
        return None
