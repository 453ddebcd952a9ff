"""What of an entry may be a secret: never shown, refused where it is given as it is, redacted.

Secrets belong into the supervisor's environment, and an entry refers to them as `${NAME}`. What a
person wrote into the file by hand works all the same, but no answer repeats it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote, unquote_plus, urlsplit

from supervisor.errors import InvalidRequest
from supervisor.mcp.server_entry import REFERENCE, ServerEntry

MASK: Final = "***"
"""Stands for what isn't shown. Sent back unchanged, it means: as it is."""

_SHORTEST_SECRET: Final = 8
"""Characters of a value that is taken out of events and logs; shorter ones are words."""

_LONG_PIECE: Final = 16
"""Characters of a path's piece that, with a digit in it, is more likely a key than a word."""
_SECRET_NAME: Final = re.compile(
    r"token|secret|passw|passphrase|api[-_]?key|access[-_]?key|private[-_]?key|credential"
    r"|auth(?!ors?(?:_|\Z))|cookie|bearer|_key\Z|-key\Z|\Akey\Z|_pat\Z",
    re.IGNORECASE,
)
_SECRET_VALUE: Final = re.compile(
    r"(?:sk-|sk_|rk_|gh[pousr]_|github_pat_|glpat-|npm_|xox[abeoprs]-|AKIA|ASIA|AIza|eyJ|tf_|hf_)"
    r"[A-Za-z0-9_.-]{10,}"
)
_OPTION: Final = re.compile(r"(?P<name>-{1,2}[A-Za-z][A-Za-z0-9_-]*)(?P<rest>=.*)?", re.DOTALL)
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/@\s]*@")
_QUERY_VALUE: Final = re.compile(r"(?<=[?&])(?P<name>[^=&#]*)=(?P<value>[^&#]*)")


def masked(text: str) -> str:
    """The text with its references as they are, and a mask for each piece beside them."""
    pieces: list[str] = []
    end = 0
    for found in REFERENCE.finditer(text):
        if found.start() > end:
            pieces.append(MASK)
        rest = found["rest"]
        default = f":-{MASK}" if rest is not None and rest != ":-" else rest or ""
        pieces.append(f"${{{found['name']}{default}}}")
        end = found.end()
    if end < len(text):
        pieces.append(MASK)
    return "".join(pieces)


