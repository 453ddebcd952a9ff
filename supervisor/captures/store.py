"""The vault's captures: documents that clients upload, each whole or not at all.

They lie in the vault's folder `captures/`, where agents read them. What is known of one beside its
bytes (its name as it was given, a title, a note) lies in `captures/.about/`. No link is followed.
"""

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any, Final

from supervisor.captures.names import numbered, stored_name
from supervisor.clock import Clock, Instant
from supervisor.errors import InvalidRequest, NotFound
from supervisor.storage.beneath import inside, read_inside, remove_inside, replace_inside
from supervisor.storage.timestamp import to_text

FOLDER: Final = PurePosixPath("captures")
ABOUT: Final = FOLDER / ".about"
MOST_ALIKE: Final = 10_000
"""Files of one name that are told apart by numbers."""
LONGEST_TEXT: Final = 16_384
"""Characters of a title, and of a note."""


@dataclass(frozen=True, slots=True)
class Capture:
    """One document. `filename` is what it is stored as, `original_name` as it was given.

    `size` is in bytes, `captured_at` when it was made by its client's word, else when it came, in
    UTC by ISO 8601.
    """

    filename: str
    original_name: str
    size: int
    captured_at: str
    title: str | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A document as a client gives it."""

    filename: str
    content: bytes
    title: str | None = None
    context: str | None = None
    captured_at: datetime | None = None


class Captures:
    """The captures of one vault. All of it blocks; safe to call from several threads."""

    def __init__(
        self, vault: Path, clock: Clock, denied: Callable[[str], str | None] = lambda _: None
    ) -> None:
        """`denied` says why agents may not see a file of this name, or None if they may."""
        self._vault = vault
        self._clock = clock
        self._denied = denied
        self._lock = Lock()

    def put(self, upload: Upload) -> tuple[Capture, bool]:
        """Store a document; whether it is new. The same bytes under the same name are one.

        Other bytes under a name that is taken get a number. Raises InvalidRequest.
        """
        for where, text in (("title", upload.title), ("context", upload.context)):
            if text is not None and len(text) > LONGEST_TEXT:
                raise InvalidRequest(f"at most {LONGEST_TEXT} characters", where=where)
        name = stored_name(upload.filename)
        self._require_seen(upload.filename, name)
        with self._lock:
            for number in range(1, MOST_ALIKE):
                each = name if number == 1 else numbered(name, number)
                there = self._content(each)
                if there is None:
                    return self._store(each, upload), True
                if there == upload.content and self._about(each).get("original_name", each) in (
                    upload.filename,
                    each,
                ):
                    return self.get(each), False
        raise InvalidRequest("too many captures have this name", where="filename")

    def _require_seen(self, *names: str) -> None:
        """Captures are for agents, so one that they may not see has no place among them.

        Least of all under another name, by which they could: `.env` is stored as `_env`.
        """
        reason = next((why for each in names if (why := self._denied(each)) is not None), None)
        if reason is not None:
            raise InvalidRequest(
                f"a file of this name is on the deny list: {reason}",
                where="filename",
                remedy="leave it where it is, or give what agents may see under another name",
            )

    def all(self) -> list[Capture]:
        """All captures, the latest first."""
        found = [capture for name in self._names() if (capture := self._one(name)) is not None]
        return sorted(found, key=lambda each: (each.captured_at, each.filename), reverse=True)

    def get(self, filename: str) -> Capture:
        """One capture by the name that it is stored or was given under. Raises NotFound."""
        for name in self._candidates(filename):
            found = self._one(name)
            if found is not None:
                return found
        raise _not_there()

    def read(self, filename: str) -> tuple[Capture, bytes]:
        """One capture with what it holds. Raises NotFound."""
        capture = self.get(filename)
        content = self._content(capture.filename)
        if content is None:
            raise _not_there()
        return capture, content

    def remove(self, filename: str) -> Capture:
        """Delete a capture, with what is known of it, and say which. Raises NotFound."""
        with self._lock:
            capture = self.get(filename)
            remove_inside(self._vault, FOLDER / capture.filename)
            remove_inside(self._vault, ABOUT / f"{capture.filename}.json")
        return capture

    def _candidates(self, filename: str) -> Iterator[str]:
        if _is_plain(filename):
            yield filename
        with suppress(InvalidRequest):
            yield stored_name(filename)

    def _names(self) -> list[str]:
        if not inside(self._vault, FOLDER):
            return []
        try:
            names = os.listdir(self._vault / FOLDER)  # noqa: PTH208  (names, in bulk)
        except OSError:
            return []
        return [name for name in names if _is_plain(name)]

    def _one(self, name: str) -> Capture | None:
        try:
            with read_inside(self._vault, FOLDER / name) as file:
                status = os.fstat(file.fileno())
        except (OSError, ValueError):
            return None
        about = self._about(name)
        came = to_text(Instant(status.st_mtime))
        return Capture(
            filename=name,
            original_name=_text(about.get("original_name")) or name,
            size=status.st_size,
            captured_at=_text(about.get("captured_at")) or came,
            title=_text(about.get("title")),
            context=_text(about.get("context")),
        )

    def _content(self, name: str) -> bytes | None:
        try:
            with read_inside(self._vault, FOLDER / name) as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EINVAL, errno.EISDIR):
                return b""  # something else has this name: it is taken
            raise

    def _about(self, name: str) -> Mapping[str, Any]:
        try:
            with read_inside(self._vault, ABOUT / f"{name}.json") as file:
                found = json.loads(file.read(1024 * 1024))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _store(self, name: str, upload: Upload) -> Capture:
        moment = upload.captured_at
        made = self._clock.now() if moment is None else Instant(moment.timestamp())
        capture = Capture(
            filename=name,
            original_name=upload.filename,
            size=len(upload.content),
            captured_at=to_text(made),
            title=upload.title,
            context=upload.context,
        )
        about = json.dumps(asdict(capture), ensure_ascii=False, indent=1).encode(
            errors="surrogatepass"
        )
        # What is known of it first: a capture that is there is there with its name.
        self._write(ABOUT / f"{name}.json", about)
        self._write(FOLDER / name, upload.content)
        return capture

    def _write(self, path: PurePosixPath, content: bytes) -> None:
        try:
            replace_inside(self._vault, path, content)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise InvalidRequest(
                    f"the vault's folder {FOLDER} is a link or no folder: nothing is stored there",
                    remedy="put a plain folder in its place",
                ) from None
            raise


def _not_there() -> NotFound:
    return NotFound(
        "no capture has this name", where="filename", remedy="list them: GET /api/captures"
    )


def _is_plain(name: str) -> bool:
    """Whether a name is one that we store under."""
    try:
        return not name.startswith(".") and "/" not in name and stored_name(name) == name
    except InvalidRequest:
        return False


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
