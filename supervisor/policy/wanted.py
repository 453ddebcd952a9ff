"""Which facts a call needs: the paths it names, by tool and field."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from supervisor.policy.addresses import addresses_in
from supervisor.policy.bash.effect import Act, Analysis, Effect
from supervisor.policy.bash.invocation import Part
from supervisor.policy.call import ToolCall, Use
from supervisor.policy.compiled import Category, CompiledPolicy
from supervisor.policy.globs import alternatives, expand, fixed_prefixes
from supervisor.policy.input_texts import DEEPEST_INPUT, is_deeper, plain, texts
from supervisor.policy.targets import MOST_TARGETS, wanted_of_effects
from supervisor.policy.wants import Scan, Wanted, Wants
from supervisor.policy.words import command_words
from supervisor.trust.levels import TrustLevel

PATH_FIELDS = frozenset(
    """filepath path paths notebookpath file files filename filenames relativepath absolutepath
    oldpath newpath directory dir folder root cwd source destination src dst
    uri uris""".split()  # noqa: SIM905  (a table to read)
)
"""Fields that hold paths, without regard to case, `_` and `-`."""
_PROSE_FIELDS = frozenset(
    """query q search term terms keyword keywords topic title subject label labels tag tags name
    namepath symbol pattern text message body description content prompt branch category""".split()  # noqa: SIM905
)
"""Fields of which a word that is nothing but letters names no file."""
COMMAND_FIELDS = ("command", "code", "script")
_COMMAND_LIKE = frozenset({"command", "cmd", "commandline", "shellcommand", "script", "commands"})
_ARGUMENT_FIELDS = frozenset({"args", "argv", "arguments"})
MOST_TEXTS = 256

_ELSEWHERE = (
    "isolation", "worktree", "cwd", "workdir", "workingdir", "background", "remote", "permission",
    "dangerous", "sandbox",
)  # fmt: skip
"""Parts of the names of fields by which an agent is put elsewhere, or outlives who called it."""
_TOLD = ("prompt", "args")
"""Fields of what an agent is told to do."""
_CONTENT_SEARCH = "Glob"  # the one search tool that gives names only
_BASH = "Bash"  # other tools of the kind look after a shell that runs
_NOT_BASH = frozenset({"PowerShell", "REPL"})
_FILE_USES = {Category.READ: Use.READ, Category.WRITE: Use.WRITE}
_FILE_URL = "file:"
_NUL = Effect(Act.UNKNOWN, "", Part(0, 0), "the command holds a NUL")
_TOO_LONG = "the command is too long or too deep to look through"


def wanted(call: ToolCall, policy: CompiledPolicy) -> Wants:
    """What must be known of the file system before this call can be decided."""
    if is_deeper(call.input, DEEPEST_INPUT):
        return Wants(problem=f"its input is nested deeper than {DEEPEST_INPUT} levels")
    category = policy.category(call.tool)
    if category in _FILE_USES:
        return _file_tool(call, _FILE_USES[category])
    if category is Category.SHELL:
        return _shell(call, policy)
    reader = _READERS.get(category)
    return _arguments(call, policy) if reader is None else reader(call)


def _file_tool(call: ToolCall, use: Use) -> Wants:
    found: list[Wanted] = []
    for key, value in call.input.items():
        if plain(key) in PATH_FIELDS and value is not None:
            if not isinstance(value, str):
                return Wants(problem=f"`{key}` must be one path")
            found.append(Wanted(value, use))
    nested = (v for v in call.input.values() if not isinstance(v, str))
    for field, text in texts(list(nested), DEEPEST_INPUT):
        if field in PATH_FIELDS:
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
        if not pattern:
            return Wants(doubt="no pattern is given")
        patterns: tuple[str, ...] = (pattern,) if pattern else ()
        scan = None
    else:
        parts = tuple(dict.fromkeys(_split_globs(globs or "")))
        if len(parts) > MOST_TEXTS:
            return Wants(doubt=f"the call names more than {MOST_TEXTS} globs")
        patterns = tuple(each for each in parts if not each.startswith("!"))
        never = tuple(each[1:] for each in parts if each.startswith("!"))
        only = patterns or _FILE_TYPES.get(str(call.input.get("type", "")), ())
        scan = Scan(only=only, never=() if patterns else never)
    prefixes = [prefix for each in patterns for prefix in fixed_prefixes(each)]
    below = [_join(folder, prefix) for prefix in prefixes if prefix not in ("", ".")]
    paths = [Wanted(each, Use.SEARCH) for each in below]
    climbs = any(".." in each.split("/") for each in patterns)
    if call.tool != _CONTENT_SEARCH or climbs or len(below) < len(prefixes):
        # Names that all begin with a folder (`docs/*.md`) are looked for nowhere else.
        paths.insert(0, Wanted(folder, Use.SEARCH, scan))
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


def _shell(call: ToolCall, policy: CompiledPolicy) -> Wants:
    commands = [call.input[key] for key in COMMAND_FIELDS if key in call.input]
    if not all(isinstance(text, str) for text in commands):
        return Wants(problem="the command must be a text")
    if call.tool in _NOT_BASH:
        return _words(call, commands)
    if not any(text.strip() for text in commands):
        return Wants(doubt="no command is given" if call.tool == _BASH else None)
    analysis = _analysed(commands, call, policy)
    if call.level is TrustLevel.SANDBOXED:
        return Wants(analysis=analysis)  # its paths are the container's own: judged by their names
    paths, complete = wanted_of_effects(analysis, call)
    doubt = None if complete else f"the command names more than {MOST_TARGETS} paths"
    if not analysis.complete:
        doubt = _TOO_LONG
    return Wants(paths=paths, doubt=doubt, analysis=analysis)


def _analysed(commands: Sequence[str], call: ToolCall, policy: CompiledPolicy) -> Analysis:
    cwd, home = call.as_seen_cwd, call.as_seen_home
    found = [policy.analysis_of(text.replace("\0", ""), cwd, home) for text in commands]
    if len(found) == 1 and "\0" not in commands[0]:
        return found[0]
    # Shells differ in what they make of a NUL: most leave it out, some end there.
    nuls = [_NUL for text in commands if "\0" in text]
    return Analysis(
        effects=(*(effect for each in found for effect in each.effects), *nuls),
        complete=all(each.complete for each in found),
        notes=tuple(note for each in found for note in each.notes),
    )


def _words(call: ToolCall, commands: Sequence[str]) -> Wants:
    """For shells whose language isn't read: the words that may be names."""
    if call.level is TrustLevel.SANDBOXED:
        return Wants()  # the cage holds: denied files aren't in it
    words = [command_words(text) for text in commands]
    found = tuple(dict.fromkeys(word for each in words for word in each.words))
    doubt = None
    if not all(each.complete for each in words):
        doubt = _TOO_LONG
    elif commands and call.level is TrustLevel.VAULT:
        doubt = f"what a text in the language of {call.tool} does can't be told"
    return Wants(
        paths=tuple(Wanted(word, Use.WORD) for word in found),
        # Braces are written out among the words already.
        patterns=tuple(word for word in found if alternatives(word, ranges=True) == (word,)),
        doubt=doubt,
    )


