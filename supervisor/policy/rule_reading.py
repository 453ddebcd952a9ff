"""The rules of a policy file, read from their nodes with the places they stand at."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from wcmatch import glob as wcglob

from supervisor.policy.bash.effect import Act
from supervisor.policy.call import Kind
from supervisor.policy.compiled import Examples
from supervisor.policy.dangerous import HOME, VAULT, DangerRule
from supervisor.policy.deny_list import DenyRule
from supervisor.policy.document import Node
from supervisor.policy.shape import SECTIONS, known, required
from supervisor.policy.tool_rules import Answer, ToolRule
from supervisor.trust.levels import TrustLevel

LEVELS = tuple(level.value for level in TrustLevel)
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")
_TOOL = re.compile(r"[A-Za-z0-9_.:-]+\*?\Z")
_HOST = re.compile(r"(?:\*|(?:\*\.)?[^\s/@*]+)\Z")
_SIMPLE = re.compile(r"[\w./*?~ @,+=-]*")
"""Globs in which nothing can be wrong."""
_KINDS = tuple(kind for kind in Kind if kind is not Kind.UNSEEN)

_NARROWER = ("recursive", "severe", "folders", "paths", "kinds", "hosts")
_ABOUT = ("tools", "servers", "domains", "levels")
_WHOLE = "a rule stands for itself alone, nothing is taken over from an earlier file's"

R = TypeVar("R", DenyRule, DangerRule, ToolRule)


@dataclass(frozen=True, slots=True)
class Entry(Generic[R]):
    """A rule with its examples, where it stands, and where its id does.

    `off`: it says nothing but its id and reason, which switches off what an earlier file has.
    """

    rule: R
    examples: Examples
    where: str
    id_where: str
    off: bool


def section_fields(node: Node, section: str) -> Mapping[str, Node]:
    """The values of a section's keys, which must be known ones."""
    return node.fields(known(section), required=required(section))


def part_of(parent: Mapping[str, Node], key: str, section: str | None = None) -> Mapping[str, Node]:
    """The same of a section below another; empty if it isn't there."""
    return section_fields(parent[key], section or key) if key in parent else {}


def rule_entries(node: Node, read: Callable[[Node], Entry[R]]) -> tuple[Entry[R], ...]:
    """The rules of a list; an id that comes twice is an error."""
    entries: dict[str, Entry[R]] = {}
    for item in node.items():
        entry = read(item)
        if entry.rule.id in entries:
            raise item.wrong(f"each id once in a file; `{entry.rule.id}` came before")
        entries[entry.rule.id] = entry
    return tuple(entries.values())


def _id(fields: Mapping[str, Node]) -> str:
    name = fields["id"].text()
    if _ID.match(name) is None:
        raise fields["id"].wrong("lower-case letters, digits and dashes, at most 64")
    return name


def _examples(fields: Mapping[str, Node], section: str, name: str) -> Examples:
    examples = part_of(fields, "examples", section)
    first, second = SECTIONS[section]
    return Examples(
        rule=name,
        deny=texts_of(examples, first),
        allow=texts_of(examples, second),
        deny_at=_places(examples, first),
        allow_at=_places(examples, second),
    )


