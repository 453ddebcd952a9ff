"""git's words: revisions, pathspecs, refspecs, and settings that make git run programs."""

import re
from typing import Final

from supervisor.policy.bash import files
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.places import looks_like_path
from supervisor.policy.bash.use import IN_DOUBT, Use
from supervisor.policy.bash.value import HOLE, Text, Value, known

_FILE_NAME: Final = re.compile(r"\.|\./.*|.*\.[A-Za-z]\w{0,5}|.*/|:/")
_OPEN: Final = re.compile(r"\^\{[^}]*\Z")
"""A colon behind this is part of a search for a message (`HEAD^{/fix: it}`)."""
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


def settings(use: Use, value: Value) -> None:
    """`NAME=VALUE`, for this one run."""
    for each in value.texts:
        name, _, text = each.text.partition("=")
        setting(use, name, known(text))


def setting(use: Use, name: str, value: Value) -> bool:
    """A setting of git: some name files that it heeds, or a program, which is what this answers."""
    table = use.look.table.languages.get("git-settings")
    if table is None:
        return False
    lowered = name.lower().removesuffix("::")  # apt's lists are set by the same option
    section, _, rest = lowered.partition(".")
    last = rest.rpartition(".")[2]
    keys = (lowered, f"{section}.*.{last}", f"{section}.*")
    kind = next((table.calls[each][0] for each in keys if each in table.calls), None)
    text = value.only
    if HOLE in name:
        use.unknown("sets something of git that can't be told")
    if kind is None or (text is not None and text in table.plain):
        return False
    if kind == "read":
        files.read(use, value)
    elif kind == "text":
        use.unknown(f"{name} makes git run or heed something else")
    elif kind != "shell-if-bang":
        use.script(known(text[1:]) if text is not None and text.startswith("!") else value)
    elif text is None or text.startswith("!"):
        use.script(known(text[1:]) if text else value)
    return kind == "shell" or (kind == "shell-if-bang" and (text is None or text[:1] == "!"))


def git_config(use: Use) -> None:
    """`git config NAME VALUE`."""
    words = list(use.parsed.operands)
    verb = words[0].only if words else None
    if verb in {"set", "get", "list", "unset", "edit"} and len(words) > 1:
        words = words[1:]
    writes = len(words) > 1 or "writes" in use.tags or verb == "edit"
    writes = writes and "shows" not in use.tags and verb not in {"get", "list"}
    for option, value in use.parsed.values:
        if option.role is not None and option.role.kind == "edit":
            (files.edit if writes else files.read)(use, value)
    if not writes:
        return
    if "system" in use.tags:
        use.emit(Act.SYSTEM, "changes git's settings for all folders")
    if len(words) > 1 and setting(use, words[0].texts[0].text, words[1]):
        use.emit(Act.SYSTEM, "sets a program that git runs from now on, whoever calls it")
