"""Archives: what is put in and from where, what comes out and to where."""

from collections.abc import Sequence
from typing import Final

from supervisor.policy.bash import network
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.listed import listed_in
from supervisor.policy.bash.options import Parsed
from supervisor.policy.bash.places import join
from supervisor.policy.bash.roles import option_values, play_as
from supervisor.policy.bash.table import Option
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import Value, known

_LATER: Final = frozenset({"cd", "text"})
_OUT: Final = frozenset("xeX")
_IN: Final = frozenset("cuarqmf")


def tar(use: Use) -> None:
    """An archive is made, listed or unpacked; its name counts before `-C` does."""
    for option, value in use.parsed.values:
        _option(use, option, value)
    start = use.cwd
    folders = option_values(use, "cd")
    for folder in folders:
        play_as(use, "cd", folder)
    if "create" in use.tags:
        for each in use.parsed.operands:
            play_as(use, "tree", each)
            if "removes" in use.tags:
                use.emit(Act.DELETE, "is removed once it is packed", each, recursive=True)
            for place in folders[:-1]:
                play_as(use, "tree", join(join(start, place), each))
    elif "list" not in use.tags and _has_mode(use.parsed):
        _taken_out(use, [join(start, place) for place in folders[:-1]])
        if not use.parsed.operands:
            use.implied = not folders
            use.emit(Act.WRITE, "files are unpacked into it", known("."), recursive=True)
            use.implied = False


def _taken_out(use: Use, places: Sequence[Value]) -> None:
    """The members that are named: written below the last `-C`, or each below its own, or shown."""
    for each in use.parsed.operands:
        if "prints" in use.tags:
            play_as(use, "read", each)
            continue
        use.emit(Act.WRITE, "is unpacked", each, recursive=True)
        for place in places:
            play_as(use, "fill", join(place, each))


def _has_mode(parsed: Parsed) -> bool:
    return "extract" in parsed.tags


def _option(use: Use, option: Option, value: Value) -> None:
    kind = option.role.kind if option.role else ""
    if "file" in option.tags:
        if network.is_remote(value):
            network.sent_to(use, value)
        elif "append" in use.tags:
            play_as(use, "edit", value)
        else:
            play_as(use, "write" if "create" in use.tags else "read", value)
    elif "checkpoint" in option.tags:
        text = value.texts[0].text
        if text.startswith("exec="):
            use.script(Value(known(text[5:]).texts, value.from_data))
    elif kind == "items":
        if "create" in use.tags:
            play_as(use, "items", value)
        else:
            play_as(use, "read", value)
            for each in listed_in(use, value) or () if "extract" in use.tags else ():
                play_as(use, "fill", each)
    elif kind not in _LATER:
        play_as(use, kind, value)


def letters(use: Use) -> None:
    """`ar x FILE`, `rar x FILE FOLDER/`, `jar cf FILE …`: the first word says what is done."""
    for option, value in use.parsed.values:
        if option.role is not None:
            play_as(use, option.role.kind, value)
    words, members = _words(use)
    verb = (words[0].only or "").lstrip("-") if words else ""
    words = words[1:]
    if not verb or not words:
        return
    if verb[0] in _OUT:
        play_as(use, "read", words[0])
        _letters_out(use, words[1:])
    elif verb[0] in _IN:
        play_as(use, "edit", words[0])
        for each in (*words[1:], *members):
            play_as(use, "member", each)
    else:
        for each in words if verb[0] == "p" else words[:1]:
            play_as(use, "read", each)


def _letters_out(use: Use, named: Sequence[Value]) -> None:
    """What is unpacked: all, or the members that are named, below a folder or here."""
    folders = [each for each in named if (each.only or "").endswith("/")]
    if "into" not in use.tags:
        place = folders[-1] if folders and use.base in {"rar", "unrar"} else known(".")
        use.implied = not folders
        use.emit(Act.WRITE, "files are unpacked into it", place, recursive=True)
        use.implied = False
    places = [*option_values(use, "into"), *folders] or [known(".")]
    for each in named:
        if use.base == "jar":
            use.emit(Act.WRITE, "is unpacked", each)
            continue
        for place in places:
            play_as(use, "fill", join(place, each))


def _words(use: Use) -> tuple[list[Value], list[Value]]:
    """The words but options, and what `-C FOLDER NAME` names below another folder."""
    words: list[Value] = []
    members: list[Value] = []
    argv = use.argv
    at = 1
    while at < len(argv):
        text = argv[at].only or ""
        if text == "-C" and at + 2 < len(argv):
            members.append(join(argv[at + 1], argv[at + 2]))
            at += 2
        elif text[:2] != "--" and (text[:1] != "-" or not words):
            words.append(argv[at])
        at += 1
    return words, members
