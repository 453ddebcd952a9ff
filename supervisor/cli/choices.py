"""Options that take one of a few words, refused in words of our own."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import typer

E = TypeVar("E", bound=StrEnum)


def choice(kind: type[E], **option: Any) -> Any:
    """A typer option that takes the members of an enumeration, whatever the case."""
    return typer.Option(metavar=f"[{'|'.join(kind)}]", parser=_reader(kind), **option)


def chosen_argument(kind: type[E], **argument: Any) -> Any:
    """A typer argument that does."""
    return typer.Argument(parser=_reader(kind), **argument)


def _reader(kind: type[E]) -> Callable[[str], E]:
    words = [member.value for member in kind]

    def read(said: str) -> E:
        try:
            return kind(said.strip().lower())
        except ValueError:
            raise typer.BadParameter(f"{said!r} is none of {', '.join(words)}") from None

    return read


def whole_number(**option: Any) -> Any:
    """A typer option that takes a whole number."""
    return typer.Option(metavar="NUMBER", parser=_number, **option)


def _number(said: str) -> int:
    try:
        return int(said)
    except ValueError:
        raise typer.BadParameter(f"{said!r} is no whole number") from None
