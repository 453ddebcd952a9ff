"""The expression of `find`: which files each of its actions is for, by names and paths."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Final

from supervisor.policy.bash.path_regex import path_globs
from supervisor.policy.bash.value import HOLE, Text, Value, known

RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
WRITES: Final = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
PRINTS: Final = frozenset({"-print", "-print0", "-printf", "-ls"})
_NAMES: Final = frozenset({"-name", "-iname"})
_PATHS: Final = frozenset({"-path", "-ipath", "-wholename", "-iwholename"})
_CASE_COUNTS: Final = frozenset({"-path", "-wholename"})
_REGEXES: Final = frozenset({"-regex", "-iregex"})
READS: Final = frozenset({"-newer", "-anewer", "-cnewer", "-samefile", "-files0-from"})
_VALUES: Final = frozenset(
    {"-type", "-xtype", "-maxdepth", "-mindepth", "-size", "-mtime", "-mmin", "-atime", "-amin",
     "-ctime", "-cmin", "-user", "-group", "-uid", "-gid", "-perm", "-links", "-inum", "-fstype",
     "-regextype", "-printf", "-used", "-newermt", "-newerct", "-newerat",
     "-newermm", "-context", "-lname", "-ilname"}
)  # fmt: skip
_EXTENDED: Final = frozenset(
    {"posix-extended", "egrep", "posix-egrep", "awk", "gnu-awk", "posix-awk"}
)
_NO_FOLDERS: Final = frozenset({"f", "l", "f,l", "l,f", "p", "s"})
_POSITIONS: Final = frozenset({"-maxdepth", "-mindepth", "-regextype"})
"""Words that are true of each file."""
_BEFORE: Final = frozenset({"-H", "-L", "-P", "-E", "-X", "-d", "-s", "-x"})
_OPENS: Final = ("-", "(", "!", ",", ")")
_MOST_WAYS: Final = 256
_FEW_WAYS: Final = 64
_MOST_NEVER: Final = 16
_DEEPEST: Final = 40
_WILD: Final = "*?["


@dataclass(frozen=True, slots=True)
class Chosen:
    """Files that pass all of some tests.

    They have a name that fits each of `names` and a path that fits each of `paths` (globs in which
    `*` crosses slashes), and none of `never` and `never_paths`. Without names and paths it may be
    any file. `within` are those of `paths` whose case counts. `inner` says that the folder where
    the search starts isn't one of them.
    """

    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    never_paths: tuple[str, ...] = ()
    inner: bool = False
    empty: bool = False

    @property
    def possible(self) -> bool:
        """Whether any file can pass."""
        if any(_within(name, other) for name in self.names for other in self.never):
            return False
        if any(_within(path, other) for path in self.paths for other in self.never_paths):
            return False
        bare = [each for each in self.names if not _wild(each)]
        return all(fnmatchcase(name, other) for name in bare for other in self.names)

    @property
    def name(self) -> str:
        """The narrowest of the globs for its name; empty if there is none."""
        names = (*self.names, *(each.rpartition("/")[2] for each in self.paths))
        return max(names, key=lambda each: (not _wild(each), len(each.strip("*"))), default="")

    def folder(self, start: str) -> str | None:
        """The folder below the start that the files' paths begin with (`-path './build/*'`)."""
        head = start if start.endswith("/") else f"{start}/"
        for glob in self.within:
            parts = glob.removeprefix(head).split("/")[:-1] if glob.startswith(head) else []
            plain = list(takewhile(_is_name, parts))
            if plain:
                return head + "/".join(plain)
        return None

    @property
    def anywhere(self) -> str | None:
        """The globs for paths in a folder of one name, wherever that lies, as one with `**`.

        `*/dist/*` is `**/dist/**`; None where no folder is named, or the files are by their names.
        """
        for glob in self.within:
            first, *parts = glob.split("/")
            last = parts.pop() if parts else ""
            plain = all(each == "*" or _is_name(each) for each in parts)
            if first == last == "*" and plain and any(map(_is_name, parts)):
                return "/".join("**" if each == "*" else each for each in (first, *parts, last))
        return None


def _is_name(part: str) -> bool:
    return part not in ("", ".", "..") and not _wild(part) and "\\" not in part


def _wild(glob: str) -> bool:
    return any(sign in glob for sign in _WILD)


def _within(glob: str, other: str) -> bool:
    """Whether all that fits a glob fits the other one too, as far as that is plain to see."""
    return glob == other or (not _wild(glob) and fnmatchcase(glob, other))


Ways = list[Chosen]
Test = Callable[[Chosen], Ways]


@dataclass(slots=True)
class Search:
    """A search: where it starts, its actions with the files they are for, and all that pass."""

    starts: list[Value] = field(default_factory=list)
    actions: list[tuple[str, list[Value], Ways]] = field(default_factory=list)
    all: Ways = field(default_factory=list)
    reads: list[tuple[str, Value]] = field(default_factory=list)
    writes: list[Value] = field(default_factory=list)
    doubtful: bool = False
    """Whether a word that can't be told may be an action."""

    @property
    def printed(self) -> Ways:
        """The files whose names it prints, or gives to what prints them."""
        prints = [way for kind, _, ways in self.actions if kind in PRINTS for way in ways]
        if prints or not self.actions:
            return prints or self.all
        return [way for _, _, ways in self.actions for way in ways]


def search(argv: Sequence[Value]) -> Search:
    """What the words of a `find` say."""
    found = Search()
    at = 1
    extended = False
    while at < len(argv) and argv[at].texts[0].text in _BEFORE:
        extended = extended or argv[at].only == "-E"
        at += 1
    while at < len(argv) and not argv[at].texts[0].text.startswith(_OPENS):
        found.starts.append(argv[at])
        at += 1
    reader = _Expression(argv, at, found)
    reader.extended = extended
    found.all, _ = reader.listed([Chosen()], _DEEPEST)
    while reader.at < len(argv):  # a `)` too many
        reader.at += 1
        found.all, _ = reader.listed([Chosen()], _DEEPEST)
    return found


def globs_of(ways: Sequence[Chosen], start: str) -> list[str]:
    """Globs of paths, as seen from where `start` is, that the files have; none for any file."""
    found: dict[str, None] = {}
    for way in ways:
        for path in way.paths:
            placed = _placed(path, start, way.name)
            found[placed] = None
            if placed.endswith("*") and "/" not in path:  # its `*` crosses slashes
                found[f"{placed}/{way.names[-1] if way.names else '*'}"] = None
        if way.name and not way.paths:
            found[_under(start, way.name)] = None
    return [each for each in found if each]


def _under(start: str, rest: str) -> str:
    if start in (".", "", "./"):
        return rest
    return f"{start.rstrip('/')}/{rest}"


def _placed(path: str, start: str, name: str) -> str:
    """A glob for whole paths as one that stands where the search starts; empty if it fits all."""
    if not path.strip("*/?."):
        return ""
    if path.startswith("?/"):  # a dot in a regular expression
        path = f".{path[1:]}"
    if path.startswith("*"):
        path = _under(start, path.removeprefix("*/"))
    folder, _, last = path.rpartition("/")
    if name.strip("*?.") and not last.strip("*?."):
        return f"{folder}/{name}" if folder else name
    return path


