"""YAML text → nodes with their positions, within limits: size, aliases, nesting, doubled keys."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import yaml

from supervisor.errors import ConfigurationError
from supervisor.nearest import did_you_mean
from supervisor.policy.yaml_words import reworded

LARGEST_FILE = 262_144
"""Bytes."""
MOST_ALIASES = 32
DEEPEST_NESTING = 12
LONGEST_LIST = 2_000
LONGEST_NUMBER = 100
"""Characters of a value that isn't a text."""

T = TypeVar("T")
_Loader = type[yaml.SafeLoader] | type[yaml.CSafeLoader]
_FAST: _Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's, where it was built with it; what it finds wrong is said by the other one."""
_STARTS = (yaml.SequenceStartEvent, yaml.MappingStartEvent)
_ENDS = (yaml.SequenceEndEvent, yaml.MappingEndEvent)


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a file, and where it stands: `field` is its dotted path."""

    file: str
    field: str
    node: yaml.Node = dataclasses.field(repr=False)

    @property
    def where(self) -> str:
        """`file:line:column field`, counted from 1."""
        mark = self.node.start_mark
        place = f"{self.file}:{mark.line + 1}:{mark.column + 1}"
        return f"{place} {self.field}" if self.field else place

    def wrong(self, expected: str, remedy: str | None = None) -> ConfigurationError:
        """The error that says what was expected here."""
        return ConfigurationError(f"expected {expected}", where=self.where, remedy=remedy)

    def entries(self) -> "list[tuple[Node, Node]]":
        """Key and value nodes of a mapping; a key that comes twice is an error."""
        if not isinstance(self.node, yaml.MappingNode):
            raise self.wrong("a mapping (`key: value`)")
        found: list[tuple[Node, Node]] = []
        seen: set[str] = set()
        for key_node, value_node in self.node.value:
            key = Node(self.file, self.field, key_node)
            name = key.text()
            inner = f"{self.field}.{name}" if self.field else name
            if name in seen:
                raise Node(self.file, inner, key_node).wrong("each key once; this one came before")
            seen.add(name)
            found.append((Node(self.file, inner, key_node), Node(self.file, inner, value_node)))
        return found

    def fields(self, known: Iterable[str], required: Iterable[str] = ()) -> "Mapping[str, Node]":
        """The values of a mapping by key; unknown keys are errors that name the nearest known."""
        names = tuple(known)
        found: dict[str, Node] = {}
        for key, value in self.entries():
            name = key.text()
            if name not in names:
                raise key.wrong(f"one of {', '.join(names)}", did_you_mean(name, names))
            found[name] = value
        for name in required:
            if name not in found:
                raise self.wrong(f"the key `{name}`")
        return found

    def items(self) -> "list[Node]":
        """The values of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.wrong("a list")
        if len(self.node.value) > LONGEST_LIST:
            raise self.wrong(f"at most {LONGEST_LIST} entries")
        return [Node(self.file, f"{self.field}[{i}]", n) for i, n in enumerate(self.node.value)]

    def is_list(self) -> bool:
        """Whether it is a list."""
        return isinstance(self.node, yaml.SequenceNode)

    def plain(self) -> object:
        """The value as plain mappings, lists and scalars, for a reader of its own."""
        if isinstance(self.node, yaml.MappingNode):
            return {key.text(): value.plain() for key, value in self.entries()}
        return [each.plain() for each in self.items()] if self.is_list() else self._scalar()

    def text(self) -> str:
        """A non-empty text."""
        value = self._scalar()
        if not isinstance(value, str):
            written = str(self.node.value)[:40]
            remedy = f"put it in quotes: '{written}'" if written else None
            raise self.wrong("a text, but YAML reads this as something else", remedy)
        if not value.strip():
            raise self.wrong("a text; this one is empty")
        return value

    def texts(self) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(each.text() for each in self.items())

    def flag(self) -> bool:
        """True or false."""
        value = self._scalar()
        if not isinstance(value, bool):
            raise self.wrong("true or false")
        return value

    def whole_number(self) -> int | None:
        """A whole number above zero, or null."""
        value = self._scalar()
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise self.wrong("a whole number above 0, or null for no limit")
        return value

    def number(self) -> float | None:
        """A number above zero, or null."""
        value = self._scalar()
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:  # noqa: PLR2004
            raise self.wrong("a number above 0, or null for no limit")
        return float(value)

    def choice(self, parse: Callable[[str], T], names: Iterable[str]) -> T:
        """One of the names, as what it stands for."""
        text, known = self.text(), tuple(names)
        if text not in known:
            raise self.wrong(f"one of {', '.join(known)}", did_you_mean(text, known))
        return parse(text)

    def _scalar(self) -> object:
        if not isinstance(self.node, yaml.ScalarNode):
            raise self.wrong("a single value")
        if len(self.node.value) > LONGEST_NUMBER and not self.node.tag.endswith(":str"):
            raise self.wrong("a text, or a number of fewer digits")
        try:
            value = yaml.constructor.SafeConstructor().construct_object(self.node)
            if isinstance(value, str):
                value.encode()  # half of a character could be neither stored nor told
            return value
        except (yaml.YAMLError, ValueError, OverflowError, LookupError, AttributeError, TypeError):
            # A tag such as `!!bool` before what is none makes the reader fail in any of these ways.
            raise self.wrong("a text, a number, true, false or null") from None


def parse_document(file: str, content: bytes) -> Node:
    """The root of the one YAML document in this file.

    Raises ConfigurationError with file, line and column.
    """
    if len(content) > LARGEST_FILE:
        raise ConfigurationError(
            f"larger than {LARGEST_FILE} bytes", where=f"{file}:1:1", remedy="split it"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(
            "expected text in UTF-8", where=f"{file}:{line}:1", remedy="save it as UTF-8"
        ) from None
    try:
        try:
            root = _composed(file, text, _FAST)
        except yaml.YAMLError:
            root = _composed(file, text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        fault = reworded(error, text)
        raise ConfigurationError(
            f"expected {fault.expected}",
            where=f"{file}:{fault.line}:{fault.column}",
            remedy=fault.remedy,
        ) from None
    if root is None:
        raise ConfigurationError(
            "the file is empty", where=f"{file}:1:1", remedy="begin it with `version: 1`"
        )
    return Node(file, "", root)


def _composed(file: str, text: str, loader: _Loader) -> yaml.Node | None:
    _hold_limits(file, text, loader)
    return yaml.compose(text, Loader=loader)


def _hold_limits(file: str, text: str, loader: _Loader) -> None:
    """Before anything is built: an alias can stand for a tree of aliases that stand for trees."""
    aliases = depth = 0
    for event in yaml.parse(text, Loader=loader):
        aliases += isinstance(event, yaml.AliasEvent)
        depth += isinstance(event, _STARTS) - isinstance(event, _ENDS)
        if aliases > MOST_ALIASES or depth > DEEPEST_NESTING:
            what = f"{MOST_ALIASES} aliases" if aliases > MOST_ALIASES else "nesting this deep"
            mark = event.start_mark
            where = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
            expected = f"at most {what}" if aliases > MOST_ALIASES else f"no {what}"
            raise ConfigurationError(f"expected {expected}", where=where)
