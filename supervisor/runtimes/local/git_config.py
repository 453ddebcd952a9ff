"""Which files a git configuration names that say, as it does, what git runs. Pure.

Its hooks may lie anywhere (`core.hooksPath`), and so may more of it (`include.path`), as in
git-config(1). In doubt more is named than git would take.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_HEADER: Final = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\\n]|\\.)*")?\s*\]')
_ENTRY: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*=[ \t]*(.*)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "b": "\b"}
_INCLUDES: Final = frozenset({"include", "includeif"})


class Named(NamedTuple):
    """A path as the configuration has it. `includes`: it is more of the configuration."""

    path: str
    includes: bool


def named_in(text: str) -> Iterator[Named]:
    """The hooks' folders, the working trees aside, and the further files, in their order."""
    section = ""
    text = text.removeprefix("\ufeff")
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        at = 0
        while (header := _HEADER.match(line, at)) is not None:  # there may be several on a line
            section, at = header[1].lower(), header.end()
        entry = _ENTRY.match(line, at)
        if entry is None:
            continue
        name, path = entry[1].lower(), _value(entry[2])
        if path and (section, name) == ("core", "hookspath"):
            yield Named(path, includes=False)
        elif path and name == "path" and section.partition(".")[0] in _INCLUDES:
            yield Named(path, includes=True)


def _value(told: str) -> str:
    """What a value stands for: without quotes, escapes, and a comment behind it."""
    made: list[str] = []
    quoted, at = False, 0
    kept = 0
    while at < len(told):
        char = told[at]
        if char == "\\":
            at += 1
            made.append(_ESCAPES.get(told[at : at + 1], told[at : at + 1]))
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            made.append(char)
        if quoted or not char.isspace():
            kept = len(made)
        at += 1
    return "".join(made[:kept])