def _places(fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
    return tuple(each.where for each in fields[key].items()) if key in fields else ()


def texts_of(fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
    """A list of texts; empty if it isn't there."""
    return fields[key].texts() if key in fields else ()


def flag_of(fields: Mapping[str, Node], key: str, *, default: bool = False) -> bool:
    """A flag, or its default."""
    return fields[key].flag() if key in fields else default


def deny_entry(node: Node) -> Entry[DenyRule]:
    """A rule of the deny list."""
    fields = section_fields(node, "deny")
    name = _id(fields)
    rule = DenyRule(
        id=name,
        reason=fields["reason"].text(),
        names=_globs(fields, "names", whole_path=False),
        paths=_globs(fields, "paths", whole_path=True),
        exceptions=_globs(fields, "exceptions", whole_path=False),
        public=_globs(fields, "public", whole_path=False),
        copies=flag_of(fields, "copies", default=True),
    )
    off = not rule.names and not rule.paths
    if off and (rule.exceptions or rule.public):
        key = "exceptions" if rule.exceptions else "public"
        raise node.wrong(f"`names` or `paths` beside `{key}`: {_WHOLE}")
    return _entry(rule, _examples(fields, "examples", name), node, fields, off=off)


def danger_entry(node: Node) -> Entry[DangerRule]:
    """A rule about dangerous acts."""
    fields = section_fields(node, "dangerous")
    name = _id(fields)
    acts = fields["acts"].items() if "acts" in fields else []
    kinds = fields["kinds"].items() if "kinds" in fields else []
    rule = DangerRule(
        id=name,
        reason=fields["reason"].text(),
        acts=frozenset(each.choice(Act, tuple(Act)) for each in acts),
        recursive=flag_of(fields, "recursive"),
        severe=flag_of(fields, "severe"),
        folders=_absolute_globs(fields, "folders"),
        paths=_absolute_globs(fields, "paths"),
        kinds=frozenset(each.choice(Kind, _KINDS) for each in kinds),
        hosts=_hosts(fields, "hosts"),
    )
    off = not rule.acts
    narrower = [key for key in _NARROWER if key in fields]
    if off and narrower:
        raise node.wrong(f"`acts` beside `{narrower[0]}`: {_WHOLE}")
    return _entry(rule, _examples(fields, "examples", name), node, fields, off=off)


def _absolute_globs(fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
    for each in fields[key].items() if key in fields else []:
        text = each.text()
        if not text.startswith("/") and text.split("/")[0] not in (HOME, VAULT):
            raise each.wrong("an absolute path, or one that begins with `~` or `VAULT`")
        if ".." in text.split("/") or not is_glob(text):
            raise each.wrong("a glob without `..`")
    return texts_of(fields, key)


def _hosts(fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
    for each in fields[key].items() if key in fields else []:
        if _HOST.match(each.text()) is None:
            raise each.wrong("a host without scheme and path, or `*.` and a name")
    return texts_of(fields, key)


def tool_entry(node: Node) -> Entry[ToolRule]:
    """A rule about tools, servers or domains."""
    fields = section_fields(node, "rule")
    name = _id(fields)
    levels = fields["levels"].items() if "levels" in fields else []
    rule = ToolRule(
        id=name,
        reason=fields["reason"].text(),
        answer=fields["answer"].choice(Answer, tuple(Answer)) if "answer" in fields else None,
        tools=tuple(tool_name(each) for each in fields["tools"].items())
        if "tools" in fields
        else (),
        servers=texts_of(fields, "servers"),
        domains=_hosts(fields, "domains"),
        levels=frozenset(each.choice(TrustLevel, LEVELS) for each in levels),
    )
    if rule.answer is not None and not (rule.tools or rule.servers or rule.domains):
        raise node.wrong("`tools`, `servers` or `domains`, which say what the rule is about")
    off = rule.answer is None
    about = [key for key in _ABOUT if key in fields]
    if off and about:
        raise node.wrong(f"`answer` beside `{about[0]}`: {_WHOLE}")
    return _entry(rule, _examples(fields, "examples_of_calls", name), node, fields, off=off)


def _entry(
    rule: R, examples: Examples, node: Node, fields: Mapping[str, Node], *, off: bool
) -> Entry[R]:
    return Entry(rule, examples, node.where, fields["id"].where, off)


def tool_name(node: Node) -> str:
    """A tool's name, or the beginning of several."""
    name = node.text()
    if _TOOL.match(name) is None:
        raise node.wrong("a tool's name, with `*` at most at its end")
    return name


def is_glob(text: str) -> bool:
    """Whether it can be read as a glob."""
    if _SIMPLE.fullmatch(text):
        return True
    try:
        for source in wcglob.translate(text, flags=wcglob.GLOBSTAR | wcglob.DOTGLOB)[0]:
            re.compile(source)
    except (re.error, ValueError):
        return False
    return True


def _globs(fields: Mapping[str, Node], key: str, *, whole_path: bool) -> tuple[str, ...]:
    if key not in fields:
        return ()
    globs: list[str] = []
    for each in fields[key].items():
        text = each.text()
        if not whole_path and "/" in text:
            raise each.wrong("a glob for one name, without a slash; whole paths go to `paths`")
        if whole_path and (text.startswith("/") or ".." in text.split("/")):
            raise each.wrong("a path without a slash at its start, and without `..`")
        if not text.strip("*?/."):
            raise each.wrong("a glob that doesn't match everything")
        if not is_glob(text):
            raise each.wrong("a glob")
        globs.append(text)
    return tuple(globs)
