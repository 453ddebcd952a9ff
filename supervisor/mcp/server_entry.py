"""What a configured MCP server is: how it is reached, checked key by key. Nothing is started."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from supervisor.errors import InvalidRequest
from supervisor.mcp.transports import Transport
from supervisor.nearest import did_you_mean
from supervisor.policy.mcp_names import is_plain

LONGEST_TEXT: Final = 8_192
"""Characters of any text in an entry."""
MOST_ITEMS: Final = 200
"""Arguments, variables or headers of an entry."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
_LINES: Final = re.compile("[\r\n]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
REFERENCE: Final = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<rest>:-[^}]*)?\}")
"""`${NAME}`, or `${NAME:-else}` with a value for where it isn't set."""
_SPELLINGS: Final[Mapping[str, Transport]] = {
    "stdio": "stdio", "sse": "sse", "http": "http", "streamable-http": "http",
    "streamable_http": "http", "streamableHttp": "http",
}  # fmt: skip
_OF_STDIO: Final = frozenset({"type", "command", "args", "env"})
_OF_REMOTE: Final = frozenset({"type", "url", "headers"})
KNOWN: Final = _OF_STDIO | _OF_REMOTE
"""The keys of an entry that mean something to us."""
_LOADERS: Final = re.compile(
    r"(?:LD_[A-Z_]+|DYLD_[A-Z_]+|BASH_ENV|ENV|PYTHONSTARTUP|PYTHONPATH|PYTHONHOME|NODE_OPTIONS|"
    r"NODE_PATH|PERL5OPT|PERL5LIB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|CLASSPATH|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF)\Z"
)
"""Variables that make a program run something other than it says."""


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """One server. `command`, `args`, `env` are of `stdio`, `url` and `headers` of the others.

    `${NAME}` in a value stands for a variable of the supervisor's environment: what is kept, shown
    and listed is the reference. `other` are keys that we don't know; they are kept as they are.
    """

    name: str
    transport: Transport
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    other: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def references(self) -> tuple[str, ...]:
        """The names of all variables that its values refer to, each once."""
        values = (self.command or "", *self.args, *self.env.values(), self.url or "",
                  *self.headers.values())  # fmt: skip
        names = (found["name"] for each in values for found in REFERENCE.finditer(each))
        return tuple(dict.fromkeys(names))

    def given(self, values: Mapping[str, str]) -> dict[str, Any]:
        """The entry as an agent's program takes it, with the references' values put in.

        Raises InvalidRequest for a reference that has no value.
        """
        if self.transport == "stdio":
            return {
                "type": "stdio",
                "command": with_values(self.command or "", values),
                "args": [with_values(each, values) for each in self.args],
                "env": {key: with_values(each, values) for key, each in self.env.items()},
            }
        return {
            "type": self.transport,
            "url": with_values(self.url or "", values),
            "headers": {key: with_values(each, values) for key, each in self.headers.items()},
        }


def read_entry(name: str, plain: object) -> ServerEntry:
    """Check one entry of a configuration. Raises InvalidRequest with the field."""
    if _NAME.match(name) is None or not is_plain(name):
        raise InvalidRequest(
            f"{name!r} can't be a server's name",
            where="name",
            remedy="use at most 64 letters, digits and . _ -, with no two of . _ side by side, and"
            " none at the end",
        )
    if not isinstance(plain, Mapping):
        raise InvalidRequest("a server is a JSON object", where=name)
    _require_writable(name, plain)
    transport = _transport(name, plain)
    known = _OF_STDIO if transport == "stdio" else _OF_REMOTE
    stray = next((key for key in plain if key in KNOWN - known), None)
    if stray is not None:
        raise InvalidRequest(
            f"a server of type {transport} has no `{stray}`", where=f"{name}.{stray}"
        )
    other = {key: value for key, value in plain.items() if key not in known}
    for key in other:
        close = did_you_mean(key, known)
        if close is not None:
            raise InvalidRequest("this key isn't known", where=f"{name}.{key}", remedy=close)
    if transport == "stdio":
        return ServerEntry(
            name,
            transport,
            command=_command(name, plain.get("command")),
            args=_texts(f"{name}.args", plain.get("args", [])),
            env=_variables(f"{name}.env", plain.get("env", {})),
            other=other,
        )
    return ServerEntry(
        name,
        transport,
        url=_url(name, plain.get("url")),
        headers=_headers(f"{name}.headers", plain.get("headers", {})),
        other=other,
    )