def _agent(call: ToolCall) -> Wants:
    """Prose for an agent, whose own calls are judged; not so where and how long it works.

    What it is told is judged only where it is a name and nothing else (a skill's `.env`).
    """
    if call.level is not TrustLevel.FULL:
        for key, value in call.input.items():
            if value not in (None, False, "") and any(each in plain(key) for each in _ELSEWHERE):
                return Wants(
                    doubt=f"`{str(key)[:80]}` lets an agent work elsewhere, or go on alone"
                )
    told = [str(call.input[key]).strip() for key in _TOLD if isinstance(call.input.get(key), str)]
    names = [each for each in told if each and not any(c.isspace() for c in each)]
    return Wants(paths=tuple(Wanted(each, Use.ARGUMENT) for each in names), patterns=tuple(names))


def _web(call: ToolCall) -> Wants:
    said = [text for _field, text in texts(list(call.input.values()), DEEPEST_INPUT)]
    files = [text for text in said if text.strip().lower().startswith(_FILE_URL)]
    wants = _bounded([Wanted(text.strip(), Use.READ) for text in files])
    url = call.input.get("url")
    if url is not None and not isinstance(url, str):
        return Wants(problem="`url` must be a text")
    if url is not None and not url.strip():
        return replace(wants, doubt="no address is given")
    return replace(wants, addresses=(url,)) if url and url not in files else wants


def _arguments(call: ToolCall, policy: CompiledPolicy) -> Wants:
    found: dict[Wanted, None] = {}
    for field, whole in _distinct_texts(call.input):
        if len(found) > MOST_TEXTS:
            break
        for text in _readings(whole):
            if field in PATH_FIELDS:
                found[Wanted(text, Use.PATH_ARGUMENT)] = None
            elif field in _PROSE_FIELDS and text.isalpha():
                continue  # `credentials`, searched for
            elif text and not any(c.isspace() for c in text) and not _is_address(text):
                found[Wanted(text, Use.ARGUMENT)] = None
    kept = tuple(found)
    wants = replace(
        _bounded(kept, tuple(each.text for each in kept)), addresses=addresses_in(call.input)
    )
    commands = _commands_in(call.input)
    if not commands:
        return wants
    # A server that runs commands: what is denied to a shell is denied to it.
    analysis = _analysed(commands, call, policy)
    if call.level is TrustLevel.SANDBOXED:
        return replace(wants, analysis=analysis)
    paths, _complete = wanted_of_effects(analysis, call)
    return replace(wants, paths=(*wants.paths, *paths), analysis=analysis)


def _distinct_texts(input: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each text of each field once, however often it is repeated."""
    seen: set[tuple[str, str]] = set()
    for each in texts(input, DEEPEST_INPUT):
        if each not in seen:
            seen.add(each)
            yield each


def _readings(text: str) -> list[str]:
    """A text, and what it is to a program that drops blanks around it, or ends it at a NUL."""
    found = [text, text.strip()]
    if "\0" in text:
        found += [text.replace("\0", ""), *text.split("\0")]
    return list(dict.fromkeys(each for each in found if each)) or [text]


def _commands_in(input: Mapping[str, Any]) -> list[str]:
    """Commands that an unknown tool may run: a text, or a program with its arguments."""
    words: list[str] = []
    for key, value in input.items():
        if plain(key) in _ARGUMENT_FIELDS and _is_words(value):
            words = value
    found = []
    for key, value in input.items():
        if plain(key) in _COMMAND_LIKE:
            if _is_words(value):
                found.append(shlex.join([*value, *words]))
            elif isinstance(value, str):
                found.append(f"{value} {shlex.join(words)}".strip())
    return found


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _question(_call: ToolCall) -> Wants:
    return Wants()  # prose for a person


_READERS: Mapping[Category, Callable[[ToolCall], Wants]] = {
    Category.SEARCH: _search,
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
