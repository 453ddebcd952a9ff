"""Words that name files: listed, read, written, removed, copied to."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from supervisor.policy.bash import network
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.places import Found, below, last_names, surely_folder
from supervisor.policy.bash.use import IN_DOUBT, NO_FILES, Use, substituted
from supervisor.policy.bash.value import Value, known

_MOST_SOURCES: Final = 64
_STREAM: Final = re.compile(r"/(?:dev|proc/self)/fd/[^/.]+")
_ADDRESS: Final = re.compile(r"(?:https?|ftps?|sftp|s3|gs|rtmps?|rtsp|tcp|udp)://", re.IGNORECASE)
_TEMPORARY: Final = re.compile(r"/(?:var/)?tmp(?:/|\Z)")
_AS_ANOTHER: Final = re.compile(r"/(?:sudo|su|doas|ksu):")
_OPENED: Final = re.compile(r"/(?:dev|proc/self)/fd/(?:[3-9]|[1-9][0-9]+)")
_OCTAL_WITH_ID: Final = re.compile(r"=?0*[2-7][0-7]{3}")
_LETTERS_WITH_ID: Final = re.compile(r"[ugoa]*[+=][rwxXt]*s")


def is_stream(value: Value) -> bool:
    """Whether it is a standard stream, or a device that is no file."""
    if len(value.texts) != 1:
        return False
    text = value.texts[0].text
    return text in {"", "-"} or text in NO_FILES or _STREAM.fullmatch(text) is not None


def _act(use: Use, act: Act, reason: str, value: Value, *, deep: bool | None = None) -> None:
    if is_stream(value):
        if _OPENED.fullmatch(value.texts[0].text) and substituted(use, value) is None:
            use.unknown("uses a descriptor that was opened elsewhere")
    else:
        recursive = "recursive" in use.tags if deep is None else deep
        use.emit(act, reason, _named(value), recursive=recursive)


def _named(value: Value) -> Value:
    """The texts that name something: an empty word does nothing (`rm -rf "${1:-}"`)."""
    if len(value.texts) == 1 or all(each.text for each in value.texts):
        return value
    named = tuple(each for each in value.texts if each.text)
    return replace(value, texts=named) if named else value


def listed(use: Use, value: Value) -> None:
    """Its name or attributes are shown."""
    _act(use, Act.LIST, "is listed", value)


def read(use: Use, value: Value) -> None:
    """A file that is read; many programs fetch it where it is an address."""
    _act(use, Act.READ, "is read", value)
    if any("://" in each.text and _ADDRESS.match(each.text) for each in value.texts):
        use.send(value, "may reach an address")


def tree(use: Use, value: Value) -> None:
    """A file or folder that is read with all below it."""
    _act(use, Act.READ, "is read with all below it", value, deep=True)


def write(use: Use, value: Value) -> None:
    """A file that is written; behind a `|` a command that gets what is written (`strace -o`)."""
    text = value.texts[0].text
    if text[:1] == "|" or (text[:1] == "!" and use.base == "strace"):
        use.script(Value(known(text[1:]).texts, value.from_data))
        return
    _act(use, Act.WRITE, "is written", value, deep=False)


def edit(use: Use, value: Value) -> None:
    """A file that is read and written in place; an editor may open one on another machine."""
    if network.is_afar(value):
        network.host(use, value)
        return
    if any(_AS_ANOTHER.match(each.text) for each in value.texts):
        use.emit(Act.ESCALATE, "opens a file with another user's rights")
    read(use, value)
    write(use, value)


def temporary(use: Use, value: Value) -> None:
    """A new file with a name of its own; what lies in `/tmp` is nobody's."""
    if value.known and not all(_TEMPORARY.match(each.text) for each in value.texts):
        _act(use, Act.WRITE, IN_DOUBT, value, deep=True)


def delete(use: Use, value: Value) -> None:
    """A file that is removed."""
    _act(use, Act.DELETE, "is removed", value)


def wipe(use: Use, value: Value) -> None:
    """A file or device whose content is destroyed."""
    write(use, value)
    _act(use, Act.DELETE, "loses its content", value)


def move(use: Use, value: Value) -> None:
    """A file or folder that is read, and removed from its place."""
    tree(use, value)
    _act(use, Act.DELETE, "is moved away", value, deep=True)


def mode(use: Use, value: Value) -> None:
    """A file whose permissions, owner or attributes change."""
    _act(use, Act.CHANGE_MODE, "gets other permissions", value)


def link(use: Use, value: Value) -> None:
    """A file that gets another name."""
    _act(use, Act.LINK, "gets another name", value, deep=False)


def disk(use: Use, value: Value) -> None:
    """A device that is formatted, partitioned or wiped."""
    use.emit(Act.OVERWRITE_DISK, "is formatted, partitioned or wiped", value)


def into(use: Use, value: Value) -> None:
    """The folder that the sources, or files of other names, are put into."""
    use.tags.add("into")
    if use.command.operands.back:
        arrive(use, "dest", value, use.parsed.operands)
    else:
        use.emit(Act.WRITE, "files are put into it", value, recursive=True)


def lone_destination(use: Use, value: Value) -> None:
    """A destination whose sources aren't known."""
    arrive(use, "to", value, ())


_MOVES: Final = frozenset({"mv", "gmv"})


def arrive(use: Use, kind: str, place: Value, sources: Sequence[Value]) -> None:
    """Something is copied to a file, or into a folder of this name."""
    if kind == "to" and network.is_remote(place):
        network.sent_to(use, place)
        return
    names = [name for each in sources for name in _names(each)]
    sure = surely_folder(place) or len(sources) > 1 or "into" in use.tags
    # What is moved, or linked to, may be a folder with anything in it.
    recursive = "recursive" in use.tags or "symbolic" in use.tags or use.base in _MOVES
    if "removes" in use.tags and "dry" not in use.tags:
        use.emit(Act.DELETE, "loses what the source doesn't have", place, recursive=True)
    contents = "contents" in use.tags or any(_means_contents(use, each) for each in sources)
    if contents or not sure or not names:
        whole = contents or (recursive and not sure)
        use.emit(Act.WRITE, "is written", place, recursive=whole)
    for name in dict.fromkeys(names[:_MOST_SOURCES]):
        use.emit(
            Act.WRITE,
            "is written" if sure else IN_DOUBT,
            below(place, name),
            recursive=recursive and sure,
        )


def _means_contents(use: Use, source: Value) -> bool:
    """Whether what is in the folder is copied, not the folder (`cp -r x/. y`, `rsync x/ y`)."""
    ends = ("/.", "/") if use.base == "rsync" else ("/.",)
    return any(each.text in {".", "./"} or each.text.endswith(ends) for each in source.texts)


def _names(source: Value) -> tuple[str, ...]:
    if isinstance(source, Found):
        return ()
    return tuple(name.rpartition(":")[2] for name in last_names(source))


def set_user_id(use: Use, value: Value) -> None:
    """A mode: with a set-user-id or set-group-id bit it is a change of the system."""
    for each in value.texts:
        letters = any(_LETTERS_WITH_ID.match(clause) for clause in each.text.split(","))
        if letters or _OCTAL_WITH_ID.fullmatch(each.text):
            use.emit(Act.SYSTEM, "lets a file run with its owner's rights")
