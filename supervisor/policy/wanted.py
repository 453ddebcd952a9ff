"""Which facts a call needs: the paths it names, by tool and field."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from supervisor.policy.call import ToolCall, Use
from supervisor.policy.compiled import Category
from supervisor.policy.globs import alternatives, expand, fixed_prefixes
from supervisor.policy.words import command_words
from supervisor.trust.levels import TrustLevel

PATH_FIELDS = frozenset(
    """filepath path paths notebookpath file files filename filenames relativepath absolutepath
    oldpath newpath directory dir folder root cwd source destination src dst
    uri uris""".split()  # noqa: SIM905  (a table to read)
)
"""Fields that hold paths, without regard to case, `_` and `-`."""
COMMAND_FIELDS = ("command", "code", "script")
MOST_TEXTS = 256
DEEPEST_INPUT = 8

_ELSEWHERE = (
    "isolation", "worktree", "cwd", "workdir", "workingdir", "background", "remote", "permission",
    "dangerous", "sandbox",
)  # fmt: skip
"""Parts of the names of fields by which an agent is put elsewhere, or outlives who called it."""
_CONTENT_SEARCH = "Glob"  # the one search tool that gives names only
_FILE_USES = {Category.READ: Use.READ, Category.WRITE: Use.WRITE}
_FILE_URL = "file:"


@dataclass(frozen=True, slots=True)
class Scan:
    """A search that reads the files below a folder: only those that `only` matches, if it says."""

    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """One text that names a path; relative ones start at the call's working directory."""

    text: str
    use: Use
    scan: Scan | None = None


@dataclass(frozen=True, slots=True)
class Wants:
    """What a call names. `patterns` are judged by themselves; the paths need facts.

    `problem` says why the input can't be what the tool takes, `doubt` what couldn't be looked at.
    """

    paths: tuple[Wanted, ...] = ()
    patterns: tuple[str, ...] = ()
    problem: str | None = None
    doubt: str | None = None


def wanted(call: ToolCall, category: Category) -> Wants:
    """What must be known of the file system before this call can be decided."""
    if category in _FILE_USES:
        return _file_tool(call, _FILE_USES[category])
    return _READERS.get(category, _arguments)(call)


def _file_tool(call: ToolCall, use: Use) -> Wants:
    found: list[Wanted] = []
    for key, value in call.input.items():
        if _is_path_field(key) and value is not None:
            if not isinstance(value, str):
                return Wants(problem=f"`{key}` must be one path")
            found.append(Wanted(value, use))
    nested = (v for v in call.input.values() if not isinstance(v, str))
    for path_field, text in _texts(list(nested), DEEPEST_INPUT):
        if path_field:
            found.append(Wanted(text, use))
    if not found and use is Use.WRITE:
        return Wants(doubt="it can't be seen which file the tool writes")
    return _bounded(found)


def _search(call: ToolCall) -> Wants:
    start = call.input.get("path")
    pattern = call.input.get("pattern")
    globs = call.input.get("glob")
    if not all(text is None or isinstance(text, str) for text in (start, pattern, globs)):
        return Wants(problem="`path`, `pattern` and `glob` must be texts")
    folder = start or "."
    if call.tool == _CONTENT_SEARCH:
        patterns: tuple[str, ...] = (pattern,) if pattern else ()
        scan = None
    else:
        patterns = tuple(each for each in _split_globs(globs or "") if not each.startswith("!"))
        never = tuple(each[1:] for each in _split_globs(globs or "") if each.startswith("!"))
        only = patterns or _FILE_TYPES.get(str(call.input.get("type", "")), ())
        scan = Scan(only=only, never=() if patterns else never)
    below = [
        _join(folder, prefix)
        for each in patterns
        for prefix in fixed_prefixes(each)
        if prefix not in ("", ".")
    ]
    paths = [Wanted(folder, Use.SEARCH, scan), *(Wanted(each, Use.SEARCH) for each in below)]
    wants = _bounded(paths, patterns)
    if not all(expand(each).complete for each in patterns):
        return replace(wants, doubt="the glob has too many alternatives to look at them all")
    return wants


def _split_globs(text: str) -> list[str]:
    """Several globs in one text, parted by blanks, or by commas outside of braces."""
    found, current, depth = list[str](), "", 0
    for c in text:
        depth += (c == "{") - (c == "}")
        if c.isspace() or (c == "," and depth <= 0):
            found.append(current)
            current = ""
        else:
            current += c
    return [each for each in (*found, current) if each]


