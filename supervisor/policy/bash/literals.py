"""Texts in code that can't be read: those that are just a path, and those that a shell may run."""

import re
import shlex
from collections.abc import Iterable
from typing import Final

from supervisor.policy.bash.carried import likely
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.places import looks_like_path
from supervisor.policy.bash.use import IN_DOUBT, Use
from supervisor.policy.bash.value import HOLE, Text, Value, known

_TEXT: Final = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`")
_RUNS: Final = re.compile(
    r"exec|system|shell|spawn|popen|process|command|gorge|\bcmd\b|\bsh\b|\brun\b|qx|`|Bun\.\$|start",
    re.IGNORECASE,
)
"""What code says that runs programs, whatever the language."""
_WRITES: Final = re.compile(
    r"writ|save|spit|dump|append|creat|put|copy|move|renam|delet|remov|unlink|truncat",
    re.IGNORECASE,
)
"""What code says that changes files."""
_JOINED: Final = re.compile(r"([\"'])\s*(?:\+\+?|\.\.?|<>|~|&|\|\||\^)\s*\1")
"""Two texts that are put together, in most languages."""
_PRINTED: Final = re.compile(
    r"(?:print\w*|puts|echo|say|disp\w*|message|write(?:ln|line)|putstr\w*|format|log|inspect)"
    r"\s*\(?\s*$",
    re.IGNORECASE,
)
_USED: Final = re.compile(r"\s*\.\s*(?:execute|IO|slurp|toFile|text)\b")
"""What is done with a text that stands behind `print`."""
_STARTED: Final = re.compile(
    r"(?:call-process|start-process|process-file|run-program|system\*|\bCommand|System\.cmd"
    r"|open_port|(?=\[[^\[\]\n]*\]\s*\.\s*execute\b)|\bexec\w*|\bspawn\w*|\bProcess\b[\w.]*|\bproc\w*|\brun|/sh\b)\W*?((?:[^;\n]{0,24}?"
    r"(?:\"[^\"\n]*\"|'[^'\n]*')){2,8})",
    re.IGNORECASE,
)
"""A program that is started with its words as texts one by one."""
_CLEARS: Final = re.compile(
    r"rm_rf|rm_r\b|rmtree|remove_?tree|del_dir_r|delete-directory|delete_?dir(?:ectory)?\b|delete_?recurs"
    r"|remove_?(?:dir|path|all|recurs|directoryrecurs)\w*|rmdir|delete-(?:file-)?tree|\brm\s+-\w*[rR]"
    r"|\.walkBottomUp|\bdelTree|rimraf|confirm_recursive|dired-delete|removeItem"
    r"|Directory\]::Delete",
    re.IGNORECASE,
)
"""What code says that removes a folder with all below it, whatever the language."""
_CONNECTS: Final = re.compile(
    r"gen_tcp|tcp-?(?:stream|client|connect)|socket-connect|open-network-stream|make-network-process"
    r"|\bSocket\b|connectTo|net\.Dial|gen_udp",
    re.IGNORECASE,
)
"""What code says that opens a connection, whatever the language."""
A_SHELL: Final = r"(?:/\S*/)?(?:ba|da|z|k|a)?sh"
"""A shell's name, in a folder or not, as a pattern."""
_SHELL: Final = re.compile(rf"{A_SHELL}(?: -\w+)?")
_AROUND: Final = 64
"""Characters between such a word and the folder's name."""
_ADDRESS: Final = re.compile(r"https?://[^\s\"'<>]{1,200}")
_NEAR: Final = 24
_MOST: Final = 64
_LONGEST: Final = 512


def literals(use: Use, code: str) -> None:
    """The texts that stand in code of which nothing else is known, but those that are printed."""
    code = _JOINED.sub("", code)
    found = [
        each
        for each in _TEXT.finditer(code)
        if each[3] is not None
        or not _PRINTED.search(code[max(each.start() - _NEAR, 0) : each.start()])
        or _USED.match(code, each.end())
    ]
    doubtful(use, (next(filter(None, each.groups()), "") for each in found), code)
    for each in found[:_MOST]:
        text = next(filter(None, each.groups()), "")
        if _ADDRESS.fullmatch(text):
            use.send(known(text), "may reach an address")
    if found and _CLEARS.search(code):
        for each in found[:_MOST]:
            text = next(filter(None, each.groups()), "")
            near = code[max(each.start() - _AROUND, 0) : each.end() + _AROUND]
            if looks_like_path(text) and _CLEARS.search(near):
                magic = any(sign in text for sign in "*?[")
                value = Value((Text(text, text),)) if magic else known(text)
                use.emit(Act.DELETE, "may be removed by code", value, recursive=True)
    if _CONNECTS.search(code) and any(
        _SHELL.fullmatch(text) for each in found for text in each.groups() if text
    ):
        use.emit(Act.REMOTE_SHELL, "ties a shell to the network")
    for each in _STARTED.finditer(code):
        words = [next(filter(None, one), "") for one in _TEXT.findall(each[1])]
        if words:
            line = shlex.join(words)
            likely(use, lambda line=line: use.script(known(line), stdin=False))  # type: ignore[misc]


def doubtful(use: Use, texts: Iterable[str], code: str) -> None:
    """What texts may be meant as: files that are read, and orders, where the code runs some."""
    runs: bool | None = None
    writes: bool | None = None
    for text in list(dict.fromkeys(texts))[:_MOST]:
        if not text or len(text) > _LONGEST or HOLE in text:
            continue
        if looks_like_path(text):
            magic = any(sign in text for sign in "*?[")
            value = Value((Text(text, text),)) if magic else known(text)
            use.emit(Act.READ, IN_DOUBT, value)
            if writes is None:
                writes = _WRITES.search(code) is not None
            if writes:
                use.emit(Act.WRITE, IN_DOUBT, known(text))
        elif " " in text.strip():
            if runs is None:
                runs = _RUNS.search(code) is not None
            if runs:
                _order(use, text)


def _order(use: Use, text: str) -> None:
    """A text that may be run: what would be dangerous, or reads what is denied, counts."""
    if use.look.table.find(text.split(maxsplit=1)[0]) is None:
        return
    likely(use, lambda: use.script(known(text), stdin=False))
