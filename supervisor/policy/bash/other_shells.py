"""Texts of fish, csh and zsh put as bash would say them: only for what is likely to be meant."""

import re
from typing import Final

_LONGEST: Final = 4_000
_SET: Final = re.compile(
    r"(^|[;\n{]|\bdo|\bthen)(\s*)(?:set|setenv)\s+(?:-{1,2}[\w-]+\s+)*(\w+)(?:\s*=\s*|\s+)([^;\n]+)"
)
"""`set NAME WORDS` of fish, `set NAME=WORD` of csh."""
_EACH: Final = re.compile(r"\bforeach\s+(\w+)\s*\(([^()]*)\)")
_SUBSTITUTED: Final = re.compile(r"(?<=[\s\"=])\((?=[^()]*\))")
"""`(COMMAND)` of fish, where a word may stand."""
_WORD: Final = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|[\w./-]+|[;\n]|.", re.DOTALL)
_OPENS: Final = {"for": "do", "while": "do", "if": "then"}
_CLOSES: Final = {"do": "done", "then": "fi", "{": "}"}
_QUALIFIED: Final = re.compile(r"(?<=[\w*?\]/])\((?:[^()\s|;&<>]{1,24})\)(?=[\s;|&]|\Z)")
"""`*(D)` of zsh: which of the files that fit."""
_GROUP: Final = re.compile(r"(?<=\S)\((\w+)\)(?=[\s;|&]|\Z)")
"""`.e(nv)` of zsh: a group with one choice."""


def as_bash(text: str, shell: str) -> list[str]:
    """What this text may be in the language of bash, besides the text itself."""
    if len(text) > _LONGEST:
        return []
    if shell == "zsh":
        found = [_QUALIFIED.sub("", text), _GROUP.sub(r"\1", text)]
    elif shell in {"fish", "csh", "tcsh"}:
        said = _SUBSTITUTED.sub("$(", _EACH.sub(r"for \1 in \2", text))
        found = [_blocks(_SET.sub(r"\1\2\3=\4", said))]
    else:
        return []
    return [each for each in dict.fromkeys(found) if each != text]


def _blocks(text: str) -> str:
    """Loops and branches with the words around them that bash wants."""
    made: list[str] = []
    open_blocks: list[str] = []
    waits = ""
    first = True
    for each in _WORD.findall(text):
        if first and each in _OPENS:
            waits = _OPENS[each]
            made.append(each)
        elif first and each == "begin":
            open_blocks.append("{")
            made.append("{ ")
        elif first and each in {"end", "endif"} and open_blocks:
            made.append(f" :; {_CLOSES[open_blocks.pop()]}")
        elif waits and each in {";", "\n"}:
            open_blocks.append(waits)
            made.append(f"; {waits} ")
            waits = ""
        else:
            made.append(each)
        if not each.isspace() or each == "\n":
            first = each in {";", "\n", "begin", "else", "and", "or", "not"}
    return "".join(made)