class _Expression:
    """Reads an expression as `find` does, and follows which files come to each of its parts."""

    def __init__(self, argv: Sequence[Value], at: int, found: Search) -> None:
        self.argv = argv
        self.at = at
        self.found = found
        self.extended = False

    def _next(self) -> str:
        return self.argv[self.at].texts[0].text if self.at < len(self.argv) else ")"

    def listed(self, reach: Ways, depth: int) -> tuple[Ways, Ways]:
        """Parts between commas: those that pass the last one, and those that don't."""
        passing, failing = self._either(reach, depth)
        while self.at < len(self.argv) and self._next() == ",":
            self.at += 1
            passing, failing = self._either(reach, depth)
        return passing, failing

    def _either(self, reach: Ways, depth: int) -> tuple[Ways, Ways]:
        passing, failing = self._both(reach, depth)
        while self.at < len(self.argv) and self._next() in ("-o", "-or"):
            self.at += 1
            more, failing = self._both(failing, depth)
            passing = _few([*passing, *more])
        return passing, failing

    def _both(self, reach: Ways, depth: int) -> tuple[Ways, Ways]:
        passing, failing = reach, Ways()
        while self.at < len(self.argv) and self._next() not in ("-o", "-or", ",", ")"):
            if self._next() in ("-a", "-and"):
                self.at += 1
                continue
            passing, out = self._one(passing, depth)
            failing = _few([*failing, *out])
        return passing, failing

    def _one(self, reach: Ways, depth: int) -> tuple[Ways, Ways]:
        text = self._next()
        self.at += 1
        if text in ("!", "-not"):
            if self.at >= len(self.argv) or depth <= 0:
                return reach, reach
            passing, failing = self._one(reach, depth - 1)
            return failing, passing
        if text == "(" and depth > 0:
            found = self.listed(reach, depth - 1)
            if self.at < len(self.argv) and self._next() == ")":
                self.at += 1
            return found
        return self._word(text, reach)

    def _word(self, text: str, reach: Ways) -> tuple[Ways, Ways]:
        """A test or an action of one word, with the words that belong to it."""
        if text in RUNS:
            end = self.at
            while end < len(self.argv) and not self._ends(end):
                end += 1
            self.found.actions.append((text, list(self.argv[self.at : end]), reach))
            self.at = end + 1
            return reach, reach
        if text == "-delete" or text in PRINTS:
            self.found.actions.append((text, [], reach))
            self.at += 1 if text == "-printf" else 0
            return reach, Ways()
        if text in WRITES:
            self.found.writes.append(self._value() or known("-"))
            self.at += 1 if text == "-fprintf" else 0
            return reach, Ways()
        if text in _NAMES or text in _PATHS or text in _REGEXES or text == "-samefile":
            return self._names(text, reach)
        return self._other(text, reach)

    def _other(self, text: str, reach: Ways) -> tuple[Ways, Ways]:
        """The tests that say nothing of names."""
        if text in ("-false", "-true", "-prune", "-quit"):
            return (Ways(), reach) if text == "-false" else (reach, Ways())
        if text in READS:
            if (value := self._value()) is not None:
                self.found.reads.append((text, value))
            return reach, reach
        if text in _VALUES:
            value = self._value()
            only = None if value is None else value.only
            if text == "-regextype":
                self.extended = only in _EXTENDED
            if (text == "-type" and only in _NO_FOLDERS) or (text == "-mindepth" and only != "0"):
                found = [replace(each, inner=True) for each in reach]
                return found, Ways() if text in _POSITIONS else reach
            return (reach, Ways()) if text in _POSITIONS else (reach, reach)
        if text == "-empty":
            return [replace(each, empty=True) for each in reach], reach
        if HOLE in text:
            self.found.doubtful = True
        return reach, reach

    def _value(self) -> Value | None:
        value = self.argv[self.at] if self.at < len(self.argv) else None
        self.at += 1
        return value

    def _names(self, text: str, reach: Ways) -> tuple[Ways, Ways]:
        value = self._value()
        glob = None if value is None else value.only
        if text == "-samefile" and value is not None:
            self.found.reads.append((text, value))
            glob = value.texts[0].text.rpartition("/")[2]
        if glob is None or not glob:
            return reach, reach
        if text in _REGEXES:
            globs = path_globs(glob, extended=self.extended)
            return self._paths(globs, reach) if globs else (reach, reach)
        if text in _PATHS:
            passing, failing = self._paths((glob,), reach)
            if text in _CASE_COUNTS:
                passing = [replace(each, within=(*each.within, glob)) for each in passing]
            return passing, failing
        passing = [replace(each, names=(*each.names, glob)) for each in reach]
        failing = [replace(each, never=(*each.never, glob)[:_MOST_NEVER]) for each in reach]
        return _alive(passing), _alive(failing)

    @staticmethod
    def _paths(globs: Sequence[str], reach: Ways) -> tuple[Ways, Ways]:
        passing = [replace(each, paths=(*each.paths, one)) for each in reach for one in globs]
        failing = [
            replace(each, never_paths=(*each.never_paths, *globs)[:_MOST_NEVER]) for each in reach
        ]
        return _few(_alive(passing)), _alive(failing)

    def _ends(self, at: int) -> bool:
        text = self.argv[at].texts[0].text
        behind = at > self.at and self.argv[at - 1].texts[0].text == "{}"
        return text == ";" or (text == "+" and behind)


def _alive(ways: Ways) -> Ways:
    return [each for each in ways if each.possible]


def _few(ways: Ways) -> Ways:
    """The ways that files can come; of too many those to hidden names first, and any file."""
    if len(ways) <= _FEW_WAYS:
        return ways
    found = list(dict.fromkeys(ways))
    if len(found) <= _MOST_WAYS:
        return found
    found.sort(key=lambda each: each.name[:1] != ".")
    return [Chosen(), *found[:_FEW_WAYS]]


def as_text(glob: str) -> Text:
    """A glob as what a word may become: a pattern if it has signs, else the name itself."""
    return Text(glob, glob) if _wild(glob) else Text(glob.replace("\\", ""))
