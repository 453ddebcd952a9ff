"""The vault's texts: which files are some, and their words read in bounded parts.

Only what a sandbox would see is opened (`runtimes/visible.py`), no link is followed, and what was
opened has to be the file that was seen.
"""

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

import yaml

from supervisor.errors import InvalidRequest
from supervisor.runtimes.visible import VisibleFile
from supervisor.search.pieces import MOST, pieces
from supervisor.search.put import Part
from supervisor.storage.beneath import read_inside
from supervisor.storage.tags import normal_tag

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a file that is indexed."""
MARKDOWN: Final = frozenset({".md", ".markdown", ".mdown", ".mkd"})
TEXTS: Final = MARKDOWN | {".txt", ".text", ".rst", ".org", ".adoc"}
"""How the names of texts end."""
JOURNAL: Final = "journal"
DOCUMENT: Final = "document"
MOST_TAGS: Final = 50
LONGEST_TITLE: Final = 300

_BLOCK: Final = 1024 * 1024
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LONGEST_FRONT: Final = 16 * 1024
_DEEPEST: Final = 32
_IN_LIST: Final = 2
_HEAD_LINES: Final = 100
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
_JOURNALS: Final = frozenset({"journal", "journals", "daily"})
_TITLE: Final = re.compile(r" {0,3}#[ \t]+(?P<words>\S.*)")


@dataclass(frozen=True, slots=True)
class Head:
    """What a text says of itself: its title, or else its file's name; and its tags."""

    title: str
    tags: tuple[str, ...] = ()


def has_text_name(path: str) -> bool:
    """Whether a file of this name is a text."""
    return PurePosixPath(path).suffix.lower() in TEXTS


def type_of(path: str) -> str:
    """A journal is a text that is named after its day, or lies in a folder of journals."""
    parts = PurePosixPath(path)
    in_journals = any(each.lower() in _JOURNALS for each in parts.parts[:-1])
    return JOURNAL if in_journals or _DAY.match(parts.name) else DOCUMENT


def digest(vault: Path, file: VisibleFile) -> str | None:
    """The digest of what the file holds; None if that is no text.

    Raises OSError if it can't be read or isn't the file that was seen any more.
    """
    found = hashlib.sha256()
    with _opened(vault, file) as content:
        while block := content.read(_BLOCK):
            if b"\0" in block:
                return None
            found.update(block)
    return found.hexdigest()


def head(vault: Path, file: VisibleFile) -> Head:
    """What the text says of itself in its first lines. Raises OSError as `digest` does."""
    name = PurePosixPath(file.path)
    is_markdown = name.suffix.lower() in MARKDOWN
    front: list[str] = []
    title: str | None = None
    in_front = False
    with _opened(vault, file) as content:
        for number, line in enumerate(_lines(content)):
            if number >= _HEAD_LINES or not is_markdown or title is not None:
                break
            if line.rstrip() == "---" and (number == 0 or in_front):
                in_front = number == 0
            elif in_front:
                front.append(line)
            elif found := _TITLE.match(line):
                title = found["words"].rstrip("# \r\n\t")
    said = {} if in_front else _front(front)
    own = said.get("title")
    words = own if isinstance(own, str) and own.strip() else title or name.stem
    words = words.encode("utf-8", "replace").decode()
    return Head(" ".join(words.split())[:LONGEST_TITLE], tuple(_tags(said.get("tags"))))


def parts(vault: Path, file: VisibleFile) -> Iterator[Part]:
    """The pieces of a text. Raises OSError as `digest` does."""
    is_markdown = PurePosixPath(file.path).suffix.lower() in MARKDOWN
    with _opened(vault, file) as content:
        for piece in pieces(_lines(content), markdown=is_markdown):
            yield Part(piece.text, piece.heading, piece.line)


@contextmanager
def _opened(vault: Path, file: VisibleFile) -> Iterator[BinaryIO]:
    with read_inside(vault, PurePosixPath(file.path)) as content:
        _require_same(content, file)
        yield content
        _require_same(content, file)


def _require_same(content: BinaryIO, file: VisibleFile) -> None:
    now = os.fstat(content.fileno())
    seen = (*file.inode, file.modified, file.changed, file.size, file.names)
    if seen != (
        now.st_dev,
        now.st_ino,
        now.st_mtime_ns,
        now.st_ctime_ns,
        now.st_size,
        now.st_nlink,
    ):
        raise OSError(errno.ESTALE, "the file has changed meanwhile", file.path)


def _lines(content: BinaryIO) -> Iterator[str]:
    text = TextIOWrapper(content, encoding="utf-8-sig", errors="replace", newline="")
    try:
        while line := text.readline(MOST):
            yield line
    finally:
        text.detach()


def _front(lines: list[str]) -> dict[str, object]:
    """Texts, and lists of texts, by the keys at the top of YAML."""
    text, reader = "".join(lines), _TopOfYaml()
    if len(text) > _LONGEST_FRONT:
        return {}
    try:
        is_read = all(map(reader.take, yaml.parse(text, Loader=_LOADER)))
    except yaml.YAMLError:
        return {}
    return reader.found if is_read else {}


class _TopOfYaml:
    """Reads YAML's events: nothing that a tag or an alias stands for is ever built."""

    def __init__(self) -> None:
        self.found: dict[str, object] = {}
        self._depth = 0
        self._key: str | None = None
        self._listed: list[str] | None = None

    def take(self, event: yaml.Event) -> bool:
        """The next event; False for what isn't read: no mapping, or one that is too deep."""
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            return self._begins(is_list=isinstance(event, yaml.SequenceStartEvent))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._depth -= 1
            self._turn()
        elif isinstance(event, yaml.AliasEvent):
            self._turn()
        return True

    def _scalar(self, value: str) -> None:
        if self._depth == _IN_LIST and self._listed is not None:
            self._listed.append(value)
        elif self._depth == 1 and self._key is not None:
            self.found.setdefault(self._key, value)
            self._key = None
        elif self._depth == 1:
            self._key = value

    def _begins(self, *, is_list: bool) -> bool:
        if self._depth == 0 and is_list:
            return False
        if self._depth == 1 and is_list and self._key is not None:
            self._listed = []
            self.found.setdefault(self._key, self._listed)
        self._depth += 1
        return self._depth <= _DEEPEST

    def _turn(self) -> None:
        """After a key or value that is no scalar: what a key that is no text stands for is lost."""
        if self._depth == 1:
            self._key, self._listed = ("" if self._key is None else None), None


def _tags(said: object) -> Iterator[str]:
    words = said.replace(",", " ").split() if isinstance(said, str) else said
    for each in (words if isinstance(words, list) else [])[:MOST_TAGS]:
        try:
            yield normal_tag(each.removeprefix("#"))
        except InvalidRequest:
            continue