def shown_args(args: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments, masked where one looks like a secret by its option's name or by itself."""
    return tuple(_shown_arg(each, args[i - 1] if i else "") for i, each in enumerate(args))


def shown_url(url: str) -> str:
    """The URL with its query's values masked, but for references."""
    hidden = _QUERY_VALUE.sub(lambda found: f"{found['name']}={masked(found['value'])}", url)
    return _SECRET_VALUE.sub(MASK, _CREDENTIALS.sub(f"{MASK}@", hidden))


def shown_key(key: str) -> str:
    """A variable's or a header's name, unless somebody put a secret in its place."""
    return _SECRET_VALUE.sub(MASK, key)


def shown(entry: ServerEntry) -> dict[str, Any]:
    """The entry as clients see it; of keys that we don't know, the names."""
    common = {"type": entry.transport, "otherKeys": tuple(entry.other)}
    if entry.transport == "stdio":
        return {
            **common,
            "command": _SECRET_VALUE.sub(MASK, entry.command or ""),
            "args": shown_args(entry.args),
            "env": {
                # Where commands are looked for is to be seen by whoever allows one.
                shown_key(key): each if key == "PATH" else masked(each)
                for key, each in entry.env.items()
            },
        }
    return {
        **common,
        "url": shown_url(entry.url or ""),
        "headers": {shown_key(key): masked(each) for key, each in entry.headers.items()},
    }


def unmasked(name: str, given: Mapping[str, Any], old: ServerEntry | None) -> dict[str, Any]:
    """What is given, with the stored values where it has the masks that stand for them.

    Raises InvalidRequest for a mask that stands for nothing stored, and for a secret that is given
    as it is; neither repeats the value.
    """
    before = {} if old is None else shown(old)
    result = dict(given)
    for field, stored in (
        ("env", {} if old is None else old.env),
        ("headers", {} if old is None else old.headers),
    ):
        values = given.get(field)
        if isinstance(values, Mapping):
            seen = before.get(field, {})
            result[field] = {
                key: _unmasked(
                    f"{name}.{field}.{shown_key(str(key))}",
                    str(key),
                    each,
                    seen.get(key),
                    stored.get(key),
                )
                for key, each in values.items()
            }
    args = given.get("args")
    if isinstance(args, list):
        if old is not None and tuple(args) == before.get("args"):
            result["args"] = list(old.args)
        else:
            _require_no_secret_args(name, args)
    url = given.get("url")
    if isinstance(url, str):
        if old is not None and old.url is not None and url == before.get("url"):
            result["url"] = old.url
        else:
            _require_no_secret_url(name, url)
    return result


def literals(entry: ServerEntry) -> Iterator[str]:
    """Values of the entry that may be secrets and stand in the file as they are."""
    for key, each in (*entry.env.items(), *entry.headers.items()):
        if _is_secret(key, each):
            plain = REFERENCE.sub(" ", each)
            yield from long_enough(plain.split())
    for text in (*entry.args, entry.url or "", entry.command or ""):
        yield from _SECRET_VALUE.findall(text)


def long_enough(texts: Iterable[str]) -> Iterator[str]:
    """Those that no event, log or audit entry may repeat: a short word would be everywhere."""
    return (each for each in texts if len(each) >= _SHORTEST_SECRET)


def repeatable(texts: Iterable[str]) -> Iterator[str]:
    """What a server that is given these texts might repeat: each, and each of its words."""
    for text in texts:
        yield from long_enough((text, *text.split()))


def of_address(url: str) -> Iterator[str]:
    """What of a URL may be a secret: all of it, its query's values, what in its path looks so."""
    yield url
    parts = urlsplit(url)
    for value in (each.partition("=")[2] for each in parts.query.split("&")):
        yield from (value, unquote_plus(value))
    for piece in parts.path.split("/"):
        if len(piece) >= _LONG_PIECE and any(map(str.isdigit, piece)):
            yield from (piece, unquote(piece))


def _shown_arg(arg: str, before: str) -> str:
    option = _OPTION.fullmatch(arg)
    if option is not None:
        rest = option["rest"]
        if rest is not None and _SECRET_NAME.search(option["name"]) is not None:
            return f"{option['name']}={masked(rest[1:])}"
        return shown_url(arg) if "://" in arg else _SECRET_VALUE.sub(MASK, arg)
    led = _OPTION.fullmatch(before)
    if led is not None and led["rest"] is None and _SECRET_NAME.search(led["name"]) is not None:
        return masked(arg)
    return shown_url(arg) if "://" in arg else _SECRET_VALUE.sub(MASK, arg)


def _is_secret(key: str, value: str) -> bool:
    """Whether a value is one by its name or its looks, and stands there as it is."""
    if _SECRET_VALUE.search(value) is not None:
        return True
    if _SECRET_NAME.search(key) is None or not value.strip():
        return False
    found = list(REFERENCE.finditer(value))
    return not found or any((each["rest"] or ":-") != ":-" for each in found)


def _unmasked(where: str, key: str, given: Any, seen: Any, stored: str | None) -> Any:
    if not isinstance(given, str):
        return given  # the entry's reader says what is wrong with it
    if stored is not None and given == seen:
        return stored
    if MASK in given:
        raise InvalidRequest(
            f"`{MASK}` stands for a value that isn't shown, and none is kept here",
            where=where,
            remedy="give the value, or for a secret a reference: ${NAME}",
        )
    if _is_secret(key, given):
        raise _literal(where)
    return given


def _require_no_secret_args(name: str, args: list[Any]) -> None:
    texts = tuple(each if isinstance(each, str) else "" for each in args)
    for i, (plain, told) in enumerate(zip(texts, shown_args(texts), strict=True)):
        if MASK in told and MASK in plain:
            raise _no_mask(f"{name}.args[{i}]")
        if MASK in told:
            raise _literal(f"{name}.args[{i}]")


def _require_no_secret_url(name: str, url: str) -> None:
    where = f"{name}.url"
    if _SECRET_VALUE.search(url) is not None:
        raise _literal(where)
    try:
        query = urlsplit(url).query
    except ValueError:
        return  # the entry's reader says so
    for found in _QUERY_VALUE.finditer(f"?{query}"):
        if MASK in found["value"]:
            raise _no_mask(where)
        if _is_secret(found["name"], found["value"]):
            raise _literal(where)


def _no_mask(where: str) -> InvalidRequest:
    return InvalidRequest(
        f"`{MASK}` stands for something that isn't shown", where=where, remedy="give what it is"
    )


def _literal(where: str) -> InvalidRequest:
    return InvalidRequest(
        "this looks like a secret, and secrets are given by reference",
        where=where,
        remedy="set it in the supervisor's environment, name the variable in"
        " TRUSTFLOOR_MCP_VARIABLES, and write ${NAME} here",
    )
