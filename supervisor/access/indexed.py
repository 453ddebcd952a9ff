"""Rows by the digest of their secret and by their id, found without looking through all of them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar


class Row(Protocol):
    """What has an id that isn't secret, and the digest of a secret; neither ever changes."""

    @property
    def id(self) -> str:
        """The id."""
        ...

    @property
    def digest(self) -> str:
        """The secret's digest."""
        ...


R = TypeVar("R", bound=Row)


class Indexed(Generic[R]):
    """The rows of one kind, the latest version of each."""

    def __init__(self, rows: Iterable[R] = ()) -> None:
        self._by_digest: dict[str, R] = {}
        self._by_id: dict[str, R] = {}
        for row in rows:
            self.put(row)

    def __iter__(self) -> Iterator[R]:
        return iter(tuple(self._by_id.values()))

    def put(self, row: R) -> None:
        """Add a row, or put it in the place of its earlier version."""
        self._by_digest[row.digest] = row
        self._by_id[row.id] = row

    def by_digest(self, digest: str) -> R | None:
        """The row of a secret with this digest."""
        return self._by_digest.get(digest)

    def by_id(self, row_id: str) -> R | None:
        """The row with this id."""
        return self._by_id.get(row_id)

    def drop_unless(self, wanted: Callable[[R], bool]) -> None:
        """Forget the rows that aren't wanted."""
        for row in self:
            if not wanted(row):
                del self._by_digest[row.digest], self._by_id[row.id]
