"""`.mcp.json` at the vault's root: read without following a link, changed one member at a time.

Two forms are read: servers by name at the top, or below `mcpServers`, as other programs have it. A
new file has the first. Nothing is started here.
"""

import errno
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any, Final

from supervisor.errors import AlreadyThere, InvalidRequest, NotFound, TrustfloorError
from supervisor.mcp.hidden import unmasked
from supervisor.mcp.json_places import JsonObject, Member, NotJson, read_object
from supervisor.mcp.server_entry import KNOWN, ServerEntry, read_entry
from supervisor.policy.fault import PolicyFault
from supervisor.storage.beneath import read_inside, replace_inside

FILE: Final = ".mcp.json"
LARGEST: Final = 1024 * 1024
"""Bytes of the file."""
MOST_SERVERS: Final = 100
"""Servers of one file."""

_NESTED: Final = "mcpServers"
_PATH: Final = PurePosixPath(FILE)
_TRIES: Final = 5
_BOM: Final = "\ufeff"


class ChangedMeanwhile(TrustfloorError):
    """The file isn't any more what the caller has seen."""

    code = "changed_meanwhile"
    status = 412
    title = "Changed meanwhile"
    retryable = True


@dataclass(frozen=True, slots=True)
class Configured:
    """What the file says: servers in its order, what is wrong with the others, and its tag."""

    servers: tuple[ServerEntry, ...] = ()
    broken: tuple[PolicyFault, ...] = ()
    tag: str = ""

    def find(self, name: str) -> ServerEntry | None:
        """The server of this name."""
        return next((each for each in self.servers if each.name == name), None)

    def fault(self, name: str) -> PolicyFault | None:
        """What is wrong with the server of this name, or with the whole file."""
        return next(
            (each for each in self.broken if each.field is None or _is_of(each.field, name)), None
        )


