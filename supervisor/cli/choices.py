"""Options that take one of a few words, refused in words of our own."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import typer

E = TypeVar("E", bound=StrEnum)


def choice(kind: type[E], **option: Any) -> Any:
    """A typer option that takes the members of an enumeration, whatever the case."""
    words = [member.value for member in kind]
    return typer.Option(metavar=f"[{'|'.join(words)}]", parser=_reader(kind, words), **option)


def _reader(kind: type[E], words: list[str]) -> Callable[[str], E]:
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
