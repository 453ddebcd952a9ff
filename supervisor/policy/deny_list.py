"""Which names are denied: one answer for the gate, for the vault view and for search.

Names are compared without case, in Unicode compatibility form, and without invisible characters,
so that a look-alike spelling of a denied name is that name. A copy under the name that an editor or
a person gives it (`NAME~`, `NAME.bak`, `NAME (1).json`) is denied as what it is a copy of, unless
the rule says otherwise.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain

from wcmatch import glob as wcglob

from supervisor.policy.copies import originals

MOST_REMEMBERED = 8_192
"""Paths whose answer a list keeps at hand."""
LONGEST_REMEMBERED = 512
"""Characters; the answer for a longer path isn't kept."""
LONGEST_NAME = 1_024
"""Characters of one part of a path; no file system holds a longer name (255 bytes, mostly)."""

_DEEPEST_START, _DEEPEST_END = 32, 96
"""Folders at both ends of a path that are looked at."""
_WILD = re.compile(r"[*?\[\]{}!\\]")
_GLOB_FLAGS = wcglob.GLOBSTAR | wcglob.DOTGLOB
_INVISIBLE_CATEGORIES = frozenset({"Cf", "Cc", "Mn", "Me"})


@dataclass(frozen=True, slots=True)
class DenyRule:
    """A family of denied names. `names` match any part of a path, `paths` a vault-relative path.

    `exceptions` are names that the rule leaves alone. A denied folder takes all below it along,
    but files with one of the `public` names.
    """

    id: str
    reason: str
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    absolute: bool = False
    """Whether `paths` begin at the root (without its slash), not at the vault."""
    copies: bool = False
    """Whether names count that copies of these have (`NAME~`, `NAME.bak`)."""


def canonical(name: str) -> str:
    """The form in which names are compared.

    Blanks and dots at the end don't make another name: some file systems drop them. Nor does the
    name of a stream (`.env::$DATA`), by which some reach the file itself.
    """
    folded = _fold(name)
    if folded.endswith(":$data"):
        folded = folded.partition(":")[0]
    return folded.rstrip(". ") or folded


