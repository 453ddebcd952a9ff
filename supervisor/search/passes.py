"""What a pass over the sources of the index counts, and what they have in common."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from supervisor.search.put import Written
from supervisor.storage.index_records import Noted

VERSION: Final = 1
"""Goes up when texts are cut or read otherwise, so that all is read anew."""


@dataclass(slots=True)
class Counted:
    """Contents by what became of them, and pieces written and removed.

    `read` were new or changed, `moved` have another name, `left_out` are by cause.
    """

    unchanged: int = 0
    read: int = 0
    moved: int = 0
    removed: int = 0
    pieces_written: int = 0
    pieces_removed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, written: Written) -> None:
        """Count a content that was put."""
        self.read += 1
        self.pieces_written += written.new
        self.pieces_removed += written.gone

    @property
    def has_deleted(self) -> bool:
        """Whether something was taken out of the index."""
        return self.removed + self.pieces_removed > 0


def metadata_of(mark: Any, **more: Any) -> dict[str, Any]:
    """What is noted of a content that has this mark."""
    return {"mark": mark, "version": VERSION, **more}


def is_as_noted(noted: Noted | None, mark: Any) -> bool:
    """Whether a content is indexed as it is: its mark is the one that was noted."""
    return (
        noted is not None
        and noted.metadata.get("mark") == mark
        and noted.metadata.get("version") == VERSION
    )
