"""Tcl, and what `expect` adds to it."""

import re
from typing import Final

from supervisor.policy.bash.carried import likely
from supervisor.policy.bash.databases import takes_orders
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import known

_SHELL: Final = re.compile(r"\bspawn\s+(?:-\w+\s+)*(?:\S*/)?(?:ba|da|z|k|a)?sh\b")
_SETS: Final = re.compile(r"\bset\s+(\w+)\s+(?:[{\"]([^{}\"$\[]*)[}\"]|([^\s;{}\[\]\"$]+))")
_NAMES: Final = re.compile(r"\$\{?(\w+)\}?")
_SOCKET: Final = re.compile(r"\bsocket\s+(?:-\w+\s+)*([\w.:-]+)")
_PLAIN: Final = re.compile(
    r"^\s*(puts|set|expr|exec|open|file|glob|cd|pwd|source|if|while|for|foreach|string|list|lindex|incr|format|append|return|exit|read|gets|close|proc|info)\b|^\s*$"
)
_BRACED: Final = re.compile(r"\{([^{}\"]*)\}")
_LOOPS: Final = re.compile(r"\bforeach\s+(\w+)\s+(?:\{|\[list\s)([^{}\[\]]*)[}\]]")
_MOST_ROUNDS: Final = 8


def expect(use: Use, code: str) -> None:
    """Tcl of expect: what it spawns and runs; the dialogue itself can't be told."""
    for found in re.finditer(r"\b(?:spawn|exec|system)\s+(?:-\w+\s+)*([^\n;\]]+)", code):
        words = found[1].replace("{", " ").replace("}", " ").strip()
        whole = words[:1] == words[-1:] == '"' and words.count('"') == 2  # noqa: PLR2004 - a pair
        use.script(known(words.strip('"') if whole else words))
    if _SHELL.search(code):
        for found in re.finditer(r"\bsend\s+(?:-\w+\s+)*(?:--\s+)?[{\"]([^\"}]*)[}\"]", code):
            use.script(known(re.sub(r"\\[rn]|\r", "\n", found[1])), stdin=False)
    for found in re.finditer(r"\bopen\s+[{\"]?([^\s\"}\]]+)", code):
        use.emit(Act.READ, "is read by code", known(found[1]))
    if re.search(r"\b(send|interact|eval|source|uplevel)\b|\$", code):
        use.unknown("runs code that can't be read whole")


def tcl(use: Use, code: str) -> None:
    """Tcl: `exec`, `open`, `file delete`, `glob`, `source`."""
    names = {name: braced or plain for name, braced, plain in _SETS.findall(code)}
    code = _NAMES.sub(lambda found: names.get(found[1], found[0]), code)
    code = code.replace("{*}", "")
    _rounds(use, code)
    flat = code.replace("{", " ").replace("}", " ").replace('"', " ")
    _started(use, code, flat)
    for found in re.finditer(r"\bopen\s+(\|?[^\s\]]+)(?:\s+([\w+]+))?", flat):
        if found[1].startswith("|"):
            use.script(known(flat[found.start(1) + 1 :].partition("]")[0]))
        else:
            _open(use, found[1], found[2] or "r")
    for found in re.finditer(r"\bfile\s+(delete|rename|copy)\s+((?:-\w+\s+)*)([^\]\n;]+)", flat):
        _file(use, found[1], found[3].split(), deep="force" in found[2])
    for found in re.finditer(r"\bsource\s+(\S+)", flat):
        takes_orders(use, found[1].rstrip("]"))
    connection = _SOCKET.search(flat)
    if connection is not None:
        use.send(known(connection[1]))
        if re.search(r"\bexec\s", flat):
            use.emit(Act.REMOTE_SHELL, "ties a program to the network")
    if re.search(r"\$env\b|\benv\(|\barray\s+get\s+env", flat):
        use.emit(Act.REVEAL, "prints the environment, which may hold secrets")
    lines_of_it = re.split(r"[;\n]", re.sub(r"\[.*?\]", "x", flat))
    if not all(_PLAIN.match(each) for each in lines_of_it):
        use.unknown("runs code that can't be read whole")


def _rounds(use: Use, code: str) -> None:
    """`foreach NAME {A B} …`: the code with each of the values, without the loop."""
    for name, values in _LOOPS.findall(code)[:_MOST_ROUNDS]:
        for value in values.split()[:_MOST_ROUNDS]:
            one = re.sub(rf"\$\{{?{name}\b\}}?", lambda _, value=value: value, code)  # type: ignore[misc]
            tcl(use, _LOOPS.sub("while 1 ", one))


def _started(use: Use, code: str, flat: str) -> None:
    """`exec WORD…`; the words may stand in quotes or braces, or all of it may."""
    for found in re.finditer(r"\bexec\s+(?:\[list\s+)?([^\]\n;]+)", flat):
        use.script(known(found[1]))
        whole = _BRACED.sub(r'"\1"', code[found.start(1) : found.end(1)])
        if '"' in whole:
            likely(use, lambda whole=whole: use.script(known(whole)))  # type: ignore[misc]


def _open(use: Use, name: str, mode: str) -> None:
    if "r" in mode or "+" in mode:
        use.emit(Act.READ, "is read by code", known(name))
    if set("wa+") & set(mode):
        use.emit(Act.WRITE, "is written by code", known(name))


def _file(use: Use, verb: str, names: list[str], *, deep: bool) -> None:
    for name in names:
        act = Act.DELETE if verb == "delete" else Act.READ
        use.emit(act, f"file {verb}", known(name), recursive=deep)
    if verb != "delete" and names:
        use.emit(Act.WRITE, "is written by code", known(names[-1]))
