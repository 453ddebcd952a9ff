"""Options that take one of a few words, refused in words of our own."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import typer

from supervisor.nearest import guess

E = TypeVar("E", bound=StrEnum)


def choice(kind: type[E], **option: Any) -> Any:
    """A typer option that takes the members of an enumeration, whatever the case.

    Its metavar lists them, unless another is given.
    """
    return typer.Option(**{"metavar": f"[{'|'.join(kind)}]", **option}, parser=_reader(kind))


def chosen_argument(kind: type[E], **argument: Any) -> Any:
    """A typer argument that does."""
    return typer.Argument(parser=_reader(kind), **argument)


def _reader(kind: type[E]) -> Callable[[str], E]:
    words = [member.value for member in kind]

    def read(said: str) -> E:
        try:
            return kind(said.strip().lower())
        except ValueError:
            what = f"{said!r} is none of {', '.join(words)}{guess(said.strip(), words)}"
            raise typer.BadParameter(what) from None

    return read


def not_blank(said: str | None) -> str | None:
    """A callback for a name: it says something."""
    if said is not None and not said.strip():
        raise typer.BadParameter("it may not be empty")
    return said


def one_part(said: str | None) -> str | None:
    """A callback for a name or id that becomes one part of a path: it has no slash, and is none."""
    not_blank(said)
    if said is not None and ("/" in said or said in {".", ".."}):
        raise typer.BadParameter(f"{said!r} is no name or id: it can't have slashes or be dots")
    return said


def whole_number(**option: Any) -> Any:
    """A typer option that takes a whole number."""
    return typer.Option(metavar="NUMBER", parser=_number, **option)


def _number(said: str) -> int:
    try:
        return int(said)
    except ValueError:
        raise typer.BadParameter(f"{said!r} is no whole number") from None
