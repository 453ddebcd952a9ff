"""Answers a search: asks the index, leaves out what may not be shown now, and tells the places."""

import asyncio
import hashlib
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.errors import InvalidRequest
from supervisor.policy.deny_list import DenyList
from supervisor.search.asked import LONGEST, Asked, asked
from supervisor.search.embeds import EmbeddingsFailed, Similar
from supervisor.search.fusion import fused
from supervisor.search.index import Index
from supervisor.search.snippets import CLOSE, OPEN, Snippet, marked_by_letters, snippet
from supervisor.search.vault_texts import DOCUMENT, JOURNAL
from supervisor.storage.beneath import stat_inside
from supervisor.storage.chunks import SESSION_CONTENT
from supervisor.storage.found import Found, Wanted, find
from supervisor.storage.tags import normal_tag

TYPES: Final = (SESSION_CONTENT, JOURNAL, DOCUMENT)
MOST_TAGS: Final = 20
DEEPEST: Final = 10_000
"""Contents that can be paged through; who needs more asks more narrowly."""
NO_WORDS: Final = "no_words"
BEING_JUDGED: Final = "texts_are_being_judged"
NO_SIMILARITY: Final = "no_similarity"
MOST_NEAR: Final = 50
"""Contents that similarity adds to those with the words."""
MOST_FUSED: Final = 200
"""Contents with the words that are ranked together with those."""

_CURSOR: Final = re.compile(r"(\d{1,6})\.([0-9a-f]{12})\Z")


@dataclass(frozen=True, slots=True)
class Hit:
    """A content that was found, with the best place in it. `rank` counts from 1.

    Of a session, `message` is the number of the message; of a text, `line` the line with the first
    words that were found, under `heading`. 0: nowhere in particular.
    """

    rank: int
    found: Found
    shown: Snippet

    @property
    def is_session(self) -> bool:
        """Whether it is a session, and no text of the vault."""
        return self.found.content_type == SESSION_CONTENT

    @property
    def message(self) -> int | None:
        """The number of the message, from 1."""
        return (self.found.position or None) if self.is_session else None

    @property
    def line(self) -> int | None:
        """The number of the line, from 1."""
        if self.is_session or not self.found.position:
            return None
        return self.found.position + self.shown.line


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits, the best first; `next` is the cursor of the following ones, None at the end.

    `notes` say what the answer lacks, by code.
    """

    hits: tuple[Hit, ...] = ()
    next: str | None = None
    notes: tuple[str, ...] = ()


class Finding:
    """Searches one database and one vault."""

    def __init__(
        self,
        database: Path,
        vault: Path,
        index: Index,
        hidden: Callable[[], DenyList],
        similar: Similar | None = None,
    ) -> None:
        self._database = database
        self._vault = vault
        self._index = index
        self._hidden = hidden
        self._similar = similar

    async def find(
        self,
        text: str,
        *,
        types: tuple[str, ...] = (),
        tags: tuple[str, ...] = (),
        limit: int = 20,
        after: str | None = None,
    ) -> Answer:
        """What is found for these words. Raises InvalidRequest, StorageBusy."""
        question = _question(text)
        wanted = _wanted(question, types, tags)
        key = _key(text, wanted)
        start = _start(after, key)
        if question.is_empty:
            return Answer(notes=(NO_WORDS,))
        hidden = self._hidden()
        notes: tuple[str, ...] = ()
        if not self._index.is_judged_by(hidden):
            # Which other names a denied file has is known only once the vault was looked through.
            self._index.judge()
            notes = (BEING_JUDGED,)
            if types and SESSION_CONTENT not in types:
                return Answer(notes=notes)
            wanted = _wanted(question, (SESSION_CONTENT,), tags)
        near: list[Found] = []
        if self._similar is not None:
            try:
                near = await self._similar.nearest(text, wanted, MOST_NEAR)
            except EmbeddingsFailed:
                notes = (*notes, NO_SIMILARITY)
        part = _Part(limit, start, key)
        return await asyncio.to_thread(self._page, wanted, near, hidden, part, notes)

    def _page(
        self,
        wanted: Wanted,
        near: list[Found],
        hidden: DenyList,
        part: "_Part",
        notes: tuple[str, ...],
    ) -> Answer:
        hits: list[Hit] = []
        at, limit = part.start, part.limit
        while at < DEEPEST:
            rows = self._rows(wanted, near, limit + 1, at)
            for row in rows:
                if len(hits) == limit:
                    return Answer(tuple(hits), f"{at}.{part.key}", notes)
                at += 1
                if self._may_be_shown(row, hidden):
                    shown = snippet(marked_by_letters(row.marked, wanted.letters))
                    hits.append(Hit(at, row, shown))
            if len(rows) <= limit:
                break
        return Answer(tuple(hits), None, notes)

    def _rows(self, wanted: Wanted, near: list[Found], limit: int, at: int) -> list[Found]:
        if not near:
            return find(self._database, wanted, limit=limit, offset=at, marks=(OPEN, CLOSE))
        by_words = find(self._database, wanted, limit=MOST_FUSED, marks=(OPEN, CLOSE))
        return fused(by_words, near)[at : at + limit]

    def _may_be_shown(self, row: Found, hidden: DenyList) -> bool:
        """Whether a text is still one that isn't denied; of a session, its words are."""
        if row.content_type == SESSION_CONTENT:
            return True
        path = row.source_path
        if row.content_type not in TYPES or path is None or hidden.match(path) is not None:
            return False
        try:
            now = stat_inside(self._vault, PurePosixPath(path))
        except (OSError, ValueError):
            return False
        return now is not None and _is_as_judged(now, row.metadata.get("mark"))


