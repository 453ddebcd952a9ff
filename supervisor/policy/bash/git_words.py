"""git's words: revisions, pathspecs, refspecs, and settings that make git run programs."""

import re
from collections.abc import Mapping
from typing import Final

from supervisor.policy.bash import files, network
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.places import looks_like_path
from supervisor.policy.bash.table import Option
from supervisor.policy.bash.use import IN_DOUBT, Use
from supervisor.policy.bash.value import HOLE, Text, Value, known

_FILE_NAME: Final = re.compile(r"\.|\./.*|.*\.[A-Za-z]\w{0,5}|.*/|:/")
_OPEN: Final = re.compile(r"\^\{[^}]*\Z")
"""A colon behind this is part of a search for a message (`HEAD^{/fix: it}`)."""
_OTHERS: Final = frozenset({"hg", "svn", "bzr"})
_STORED: Final = re.compile(r"(?:refs/)?stash\b")


def revision(use: Use, value: Value) -> None:
    """A revision; `REVISION:PATH` reads a file, a bare word may be one."""
    for each in value.texts:
        name, colon, path = each.text.partition(":")
        if each.text.startswith((":!", ":^", ":(exclude")):
            continue
        if colon and path and not path.startswith("/") and not _OPEN.search(name):
            staged = not name and path[1:2] == ":" and path[0] in "0123"
            use.emit(
                Act.READ,
                "is read from the repository's records",
                known(path[2:] if staged else path),
            )
        elif _STORED.match(name):
            use.unknown("shows stored changes of any file")
        elif not colon and looks_like_path(each.text) and ".." not in each.text:
            use.emit(Act.READ, IN_DOUBT, Value((each,)))


def pathspec(use: Use, value: Value) -> None:
    """A path in the repository; its wildcards are git's own."""
    text = value.only
    if text is None:
        files.read(use, value)
        return
    if text.startswith((":!", ":^", ":(exclude")):
        return
    if text.startswith(":("):
        text = text.partition(")")[2]
    text = text.removeprefix(":/")
    wild = any(each in text for each in "*?[")
    files.read(use, Value((Text(text, text if wild else None),)))


def refspec(use: Use, value: Value) -> None:
    """`[+]HERE:THERE`: a `+` forces, an empty HERE removes."""
    if "dry" not in use.tags and any(each.text.startswith(("+", ":")) for each in value.texts):
        use.emit(Act.LOSE, "removes or replaces what others may have")


def restored(use: Use, value: Value) -> None:
    """A branch, or a file whose changes are thrown away."""
    before = use.parsed.before
    at = next((at for at, each in enumerate(use.parsed.operands) if each is value), 0)
    sure = before is not None and at >= before
    if sure or any(_FILE_NAME.fullmatch(each.text) for each in value.texts):
        use.emit(Act.LOSE, "throws changes away")
        use.emit(Act.WRITE, "is written" if sure else IN_DOUBT, value)
        use.emit(Act.WRITE, IN_DOUBT, value, recursive=True)


def replaced(use: Use, value: Value) -> None:
    """A file, or a folder with all that is recorded below it, that is put back as it was."""
    use.emit(Act.WRITE, "is written", value)
    use.emit(Act.WRITE, IN_DOUBT, value, recursive=True)


def settings(use: Use, value: Value) -> None:
    """`NAME=VALUE`, for this one run."""
    for each in value.texts:
        name, _, text = each.text.partition("=")
        setting(use, name, known(text))
        if name.lower() == f"{_ALIAS}{use.argv[use.at - 1].only}" and not text.startswith("!"):
            use.start([use.argv[0], *map(known, text.split()), *use.argv[use.at :]])


def setting(use: Use, name: str, value: Value) -> bool:
    """A setting of git: some name programs that git runs, or files that it heeds.

    Whether it steers: whether git would run or heed something else by it from then on.
    """
    if HOLE in name:
        use.unknown("sets something of git that can't be told")
    other = use.base in _OTHERS
    table = use.look.table.languages.get("hg-settings" if other else "git-settings")
    if other:  # `config:tunnels:ssh` of svn
        name = name.removeprefix("config:").removeprefix("servers:").replace(":", ".")
    kind = None if table is None else _kind_of(name, table.calls)
    if table is None or kind is None:
        return False
    text = value.only
    if kind == "text":
        return _steered(use, name, value)
    if text is not None and _is_plain(use, text, table.plain):
        return False
    if kind == "read":
        files.read(use, value)
    elif kind == "doubt":
        use.unknown(f"{name} makes git heed something else")
    elif kind == "repository":
        return _server(use, name, value)
    elif kind != "shell-if-bang" or text is None or text.startswith(("!", "/")):
        use.script(known(text[1:]) if text is not None and text.startswith("!") else value)
        return True
    return False


