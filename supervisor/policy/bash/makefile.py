"""Makefiles that stand in the call: their recipes, and what they run while they are read."""

import re
from typing import Final

from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import HOLE, Text, Value, known

_RECIPE: Final = re.compile(r"^\t(.*)$|^[^\t#=\n]*?:[^=\n]*?;(.*)$", re.MULTILINE)
_DEFINED: Final = re.compile(r"^\s*(\w+)\s*[:?+]?=\s*(.*)$", re.MULTILINE)
_EVALUATED: Final = re.compile(r"\$[({]shell\s+([^)}]*)[)}]|^\w+\s*!=\s*(.*)$", re.MULTILINE)
_INCLUDED: Final = re.compile(r"^[ ]*(?:-|s)?include[ \t]+([^#\n]+)", re.MULTILINE)
_RECIPE_FILES: Final = re.compile(r"\$[({]file\s+<\s*([^)}]+)[)}]")
_REFERENCE: Final = re.compile(r"\$[({](\w+)[)}]")


def makefile(use: Use, text: str) -> None:
    """What a makefile runs; `NAME=VALUE` among make's words beats what it says itself."""
    text = text.replace("\\\n", " ")
    names: dict[str, str] = dict(_DEFINED.findall(text))
    for word in use.parsed.operands:
        name, equals, value = word.texts[0].text.partition("=")
        if equals:
            names[name.rstrip(":?+")] = value

    def filled(match: re.Match[str]) -> str:
        return names.get(match[1], HOLE)

    for found in _INCLUDED.finditer(text):
        for name in found[1].split():
            use.emit(Act.READ, "is read as a makefile", known(_REFERENCE.sub(filled, name)))
    for found in _RECIPE_FILES.finditer(text):
        use.emit(Act.READ, "is read as a makefile", known(found[1].strip()))
    for found in _EVALUATED.finditer(text):
        use.script(Value((Text(found[1] or found[2]),)), stdin=False)
    for found in _RECIPE.finditer(text):
        line = (found[1] if found[1] is not None else found[2]).lstrip("@-+ ")
        line = _REFERENCE.sub(filled, line.replace("$$", "\1")).replace("\1", "$")
        if line:
            use.script(Value((Text(line),)), stdin=False)
