"""Brings the index up to the vault's texts: journals and documents that a sandbox would see."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from supervisor.runtimes.visible import VisibleFile
from supervisor.search.passes import VERSION, Counted, is_as_noted, metadata_of
from supervisor.search.put import put
from supervisor.search.snippets import plain_text
from supervisor.search.vault_texts import (
    DOCUMENT,
    JOURNAL,
    LARGEST,
    digest,
    has_text_name,
    head,
    parts,
    type_of,
)
from supervisor.storage.index_manifest import IndexedContent
from supervisor.storage.index_records import Noted
from supervisor.storage.index_rows import IndexRows

logger = logging.getLogger(__name__)

_MARK_PARTS: Final = 5


class VaultPass:
    """One pass over files; `look` finds them, and blocks."""

    def __init__(
        self, rows: IndexRows, vault: Path, look: Callable[[], Iterable[VisibleFile]]
    ) -> None:
        self._rows = rows
        self._vault = vault
        self._look = look
        self.counted = Counted()

    async def all(self, *, anew: bool = False) -> None:
        """All texts; `anew`: those that haven't changed as well. Raises VaultUnavailable.

        First of all goes what isn't to be seen any more, unless it has only got another name.
        """
        files = await asyncio.to_thread(self._texts)
        noted = await self._noted()
        here = {file.path for file in files}
        gone = {each.content_id: each for each in noted.values() if each.content_id not in here}
        new = [file for file in files if file.path not in noted]
        moved = await self._follow(new, gone) if gone else set()
        for content_id in gone:
            await self._rows.remove(content_id)
            self.counted.removed += 1
        for file in files:
            if file.path not in moved:
                await self._one(file, noted.get(file.path), anew=anew)

    def _texts(self) -> list[VisibleFile]:
        seen = list(self._look())
        names = Counter(file.inode for file in seen if file.names > 1)
        found = []
        for file in seen:
            if not has_text_name(file.path):
                continue
            if file.names > 1 and names[file.inode] < file.names:
                # Whatever its other name is, it isn't one that may be seen.
                self.counted.left_out["other_names"] += 1
            elif file.size > LARGEST:
                self.counted.left_out["too_large"] += 1
            elif not _can_be_told(file.path):
                self.counted.left_out["odd_name"] += 1
            else:
                found.append(file)
        return found

    async def _noted(self) -> dict[str, Noted]:
        found: dict[str, Noted] = {}
        after = ""
        while batch := await self._rows.noted_of_type((JOURNAL, DOCUMENT), after):
            found |= {each.content_id: each for each in batch}
            after = batch[-1].content_id
        return found

    async def _follow(self, new: list[VisibleFile], gone: dict[str, Noted]) -> set[str]:
        """Give contents that have a new name theirs, and take them out of `gone`."""
        usable = {
            name: each
            for name, each in gone.items()
            if each.content_hash and each.metadata.get("version") == VERSION
        }
        by_file = {_file_of(each): name for name, each in usable.items()}
        by_hash = {each.content_hash: name for name, each in usable.items()}
        moved: set[str] = set()
        for file in new:
            before = by_file.get((file.inode[1], file.modified, file.size))
            content_hash = None if before is None else gone[before].content_hash
            try:
                if before is None:
                    content_hash = await asyncio.to_thread(digest, self._vault, file)
                    before = by_hash.get(content_hash)
                if before is None or before not in gone or content_hash is None:
                    continue
                content = await self._content(file, content_hash)
            except OSError:
                continue  # whatever it is, it is met again below
            await self._rows.move(before, content)
            self.counted.moved += 1
            moved.add(file.path)
            del gone[before]
        return moved

    async def _one(self, file: VisibleFile, noted: Noted | None, *, anew: bool) -> None:
        if not anew and is_as_noted(noted, _mark(file)):
            self.counted.unchanged += 1
            return
        try:
            content_hash = await asyncio.to_thread(digest, self._vault, file)
            if content_hash is None:
                self.counted.left_out["no_text"] += 1
                if noted is not None:
                    await self._rows.remove(file.path)
                    self.counted.removed += 1
                return
            content = await self._content(file, content_hash)
            if not anew and noted is not None and _is_the_same(noted, content):
                await self._rows.note(content)
                self.counted.unchanged += 1
            else:
                self.counted.add(await put(self._rows, content, parts(self._vault, file)))
        except OSError as error:
            # Changed meanwhile, most likely: the next pass takes it.
            logger.info("%s is not indexed: %s", file.path, error.strerror)
            self.counted.left_out["changed" if error.strerror else "unreadable"] += 1

    async def _content(self, file: VisibleFile, content_hash: str) -> IndexedContent:
        said = await asyncio.to_thread(head, self._vault, file)
        return IndexedContent(
            content_id=file.path,
            content_type=type_of(file.path),
            content_hash=content_hash,
            title=plain_text(said.title),
            source_path=file.path,
            metadata=metadata_of(_mark(file), tags=list(said.tags)),
        )


def _can_be_told(path: str) -> bool:
    """Whether the path is Unicode on one line, as an answer has it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return plain_text(path) == path and "\n" not in path and "\t" not in path


def _mark(file: VisibleFile) -> list[int]:
    return [file.inode[1], file.modified, file.changed, file.size, file.names]


def _file_of(noted: Noted) -> Any:
    mark = noted.metadata.get("mark")
    if not isinstance(mark, list) or len(mark) != _MARK_PARTS:
        return None
    return mark[0], mark[1], mark[3]


def _is_the_same(noted: Noted, content: IndexedContent) -> bool:
    return (noted.content_hash, noted.title, noted.metadata.get("version")) == (
        content.content_hash,
        content.title,
        content.metadata["version"],
    )
