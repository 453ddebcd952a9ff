"""The texts inside a tool's input, each with the name of the field that holds it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

DEEPEST_INPUT: Final = 32
"""Lists and objects within each other; of what is nested deeper, nothing is looked at."""


def plain(field: object) -> str:
    """A field's name without regard to case, `_` and `-`."""
    return str(field).lower().replace("_", "").replace("-", "")


def texts(value: Any, depth: int, field: str = "") -> Iterator[tuple[str, str]]:
    """Each text down to that depth after its field's plain name; of a list, the list's."""
    if isinstance(value, str):
        yield field, value
    elif depth > 0 and isinstance(value, Mapping):
        for key, each in value.items():
            yield from texts(each, depth - 1, plain(key))
    elif depth > 0 and isinstance(value, list | tuple):
        for each in value:
            yield from texts(each, depth - 1, field)


def is_deeper(value: Any, depth: int) -> bool:
    """Whether there are more than `depth` lists and objects within each other."""
    level: list[Any] = [value]
    for _ in range(depth + 1):
        below: list[Any] = []
        for each in level:
            if isinstance(each, Mapping):
                below.extend(each.values())
            elif isinstance(each, list | tuple):
                below.extend(each)
        level = below
        if not level:
            return False
    return any(isinstance(each, Mapping | list | tuple) for each in level)
