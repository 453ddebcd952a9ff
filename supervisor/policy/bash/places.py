"""Paths as texts: joined, named and parted without a look at the file system."""

import re
from dataclasses import replace
from typing import Final

from supervisor.policy.bash.value import HOLE, MOST_TEXTS, UNKNOWN, Text, Value
from supervisor.policy.record import record

_LONGEST_PATH: Final = 4_096
_MOST_NAMES: Final = 16
_LONGEST_ENDING: Final = 12
_NOT_IN_PATHS: Final = re.compile("[ \n\t\"'`;|<>(){}$]")


@record
class Found(Value):
    """The files that a search below `start` finds: `names` are globs of their names, all if empty.

    `whole` says that `start` itself is among them, with all below it.
    """

    start: Value = UNKNOWN
    names: tuple[str, ...] = ()
    whole: bool = False


def spread(value: Value) -> Value:
    """The value with what a search finds at its start, or right below it, as further texts."""
    if not isinstance(value, Found):
        return value
    texts = [Text(HOLE, many=True)]
    for folder in value.start.texts:
        if value.whole:
            texts.append(folder)
        elif not value.names:
            texts.append(_joined(folder, Text("*", "*")))
        for name in value.names[:_MOST_NAMES]:
            text = _joined(folder, Text(name))
            wild = any(sign in name for sign in "*?[")
            texts.append(Text(text.text, text.text) if wild else text)
    return replace(value, texts=tuple(texts[:MOST_TEXTS]))


def _joined(folder: Text, path: Text) -> Text:
    if path.text.startswith(("/", "~")):
        return path
    if path.text in {"", "."}:
        return folder
    glue = "" if folder.text.endswith("/") else "/"
    pattern = path.pattern
    if pattern is not None:
        pattern = f"{_literal(folder)}{glue}{pattern}"
    elif folder.pattern is not None:
        pattern = f"{folder.pattern}{glue}{escaped(path.text)}"
    return Text(f"{folder.text}{glue}{path.text}", pattern, path.many)


def escaped(text: str) -> str:
    """A text as a glob that fits just itself."""
    return "".join(f"\\{each}" if each in "*?[]\\{}!@+()" else each for each in text)


def _literal(text: Text) -> str:
    return text.pattern if text.pattern is not None else escaped(text.text)


def join(folder: Value, path: Value) -> Value:
    """The path as seen from the folder; each alternative with each, within bounds."""
    if len(path.texts) == 1 and path.texts[0].text.startswith("/"):
        return path
    texts = tuple(_joined(left, right) for left in folder.texts for right in path.texts)
    if len(texts) > MOST_TEXTS:
        return Value((Text(HOLE),), from_data=folder.from_data or path.from_data)
    return Value(texts, folder.from_data or path.from_data)


def below(folder: Value, name: str) -> Value:
    """`folder/name`, spelt relative to where the folder is."""
    texts = []
    for each in folder.texts:
        glue = "" if each.text.endswith("/") else "/"
        pattern = each.pattern
        if pattern is not None:
            pattern = f"{pattern}{glue}{escaped(name)}"
        texts.append(Text(f"{each.text}{glue}{name}", pattern))
    return Value(tuple(texts), folder.from_data)


def last_names(path: Value) -> tuple[str, ...]:
    """The names at the end of a path that is known, without `.` and `..`."""
    found = []
    for each in path.texts:
        name = each.text.rstrip("/").rpartition("/")[2]
        if name not in {"", ".", ".."} and HOLE not in name and each.pattern is None:
            found.append(name)
    return tuple(dict.fromkeys(found))


def surely_folder(path: Value) -> bool:
    """Whether the spelling says that it is a folder."""
    return all(each.text.endswith(("/", "/.", "/..")) or each.text in {".", "..", "~"}
               for each in path.texts)  # fmt: skip


def looks_like_path(text: str) -> bool:
    """Whether a word of an unknown program is more likely a path than plain text."""
    if len(text) > _LONGEST_PATH or not text or _NOT_IN_PATHS.search(text) is not None:
        return False
    if "://" in text:
        return text.startswith("file://")
    if text.startswith(("/", "./", "../", "~")):
        return True
    if text[0] == "." and len(text) > 1 and text[1] not in "./":
        return True
    if "/" in text:
        return not text.startswith("-") and "," not in text
    stem, dot, ending = text.rpartition(".")
    return text.startswith("id_") or bool(  # as keys of ssh are called
        dot
        and stem
        and 1 <= len(ending) <= _LONGEST_ENDING
        and ending[0].isalpha()
        and ending.isalnum()
    )


def flat(text: str) -> str:
    """An absolute path without `.`, `..` and doubled slashes."""
    parts: list[str] = []
    for each in text.split("/"):
        if each == "..":
            del parts[-1:]
        elif each not in {"", "."}:
            parts.append(each)
    return "/" + "/".join(parts)
