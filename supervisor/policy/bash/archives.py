"""`tar`: what is put in and from where, what comes out and to where."""

from supervisor.policy.bash import network
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.options import Parsed
from supervisor.policy.bash.places import join
from supervisor.policy.bash.roles import listed_in, option_values, play_as
from supervisor.policy.bash.table import Option
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import UNKNOWN, Value, known

_LATER = frozenset({"cd", "text"})


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
            for place in folders[:-1]:
                play_as(use, "tree", join(join(start, place), each))
    elif "list" not in use.tags and _has_mode(use.parsed):
        use.implied = not folders
        use.emit(Act.WRITE, "files are unpacked into it", known("."), recursive=True)
        use.implied = False


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
        play_as(use, "items", value)
        if "create" in use.tags and listed_in(use, value) is None:
            play_as(use, "tree", UNKNOWN)
    elif kind not in _LATER:
        play_as(use, kind, value)