@dataclass(frozen=True, slots=True)
class _Part:
    """Which part of an answer is wanted: so many hits from there on, of this question."""

    limit: int
    start: int
    key: str


def _is_as_judged(now: os.stat_result, mark: object) -> bool:
    """Whether no new name of the file can be a denied one."""
    if not stat.S_ISREG(now.st_mode):
        return False
    if now.st_nlink == 1:
        return True
    return isinstance(mark, list) and mark[:1] == [now.st_ino] and mark[2:3] == [now.st_ctime_ns]


def _question(text: str) -> Asked:
    if not text.strip():
        raise InvalidRequest("there is nothing to look for", where="q", remedy="give some words")
    if len(text) > LONGEST:
        raise InvalidRequest(f"at most {LONGEST} characters", where="q")
    return asked(text)


def _wanted(question: Asked, types: tuple[str, ...], tags: tuple[str, ...]) -> Wanted:
    unknown = next((each for each in types if each not in TYPES), None)
    if unknown is not None:
        raise InvalidRequest(
            f"{unknown[:100]!r} is no type of content",
            where="type",
            remedy=f"one of {', '.join(TYPES)}",
        )
    if len(tags) > MOST_TAGS:
        raise InvalidRequest(f"at most {MOST_TAGS} tags", where="tag")
    return Wanted(
        match=question.match,
        letters=question.letters,
        types=tuple(sorted(set(types))) or TYPES,
        tags=tuple(sorted({normal_tag(tag) for tag in tags})),
    )


def _key(text: str, wanted: Wanted) -> str:
    """What a cursor is good for: this question and no other."""
    asked_for = "\0".join((text, *wanted.types, "", *wanted.tags))
    return hashlib.sha256(asked_for.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _start(after: str | None, key: str) -> int:
    if after is None:
        return 0
    found = _CURSOR.match(after)
    if found is None or found[2] != key:
        raise InvalidRequest(
            "this is no cursor of this search",
            where="after",
            remedy="take `next` from the answer that you have, with the same words and filters",
        )
    return int(found[1])
