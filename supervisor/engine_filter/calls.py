"""Which of the engine's calls pass: a table, and one strict way to read a request as one of them.

Nothing of the request is handed on: what passes is written anew from what was understood. So an
odd spelling has no second reader to mean something else to; it is refused here.
"""

import enum
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from supervisor.runtimes.container.spec import LABEL_INSTANCE

MAX_TARGET: Final = 2048
_TARGET: Final = re.compile(r"/[A-Za-z0-9_.:/-]*(\?[A-Za-z0-9_.:%&=+*~-]*)?", re.ASCII)
_VERSION: Final = re.compile(r"(/v1\.[0-9]{2})?(/.*)")
_CONTAINER: Final = "([0-9a-f]{12,64})"
_BOOLEAN: Final = "0|1|true|false|True|False"
_ONCE: Final = frozenset(
    {"host", "content-length", "content-type", "connection", "upgrade", "transfer-encoding"}
)


class Refused(Exception):
    """This call doesn't pass; the text says why, `status` is what the caller is answered."""

    def __init__(self, why: str, status: int = 403) -> None:
        super().__init__(why)
        self.why = why
        self.status = status


class Verb(enum.Enum):
    """What may be asked of the engine."""

    PING = "ping"
    VERSION = "version"
    INFO = "info"
    IMAGE = "image"
    LIST = "list"
    EVENTS = "events"
    CREATE = "create"
    INSPECT = "inspect"
    ATTACH = "attach"
    START = "start"
    WAIT = "wait"
    KILL = "kill"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class _Row:
    verb: Verb
    method: str
    path: re.Pattern[str]
    query: Mapping[str, str]


def _row(verb: Verb, method: str, path: str, **query: str) -> _Row:
    return _Row(verb, method, re.compile(path, re.ASCII), query)


_NUMBER: Final = r"-?[0-9]{1,12}(\.[0-9]{1,9})?"
PASSES: Final = (
    _row(Verb.PING, "GET", "/_ping"),
    _row(Verb.VERSION, "GET", "/version"),
    _row(Verb.INFO, "GET", "/info"),
    _row(Verb.IMAGE, "GET", r"/images/([a-z0-9][a-z0-9_.:/-]{0,250})/json"),
    _row(
        *(Verb.LIST, "GET", "/containers/json"),
        all="1",
        limit="-1",
        size="0",
        trunc_cmd="0",
        filters=".*",
    ),
    _row(Verb.EVENTS, "GET", "/events", since="0", until=_NUMBER, filters=".*"),
    _row(Verb.CREATE, "POST", "/containers/create", name=r"trustfloor-turn_[0-9a-f]{32}"),
    _row(Verb.INSPECT, "GET", f"/containers/{_CONTAINER}/json"),
    _row(
        *(Verb.ATTACH, "POST", f"/containers/{_CONTAINER}/attach"),
        stdin="1",
        stdout="1",
        stderr="1",
        stream="1",
    ),
    _row(Verb.START, "POST", f"/containers/{_CONTAINER}/start"),
    _row(Verb.WAIT, "POST", f"/containers/{_CONTAINER}/wait"),
    _row(Verb.KILL, "POST", f"/containers/{_CONTAINER}/kill", signal="SIGKILL"),
    _row(
        *(Verb.REMOVE, "DELETE", f"/containers/{_CONTAINER}"),
        v=_BOOLEAN,
        force=_BOOLEAN,
        link="0|false|False",
    ),
)
"""All there is: what has no row here (exec, build, pull, volumes, networks …) is refused."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request that has a row. `subject` is a container's or an image's name, as given."""

    verb: Verb
    method: str
    path: str
    query: Mapping[str, str]
    subject: str = ""

    @property
    def target(self) -> str:
        """The request target, written anew."""
        return self.path + (f"?{urlencode(self.query)}" if self.query else "")


def read_call(method: str, target: str) -> Call:
    """The call that a request line means. Raises Refused for all that has no row."""
    if len(target) > MAX_TARGET or not _TARGET.fullmatch(target):
        raise Refused("a request target of another form than the engine's client writes")
    whole, _, query = target.partition("?")
    versioned = _VERSION.fullmatch(whole)
    assert versioned is not None  # noqa: S101 - the target's own form
    path = versioned[2]
    if ".." in path or "//" in path:
        raise Refused("a path with steps back or empty steps")
    for row in PASSES:
        found = row.path.fullmatch(path)
        if found is not None and row.method == method:
            subject = found[1] if found.groups() else ""
            return Call(row.verb, method, whole, _read_query(row, query), subject)
    raise Refused(f"{method} {path}: nothing of the kind passes")


def check_headers(headers: Sequence[tuple[bytes, bytes]], call: Call) -> None:
    """Raises Refused for headers that could mean one thing here and another there."""
    names = [name.decode("ascii", "replace").lower() for name, _ in headers]
    if any(names.count(name) > 1 for name in _ONCE):
        raise Refused("a header that may come once came twice")
    if "transfer-encoding" in names or "expect" in names or "trailer" in names:
        raise Refused("a body in pieces, or one that waits to be asked for")
    if ("upgrade" in names) != (call.verb is Verb.ATTACH):
        raise Refused("only an attach changes protocols, and it must")


def read_json(body: bytes) -> Any:
    """A JSON text in which no key comes twice. Raises Refused."""
    try:
        return json.loads(
            body.decode("utf-8"), object_pairs_hook=_once_each, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        raise Refused("the body is no plain JSON") from None


def listed_instance(call: Call) -> str:
    """Whose containers a list is asked for. Raises Refused if not exactly one instance's."""
    match read_json(call.query.get("filters", "").encode()):
        case {"label": [str(label)], **others} if not others and call.query.get("all") == "1":
            name, _, instance = label.partition("=")
            if name == LABEL_INSTANCE and re.fullmatch("[0-9a-f]{32}", instance):
                return instance
    raise Refused("containers are listed by one instance's label")


def watched_container(call: Call) -> str:
    """Whose past events are asked for. Raises Refused if not one container's, up to a time."""
    match read_json(call.query.get("filters", "").encode()):
        case {"container": [str(container)], "event": ["kill"], **others} if not others:
            if "until" in call.query and re.fullmatch(_CONTAINER, container):
                return container
    raise Refused("events are asked of one container, up to now")


def _read_query(row: _Row, query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise Refused("a query that can't be read") from None
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refused("a query that says something twice")
    for name, value in found.items():
        if name not in row.query or not re.fullmatch(row.query[name], value, re.ASCII):
            raise Refused(f"{row.verb.value} with {name}={value[:60]!r}")
    return found


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice")
    return found


def _no_constant(text: str) -> None:
    raise ValueError(text)