def _shell(call: ToolCall) -> Wants:
    if call.level is TrustLevel.SANDBOXED:
        return Wants()  # the cage holds: denied files aren't in it
    texts = [call.input[key] for key in COMMAND_FIELDS if key in call.input]
    if not all(isinstance(text, str) for text in texts):
        return Wants(problem="the command must be a text")
    words = [command_words(text) for text in texts]
    found = tuple(dict.fromkeys(word for each in words for word in each.words))
    complete = all(each.complete for each in words)
    return Wants(
        paths=tuple(Wanted(word, Use.WORD) for word in found),
        # Braces are written out among the words already.
        patterns=tuple(word for word in found if alternatives(word, ranges=True) == (word,)),
        doubt=None if complete else "the command is too long or too deep to look through",
    )


def _agent(call: ToolCall) -> Wants:
    """Prose for an agent, whose own calls are judged; not so where and how long it works."""
    if call.level is not TrustLevel.FULL:
        for key, value in call.input.items():
            if value not in (None, False, "") and any(each in _plain(key) for each in _ELSEWHERE):
                return Wants(
                    doubt=f"`{str(key)[:80]}` lets an agent work elsewhere, or go on alone"
                )
    return Wants()


def _web(call: ToolCall) -> Wants:
    texts = [text for _field, text in _texts(list(call.input.values()), DEEPEST_INPUT)]
    files = [text for text in texts if text.strip().lower().startswith(_FILE_URL)]
    return _bounded([Wanted(text.strip(), Use.READ) for text in files])


def _arguments(call: ToolCall) -> Wants:
    found: list[Wanted] = []
    for path_field, text in _texts(call.input, DEEPEST_INPUT):
        if path_field:
            found.append(Wanted(text, Use.PATH_ARGUMENT))
        elif text and not any(c.isspace() for c in text) and not _is_address(text):
            found.append(Wanted(text, Use.ARGUMENT))
    return _bounded(found, tuple(each.text for each in found))


def _question(_call: ToolCall) -> Wants:
    return Wants()  # prose for a person


_READERS: Mapping[Category, Callable[[ToolCall], Wants]] = {
    Category.SEARCH: _search,
    Category.SHELL: _shell,
    Category.WEB: _web,
    Category.AGENT: _agent,
    Category.QUESTION: _question,
}


def _is_address(text: str) -> bool:
    return "://" in text and not text.lower().startswith(_FILE_URL)


def _bounded(paths: Sequence[Wanted], patterns: Sequence[str] = ()) -> Wants:
    kept = tuple(dict.fromkeys(paths))
    too_many = len(kept) > MOST_TEXTS or len(patterns) > MOST_TEXTS
    return Wants(
        paths=kept[:MOST_TEXTS],
        patterns=tuple(patterns)[:MOST_TEXTS],
        doubt=f"the call names more than {MOST_TEXTS} paths" if too_many else None,
    )


def _texts(value: Any, depth: int, *, path_field: bool = False) -> Iterator[tuple[bool, str]]:
    """All texts inside a value, each with whether a path field holds it."""
    if isinstance(value, str):
        yield path_field, value
    elif depth > 0 and isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(each, depth - 1, path_field=_is_path_field(key))
    elif depth > 0 and isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each, depth - 1, path_field=path_field)


def _is_path_field(key: object) -> bool:
    return _plain(key) in PATH_FIELDS


def _plain(key: object) -> str:
    return str(key).lower().replace("_", "").replace("-", "")


def _join(folder: str, below: str) -> str:
    return below if below.startswith(("/", "~")) or folder == "." else f"{folder}/{below}"


_FILE_TYPES: Mapping[str, tuple[str, ...]] = {
    "py": ("*.py", "*.pyi"),
    "js": ("*.js", "*.jsx", "*.mjs", "*.cjs", "*.vue"),
    "ts": ("*.ts", "*.tsx", "*.mts", "*.cts"),
    "md": ("*.md", "*.markdown", "*.mdx", "*.mdown"),
    "markdown": ("*.md", "*.markdown", "*.mdx", "*.mdown"),
    "rust": ("*.rs",),
    "go": ("*.go",),
    "java": ("*.java", "*.jsp", "*.jspx", "*.properties"),
    "c": ("*.c", "*.h", "*.C", "*.H", "*.cats"),
    "cpp": ("*.cpp", "*.cc", "*.cxx", "*.hpp", "*.hh", "*.hxx", "*.h", "*.C", "*.H", "*.inl"),
    "html": ("*.htm", "*.html", "*.ejs"),
    "css": ("*.css", "*.scss"),
}
"""ripgrep's file types that agents use most; any other type is taken as every file."""