@dataclass(frozen=True, slots=True)
class _Content:
    text: str
    bom: str
    status: os.stat_result | None
    raw: bytes

    @property
    def tag(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()[:32]

    def place(self, at: int) -> tuple[int, int]:
        before = self.text[:at]
        return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1


def changed_meanwhile() -> ChangedMeanwhile:
    """The file isn't the one any more that the caller has read."""
    return ChangedMeanwhile(
        f"{FILE} was changed meanwhile",
        where="If-Match",
        remedy="read it again, and send the change once more",
    )


class McpFile:
    """The file of one vault. All of it blocks; safe to call from several threads."""

    def __init__(self, vault: Path) -> None:
        self._vault = vault
        self._lock = Lock()

    def read(self) -> Configured:
        """All that is configured; a file that can't be read as a whole is one fault."""
        try:
            content = self._content()
        except InvalidRequest as error:
            return Configured(broken=(PolicyFault(FILE, error.message, remedy=error.remedy),))
        try:
            holder = _servers(content.text)
        except NotJson as error:
            return Configured(broken=(_fault(content, error.at, error.what),), tag=content.tag)
        servers: list[ServerEntry] = []
        broken: list[PolicyFault] = []
        for member in holder.members:
            if _is_note(member):
                continue
            try:
                servers.append(read_entry(member.key, member.value))
            except InvalidRequest as error:
                fault = _fault(content, member.at, error.message, error.where, error.remedy)
                broken.append(fault)
        return Configured(tuple(servers), tuple(broken), content.tag)

    def put(
        self,
        name: str,
        given: Mapping[str, Any],
        expected: str | None = None,
        *,
        only_new: bool = False,
    ) -> tuple[ServerEntry, bool]:
        """Add a server or change it; whether it is new. Keys that we don't know are kept.

        `expected`: the tag that the file must have. `only_new`: change none that is there, not one
        with a mistake either. Raises InvalidRequest, ChangedMeanwhile, AlreadyThere.
        """
        made: list[tuple[ServerEntry, bool]] = []

        def change(holder: JsonObject) -> str:
            there = holder.member(name)
            if only_new and there is not None:
                raise AlreadyThere(
                    f"{FILE} has a server of this name, which is left as it is",
                    where=name,
                    remedy="to replace it, send this without `If-None-Match: *`",
                )
            old = _entry_or_none(name, None if there is None else there.value)
            before = None if there is None else there.value
            whole = _merged(before, unmasked(name, given, old))
            entry = read_entry(name, whole)
            if there is None and len(holder.members) >= MOST_SERVERS:
                raise InvalidRequest(f"the file has {MOST_SERVERS} servers", where=FILE)
            made[:] = [(entry, there is None)]
            return holder.put(name, whole)

        if name == _NESTED:
            raise InvalidRequest(f"{name} can't be a server's name", where="name")
        read_entry(name, {"command": "x"})  # its name, before anything else
        self._change(change, expected)
        return made[0]

    def remove(self, name: str, expected: str | None = None) -> None:
        """Take a server out. Raises NotFound, InvalidRequest, ChangedMeanwhile."""

        def change(holder: JsonObject) -> str:
            there = holder.member(name)
            if there is None or _is_note(there):
                raise NotFound(
                    "no MCP server has this name", where="name", remedy="list them: GET /api/mcp"
                )
            return holder.without(name)

        self._change(change, expected)

    def _change(self, change: Callable[[JsonObject], str], expected: str | None) -> None:
        with self._lock:
            for _ in range(_TRIES):
                content = self._content()
                if expected is not None and expected != content.tag:
                    raise changed_meanwhile()
                try:
                    holder = _servers(content.text)
                except NotJson as error:
                    fault = _fault(content, error.at, error.what)
                    raise InvalidRequest(
                        f"{FILE} can't be read, so nothing is written over it: {error.what}",
                        where=fault.place,
                        remedy="mend the file, or put it elsewhere",
                    ) from None
                text = _readable(change(holder))
                # An editor may have saved since: what it wrote isn't to be lost.
                if self._content().raw == content.raw:
                    self._write(content, (content.bom + text).encode())
                    return
        raise ChangedMeanwhile(
            f"{FILE} is being changed by somebody else", where=FILE, remedy="send it again"
        )

    def _content(self) -> _Content:
        try:
            file = read_inside(self._vault, _PATH)
        except FileNotFoundError:
            return _Content("{}\n", "", None, b"")
        except OSError as error:
            what = {
                errno.ELOOP: "it is a link, and links aren't followed",
                errno.EINVAL: "it is no regular file",
            }.get(error.errno or 0, error.strerror or "it can't be opened")
            raise _unreadable(what) from error
        try:
            with file:
                status = os.fstat(file.fileno())
                raw = file.read(LARGEST + 1)
        except OSError as error:
            raise _unreadable(error.strerror or "it can't be read") from error
        if len(raw) > LARGEST:
            raise _unreadable(f"it has more than {LARGEST} bytes")
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise _unreadable(f"it isn't UTF-8 (byte {error.start})") from None
        bom = _BOM if text.startswith(_BOM) else ""
        text = text.removeprefix(_BOM)
        return _Content(text if text.strip() else "{}\n", bom, status, raw)

    def _write(self, content: _Content, raw: bytes) -> None:
        if len(raw) > LARGEST:
            raise InvalidRequest(f"{FILE} would have more than {LARGEST} bytes", where=FILE)
        try:
            like = content.status
            if like is None:  # a new one belongs to the vault's owner, and is closed to others
                owner = self._vault.stat()
                like = os.stat_result((0o100600, *tuple(owner)[1:]))
            replace_inside(self._vault, _PATH, raw, 0o600, like=like)
        except OSError as error:
            raise InvalidRequest(
                f"{FILE} can't be written: {error.strerror}",
                where=FILE,
                remedy="see that the supervisor may write into the vault",
            ) from error


def _servers(text: str) -> JsonObject:
    """The object that holds the servers. Raises NotJson."""
    top = read_object(text)
    nested = top.member(_NESTED)
    return top if nested is None else read_object(text, nested.value_at, alone=False)


def _readable(text: str) -> str:
    """The text, if it can be read again: no change may cost all servers. Raises InvalidRequest."""
    try:
        _servers(text)
    except NotJson as error:
        raise InvalidRequest(
            f"{FILE} couldn't be read with this in it: {error.what}", where=FILE
        ) from None
    return text


def _is_note(member: Member) -> bool:
    """A key for editors and readers, such as `$schema` or `//`."""
    return member.key.startswith(("$", "/", "_")) and not isinstance(member.value, dict)


def _is_of(field: str, name: str) -> bool:
    return field == name or field.startswith((f"{name}.", f"{name}["))


def _entry_or_none(name: str, value: object) -> ServerEntry | None:
    try:
        return read_entry(name, value)
    except InvalidRequest:
        return None


def _merged(old: object, new: Mapping[str, Any]) -> dict[str, Any]:
    """The new keys, in the old order where they were there, with the old ones we don't know."""
    before = old if isinstance(old, dict) else {}
    kept = {
        key: new.get(key, value) for key, value in before.items() if key in new or key not in KNOWN
    }
    return {**kept, **{key: value for key, value in new.items() if key not in kept}}


def _fault(
    content: _Content,
    at: int,
    what: str,
    field: str | None = None,
    remedy: str | None = None,
) -> PolicyFault:
    line, column = content.place(at)
    return PolicyFault(FILE, what, line, column, field, remedy)


def _unreadable(what: str) -> InvalidRequest:
    return InvalidRequest(
        f"{FILE} can't be read: {what}", where=FILE, remedy="mend the file, or put it elsewhere"
    )