def _fold(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(c for c in folded if unicodedata.category(c) not in _INVISIBLE_CATEGORIES)


def _canonical_path(path: str) -> str:
    return "/".join(canonical(part) for part in path.split("/"))


def _path_of(parts: Sequence[str], index: int) -> str:
    """The path up to one of its parts; of a very deep one the middle, which no glob names."""
    start = max(_DEEPEST_START, index + 1 - _DEEPEST_END)
    if start == _DEEPEST_START:
        return "/".join(parts[: index + 1])
    return "/".join([*parts[:_DEEPEST_START], *parts[start : index + 1]])


def _alternatives(globs: Iterable[str]) -> re.Pattern[str] | None:
    sources: list[str] = []
    for each in globs:
        included, _excluded = wcglob.translate(_fold(each), flags=_GLOB_FLAGS)
        sources.extend(included)
    return re.compile("|".join(f"(?:{source})" for source in sources)) if sources else None


class _Names:
    """Globs for one part of a path. Those without a wildcard, the most, are one look in a set."""

    def __init__(self, globs: Iterable[str]) -> None:
        folded = [_fold(each) for each in globs]
        self._plain = frozenset(each for each in folded if not _WILD.search(each))
        self._wild = _alternatives(each for each in folded if _WILD.search(each))

    def has(self, name: str) -> bool:
        """Whether a folded name is one of these."""
        return name in self._plain or (
            self._wild is not None
            and len(name) <= LONGEST_NAME
            and self._wild.match(name) is not None
        )


@dataclass(frozen=True)
class DenyList:
    """The compiled deny list."""

    rules: tuple[DenyRule, ...]

    @cached_property
    def _compiled(
        self,
    ) -> tuple[
        tuple[
            DenyRule,
            re.Pattern[str] | None,
            re.Pattern[str] | None,
            re.Pattern[str] | None,
            re.Pattern[str] | None,
        ],
        ...,
    ]:
        return tuple(
            (
                rule,
                _alternatives(rule.names),
                _alternatives(rule.paths),
                _alternatives((*rule.exceptions, *rule.public)),
                _alternatives(rule.public),
            )
            for rule in self.rules
        )

    @cached_property
    def _any_name(self) -> _Names:
        """All names in one: most names are on no list, and are done in one look."""
        return _Names(glob for rule in self.rules for glob in rule.names)

    @cached_property
    def _any_tail(self) -> _Names:
        """The last parts of all path globs: a path that ends in none of them is on no list."""
        return _Names(glob.rsplit("/", 1)[-1] for rule in self.rules for glob in rule.paths)

    @cached_property
    def _on_the_way(self) -> tuple[_Names, re.Pattern[str] | None]:
        """The globs of such folders' names, and of their paths."""
        globs = {
            "/".join(parts[:depth])
            for rule in self.rules
            for parts in (glob.split("/") for glob in rule.paths)
            for depth in range(1, len(parts))
            if parts[depth - 1].strip("*")
        }
        return _Names(glob.rsplit("/", 1)[-1] for glob in globs), _alternatives(globs)

    def is_on_the_way(self, relative: str) -> bool:
        """Whether a glob names a folder here that denied paths lie in, such as `.git`.

        A link of that name makes what it leads to such a folder. Folders that nothing but stars
        stand for don't count: any file and link would be in the place of one.
        """
        names, paths = self._on_the_way
        if paths is None or not names.has(canonical(relative.rsplit("/", 1)[-1])):
            return False
        return paths.match(_canonical_path(relative)) is not None

    def folders_that_count(self, name: str, relative: str) -> list[str]:
        """Of a denied entry, the folders above it without whose names it wouldn't be denied."""
        parts = relative.split("/")
        for first in range(len(parts) - 1, 0, -1):
            if self.match_entry(name, "/".join(parts[first:])) is not None:
                return ["/".join(parts[:depth]) for depth in range(first + 1, len(parts))]
        return ["/".join(parts[:depth]) for depth in range(1, len(parts))]

    @cached_property
    def plain_names(self) -> tuple[str, ...]:
        """The denied names that are names, not globs, and that no rule makes an exception of."""
        names = {
            _fold(name) for rule in self.rules for name in rule.names if not _WILD.search(name)
        }
        return tuple(sorted(name for name in names if self._look(name) is not None))

    @cached_property
    def _by_length(self) -> Mapping[int, tuple[str, ...]]:
        lengths = sorted({len(name) for name in self.plain_names})
        return {
            length: tuple(name for name in self.plain_names if len(name) == length)
            for length in lengths
        }

    def plain_names_of(self, shortest: int, longest: int) -> list[str]:
        """Those of `plain_names` that are so long, in their order."""
        return sorted(
            name
            for length, names in self._by_length.items()
            if shortest <= length <= longest
            for name in names
        )

    @cached_property
    def _known(self) -> Callable[[str], DenyRule | None]:
        return lru_cache(maxsize=MOST_REMEMBERED)(self._look)

    def match(self, path: str) -> DenyRule | None:
        """The first rule that denies this path or a folder on the way to it, or None.

        `path` is relative to the vault where it lies in it, else absolute; `/` separates parts.
        """
        return self._known(path) if len(path) <= LONGEST_REMEMBERED else self._look(path)

    def _look(self, path: str) -> DenyRule | None:
        parts = [part for part in (canonical(p) for p in path.split("/")) if part not in ("", ".")]
        for index, part in enumerate(parts):
            rule = self._match_part(part, partial(_path_of, parts, index), parts[-1])
            if rule is not None:
                return rule
        return None

    def below(self, folder: str, name: str) -> DenyRule | None:
        """The rule for which a search below a folder finds a file of this name."""
        start = "/" if folder == "/" else f"{folder}/"
        found = self.match(f"{start}{name}") or self.match(f"{start}0/{name}")
        if found is None and folder.startswith("/"):
            inside = start.lstrip("/")
            found = next((rule for each, rule in self._places if each.startswith(inside)
                          and each.endswith(f"/{name}")), None)  # fmt: skip
        return found

    @cached_property
    def _places(self) -> tuple[tuple[str, DenyRule], ...]:
        """Paths that have one place in the file system, not just an end."""
        return tuple(
            (glob, rule) for rule in self.rules for glob in rule.paths if not glob.startswith("**")
        )

    def match_entry(self, name: str, relative: str) -> DenyRule | None:
        """`match` for one directory entry, on a walk that has judged the folders above."""
        return self._match_part(canonical(name), partial(_canonical_path, relative))

    def _match_part(self, name: str, path: Callable[[], str], last: str = "") -> DenyRule | None:
        """The rule for a name, or for the one that it is a copy of by its form.

        `path` gives the path that ends in the name; most names are done without it.
        """
        for each in chain((name,), originals(name)):
            if self._may_be_denied(each):
                whole = f"{path().removesuffix(name)}{each}"
                rule = self._match_one(each, whole, last, of_copy=each is not name)
                if rule is not None:
                    return rule
        return None

    def _may_be_denied(self, name: str) -> bool:
        return self._any_name.has(name) or self._any_tail.has(name)

    def _match_one(
        self, name: str, relative: str, last: str = "", *, of_copy: bool = False
    ) -> DenyRule | None:
        """`last` is the last name of the path that is asked about, if `name` isn't."""
        for rule, names, paths, exceptions, public in self._compiled:
            if of_copy and not rule.copies:
                continue
            if exceptions is not None and exceptions.match(name):
                continue
            if public is not None and public.match(last):
                continue
            if names is not None and names.match(name):
                return rule
            if paths is not None and paths.match(relative):
                return rule
        return None