def _steered(use: Use, name: str, value: Value) -> bool:
    """Something else that git runs or heeds: a folder of hooks, a file of more settings."""
    if name.lower().startswith("include"):
        use.emit(Act.READ, IN_DOUBT, value)
    use.unknown(f"{name} makes git run or heed something else")
    return True


def _kind_of(name: str, kinds: Mapping[str, tuple[str, ...]]) -> str | None:
    lowered = name.lower().removesuffix("::")  # apt's lists are set by the same option
    section, _, rest = lowered.partition(".")
    last = rest.rpartition(".")[2]
    keys = (lowered, f"{section}.*.{last}", f"{section}.*")
    return next((kinds[each][0] for each in keys if each in kinds), None)


def _is_plain(use: Use, text: str, plain: frozenset[str]) -> bool:
    """Whether it is a switch, or a program of no harm that gets options of no harm.

    A long option that the table knows of it (`gpg --export-secret-keys`) has a meaning.
    """
    words = text.split()
    options = words[1:]
    if words[:1] == [] or words[0] not in plain or not all(map(_PLAIN_OPTION.fullmatch, options)):
        return False
    program = use.look.table.find(words[0])
    return program is None or not any(
        each.startswith("--") and each in program.options for each in options
    )


def _server(use: Use, name: str, value: Value) -> bool:
    """Where fetches and pushes go by a name: an address that the name or the value holds."""
    texts = [name, *(each.text for each in value.texts)]
    if any(sign in text for text in texts for sign in (":", "/", HOLE)):
        use.send(None, "changes the server that is meant later")
        network.repository(use, value)
    return any("::" in text for text in texts)


def git_config(use: Use) -> None:
    """`git config NAME VALUE`, in its old and new spellings."""
    words = list(use.parsed.operands)
    verb = words[0].only if words else None
    if verb in _VERBS and (len(words) > 1 or verb == "edit"):
        words = words[1:]
    else:
        verb = None
    writes = len(words) > 1 or "writes" in use.tags or verb in _CHANGES
    writes = writes and "shows" not in use.tags and verb not in {"get", "list"}
    named = [value for option, value in use.parsed.values if _names_file(option)]
    named += [value for name, value in use.invocation.environment if name in _FILES]
    for value in named:
        (files.edit if writes else files.read)(use, value)
    if not writes:
        return
    if "system" in use.tags:
        use.emit(Act.SYSTEM, "changes git's settings for all folders")
    steers = "edits" in use.tags or verb == "edit"
    if "renames" in use.tags or verb == "rename-section":
        steers = len(words) > 1 and _may_steer(use, words[1])
    elif len(words) > 1 and verb != "unset":
        steers = setting(use, words[0].texts[0].text, words[1]) or steers
    if steers and not named and "system" not in use.tags:
        name = ".git/config.worktree" if "worktree" in use.tags else ".git/config"
        use.emit(Act.WRITE, "git runs what stands there", known(name))


def _names_file(option: Option) -> bool:
    return option.role is not None and option.role.kind == "edit"


def _may_steer(use: Use, section: Value) -> bool:
    """Whether a section of this name holds settings that steer git."""
    table = use.look.table.languages.get("git-settings")
    starts = {f"{each.text.lower().partition('.')[0]}." for each in section.texts}
    return table is not None and any(key.startswith(tuple(starts)) for key in table.calls)


_ALIAS: Final = "alias."
_VERBS: Final = frozenset(
    {"set", "get", "list", "unset", "edit", "rename-section", "remove-section"}
)
_CHANGES: Final = _VERBS - {"get", "list"}
_FILES: Final = frozenset({"GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"})
_PLAIN_OPTION: Final = re.compile(r"--[a-z][a-z-]*|-[FRX]+")
"""Options of pagers and editors that run and name nothing (`less -FRX`, `code --wait`)."""
