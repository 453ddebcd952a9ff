"""The table's short notes (`read..., dest`, `text? +in-place`) → roles, options and operands."""

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from supervisor.errors import ConfigurationError
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.table import ROLES, Does, Operands, Option, Role

LIKE: Final = "like "
ACTS: Final[Mapping[str, Act]] = {
    "send": Act.SEND,
    "lose": Act.LOSE,
    "reveal": Act.REVEAL,
    "repository": Act.REPOSITORY,
    "system": Act.SYSTEM,
    "unknown": Act.UNKNOWN,
    "escalate": Act.ESCALATE,
    "remote-shell": Act.REMOTE_SHELL,
    "exhaust": Act.EXHAUST,
    "disk": Act.OVERWRITE_DISK,
    "signal": Act.SIGNAL,
}


@cache
def _role(note: str) -> Role | None:
    kind, _, detail = note.partition(":")
    return Role(kind, detail) if kind in ROLES else None


def role_of(note: str, place: str) -> Role:
    """A role by its name, or `code:LANGUAGE`."""
    role = _role(note)
    if role is None:
        raise ConfigurationError(f"expected a role, not {note}", where=place)
    return role


def operands_of(note: object, place: str) -> Operands:
    """`text, read...`: roles in order; `...` marks the one that may come any number of times."""
    front: list[Role] = []
    back: list[Role] = []
    middle: Role | None = None
    parts = [each.strip() for each in str(note).split(",")]
    if len(parts) == 1 and not parts[0].endswith("..."):
        return Operands(middle=role_of(parts[0], place))
    for part in parts:
        if part.endswith("..."):
            if middle is not None:
                raise ConfigurationError("expected `...` once", where=place)
            middle = role_of(part[:-3], place)
        elif part in {"command", "line"}:
            middle = role_of(part, place)
        else:
            (front if middle is None else back).append(role_of(part, place))
    return Operands(tuple(front), middle, tuple(back))


def option_of(note: object, place: str) -> Option:
    """`read`: takes a value; `text read`: takes two; `text?`: only an attached one; `+tag`."""
    roles: list[Role] = []
    optional = False
    tags: list[str] = []
    for word in str(note).split():
        if word.startswith("+"):
            tags.append(word[1:])
        else:
            optional = optional or word.endswith("?")
            roles.append(role_of(word.removesuffix("?"), place))
    if not roles and not tags:
        raise ConfigurationError("expected a role or +tags", where=place)
    if len(roles) > 2:  # noqa: PLR2004 - no program has an option with three values of interest
        raise ConfigurationError(f"expected at most two roles, not {note}", where=place)
    second = roles[1] if len(roles) > 1 else None
    return Option(roles[0] if roles else None, optional, tuple(tags), second)


def does_of(note: object, place: str) -> tuple[Does, ...]:
    """`{send: reason, reveal!: reason}`: `!` marks what is never right."""
    if not isinstance(note, Mapping):
        raise ConfigurationError("expected a mapping of what it does to the reason", where=place)
    found = []
    for name, reason in note.items():
        act = ACTS.get(str(name).removesuffix("!"))
        if act is None:
            raise ConfigurationError(f"expected one of {', '.join(ACTS)}", where=f"{place}.{name}")
        found.append(Does(act, str(reason), str(name).endswith("!")))
    return tuple(found)


def named(note: object, place: str) -> tuple[str, ...]:
    """Words that are parted by blanks."""
    if not isinstance(note, str):
        raise ConfigurationError("expected words parted by blanks", where=place)
    return tuple(note.split())


def mapping_of(value: object, place: str, known: Iterable[str] | None = None) -> Mapping[str, Any]:
    """A mapping, with only keys that are known."""
    if not isinstance(value, Mapping):
        raise ConfigurationError("expected a mapping (`key: value`)", where=place)
    if known is not None:
        names = tuple(known)
        for key in value:
            if key not in names:
                near = difflib.get_close_matches(str(key), names, 1) or names[:1]
                raise ConfigurationError(
                    f"expected one of {', '.join(names)}, not {key}",
                    where=place,
                    remedy=f"did you mean {near[0]}?",
                )
    return value


def one_of(value: object, known: frozenset[str], place: str) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in known:
        raise ConfigurationError(f"expected one of {', '.join(sorted(known))}", where=place)
    return value
