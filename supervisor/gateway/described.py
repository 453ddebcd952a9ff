"""Reads described data: YAML to plain values that know their place, and tables that check them.

Each reader takes a plain value and its path, and gives what it means or a Mistake that says where
and what was expected.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

import yaml

MAX_VALUES = 100_000  # YAML aliases could otherwise make a file grow without bound
MAX_SECONDS = 3600.0

Path = tuple[str | int, ...]
Places = Mapping[Path, tuple[int, int]]
Reader = Callable[[Any, Path], Any]


class Mistake(Exception):
    """What is wrong with the value at `path`."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


class Plain:
    """Turns YAML nodes into plain data and notes where each value stands."""

    def __init__(self, places: dict[Path, tuple[int, int]]) -> None:
        self._places = places
        self._scalars = yaml.constructor.SafeConstructor()
        self._count = 0

    def read(self, node: yaml.Node, path: Path) -> Any:
        """The plain data of a node and all below it. Raises Mistake."""
        self._count += 1
        if self._count > MAX_VALUES:
            raise Mistake((), f"more than {MAX_VALUES} values")
        self._places[path] = (node.start_mark.line + 1, node.start_mark.column + 1)
        match node:
            case yaml.MappingNode():
                return self._mapping(node, path)
            case yaml.SequenceNode():
                return [self.read(item, (*path, i)) for i, item in enumerate(node.value)]
            case _:
                return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            here = (*path, key)
            self._places[here] = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            if key in found:
                raise Mistake(here, "this key stands here twice")
            found[key] = self.read(value_node, here)
            self._places[here] = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
        return found

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        if node.tag == "tag:yaml.org,2002:timestamp":
            return node.value  # a date in a tool's input is text, as it would be in JSON
        try:
            value = self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise Mistake(path, f"can't read {node.value!r} as {node.tag}") from error
        if not isinstance(value, str | int | float | None) or (
            isinstance(value, float) and not math.isfinite(value)
        ):
            raise Mistake(path, f"{node.value!r} has no counterpart in JSON")
        return value


def place_of(places: Places, path: Path) -> tuple[int, int]:
    """Line and column of a value, or of the nearest thing around it."""
    while path not in places:
        path = path[:-1]
    return places[path]


def shown(path: Path) -> str:
    """A path as people write it: `scripts[0].steps[1].text`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".")


# The reader: each function takes plain data and its path, and gives a value or a Mistake.


def wrong(path: Path, expected: str, found: Any) -> NoReturn:
    """Say what was expected and what was found."""
    raise Mistake(path, f"expected {expected}, found {_kind(found)}")


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case _:
            return repr(value)[:60]


def text(value: Any, path: Path) -> str:
    """A text."""
    return value if isinstance(value, str) else wrong(path, "text", value)


def flag(value: Any, path: Path) -> bool:
    """True or false."""
    return value if isinstance(value, bool) else wrong(path, "true or false", value)


def whole(least: int, most: int) -> Reader:
    """A whole number within these bounds."""

    def read(value: Any, path: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            wrong(path, f"a whole number from {least} to {most}", value)
        return value

    return read


def seconds(value: Any, path: Path) -> float:
    """A duration in seconds."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= MAX_SECONDS:
        wrong(path, f"seconds from 0 to {MAX_SECONDS:.0f}", value)
    return float(value)


def mapping(value: Any, path: Path) -> dict[str, Any]:
    """A mapping of anything."""
    return value if isinstance(value, dict) else wrong(path, "a mapping", value)


def mapping_of(reader: Reader) -> Reader:
    """A mapping whose values are all read alike."""

    def read(value: Any, path: Path) -> dict[str, Any]:
        return {key: reader(item, (*path, key)) for key, item in mapping(value, path).items()}

    return read


def list_of(reader: Reader) -> Callable[[Any, Path], tuple[Any, ...]]:
    """A list whose items are all read alike."""

    def read(value: Any, path: Path) -> tuple[Any, ...]:
        if not isinstance(value, list):
            wrong(path, "a list", value)
        return tuple(reader(item, (*path, index)) for index, item in enumerate(value))

    return read


def record(make: Callable[..., Any], required: Iterable[str], **readers: Reader) -> Reader:
    """A mapping with these keys and no others, handed to `make`."""

    def read(value: Any, path: Path) -> Any:
        given = mapping(value, path)
        check_keys(given, tuple(readers), path)
        for name in required:
            if name not in given:
                raise Mistake(path, f"{name} is missing")
        return make(**{key: readers[key](item, (*path, key)) for key, item in given.items()})

    return read


def check_keys(given: Iterable[str], known: Sequence[str], path: Path) -> None:
    """Refuse a key that isn't known, naming the nearest one that is."""
    for key in given:
        if key not in known:
            near = get_close_matches(key, known, n=1, cutoff=0.0)
            raise Mistake((*path, key), f"unknown key {key!r}; did you mean {near[0]!r}?")