def with_values(text: str, values: Mapping[str, str]) -> str:
    """The text with each reference replaced; `${NAME:-else}` has a value of its own.

    Raises InvalidRequest for one that has no value.
    """

    def value(found: re.Match[str]) -> str:
        name, rest = found["name"], found["rest"]
        if name in values:
            return values[name]
        if rest is not None:
            return rest[2:]
        raise InvalidRequest(
            f"the variable {name} isn't set, or isn't one of TRUSTFLOOR_MCP_VARIABLES",
            where=name,
            remedy=f"set {name}, name it there, and start the supervisor again",
        )

    return REFERENCE.sub(value, text)


def _require_writable(name: str, plain: Mapping[str, Any]) -> None:
    """Keys that we don't know are kept and shown too, so all of it has to be JSON in UTF-8."""
    try:
        json.dumps(dict(plain), ensure_ascii=False, allow_nan=False, default=str).encode()
    except (ValueError, TypeError, RecursionError):
        raise InvalidRequest(
            "the server can't be written as JSON in UTF-8",
            where=name,
            remedy="take out halves of characters (\\ud800 …), NaN, and what is nested too deeply",
        ) from None


def _transport(name: str, plain: Mapping[str, Any]) -> Transport:
    said = plain.get("type", "sse" if "url" in plain and "command" not in plain else "stdio")
    transport = _SPELLINGS.get(said) if isinstance(said, str) else None
    if transport is None:
        raise InvalidRequest("the type of a server is stdio, sse or http", where=f"{name}.type")
    return transport


def _command(name: str, value: object) -> str:
    text = _text(f"{name}.command", value)
    if not text.strip():
        raise InvalidRequest("a stdio server needs a command", where=f"{name}.command")
    return text


def _url(name: str, value: object) -> str:
    where = f"{name}.url"
    text = _text(where, value)
    try:
        parts = urlsplit(REFERENCE.sub("x", text))
        host = parts.hostname
    except ValueError:
        raise InvalidRequest("this is no URL", where=where) from None
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidRequest("the URL must begin with http:// or https://", where=where)
    if parts.username is not None or parts.password is not None:
        raise InvalidRequest(
            "a URL holds no credentials", where=where, remedy="put them in `headers` as ${NAME}"
        )
    return text


def _texts(where: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or len(value) > MOST_ITEMS:
        raise InvalidRequest(f"a list of at most {MOST_ITEMS} texts is expected", where=where)
    return tuple(_text(f"{where}[{i}]", each) for i, each in enumerate(value))


def _text(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidRequest("a text is expected", where=where)
    if len(value) > LONGEST_TEXT or "\0" in value or _SURROGATE.search(value) is not None:
        raise InvalidRequest(
            f"valid Unicode of at most {LONGEST_TEXT} characters without NUL is expected",
            where=where,
        )
    # Whoever expands what stands inside would expand more than what is shown and listed.
    if any("${" in (each["rest"] or "") for each in REFERENCE.finditer(value)):
        raise InvalidRequest("a reference holds no other reference", where=where)
    replaced = REFERENCE.sub(lambda found: (found["rest"] or "")[2:], value)
    if REFERENCE.search(replaced) is not None:  # `$${A:-{B}}`
        raise InvalidRequest("a reference's value makes no other reference", where=where)
    return value


def _mapping(where: str, value: object) -> Mapping[str, str]:
    if not isinstance(value, Mapping) or len(value) > MOST_ITEMS:
        raise InvalidRequest(f"an object of at most {MOST_ITEMS} texts is expected", where=where)
    return {str(key): _text(f"{where}[{i}]", each) for i, (key, each) in enumerate(value.items())}


def _variables(where: str, value: object) -> Mapping[str, str]:
    found = _mapping(where, value)
    for i, name in enumerate(found):
        if _VARIABLE.match(name) is None:  # not repeated: it may be a value in the wrong place
            raise InvalidRequest("this is no variable's name", where=f"{where}[{i}]")
        if name.startswith("TRUSTFLOOR_"):
            raise InvalidRequest(
                "the supervisor's own variables aren't set by an entry", where=f"{where}.{name}"
            )
        if _LOADERS.match(name) is not None:
            raise InvalidRequest(
                f"{name} makes programs run other code than their own",
                where=f"{where}.{name}",
                remedy="leave it out",
            )
    return found


def _headers(where: str, value: object) -> Mapping[str, str]:
    found = _mapping(where, value)
    for i, (name, text) in enumerate(found.items()):
        if _HEADER.match(name) is None or _LINES.search(text) is not None:
            raise InvalidRequest("this is no HTTP header", where=f"{where}[{i}]")
    return found
