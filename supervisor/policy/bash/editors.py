"""Orders for editors, pagers and debuggers: what they run, read and write."""

import re
from typing import Final

from supervisor.policy.bash import network
from supervisor.policy.bash.databases import takes_orders
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import known

_EX_RUNS: Final = re.compile(
    r"^[\s:%\d,.$'<>]*(?:(?:r(?:ead)?\s*|w(?:rite)?\s+|exe(?:cute)?\s+[\"']|norm(?:al)?!?\s+:)?!|term(?:inal)?\s)\s*(.*)$",
    re.DOTALL,
)
_EX_FILES: Final = re.compile(
    r"^[\s:%\d,.$'<>]*(r(?:ead)?|e(?:dit)?|w(?:rite)?|sav(?:eas)?|so(?:urce)?|tabe(?:dit)?|sp(?:lit)?"
    r"|vs(?:plit)?|n(?:ext)?|wq|x|f(?:ile)?)!?\s+(?:>>\s*)?(\S.*)$"
)
_EX_CODE: Final = re.compile(
    r"^[\s:%\d,.$]*(?:(py(?:thon)?[3x]?|pyx)|(perl|rub(?:y)?|lua|tcl|mz(?:scheme)?))(?:do|file|f)?\s+(.*)$",
    re.DOTALL,
)
_EX_PLAIN: Final = re.compile(
    r"^[\s:%\d,.$'<>+-]*(?:q(?:a|uit)?!?|wqa?!?|x|w|wa|p|pr(?:int)?|nu(?:mber)?|\d*|se(?:t)?\s.*|n|N|j|d"
    r"|syn\w*\s.*|noh\w*|norm\w*!?\s[^:!]*|s(?:ubstitute)?/.*|g!?/[^/]*/[pd]|v/[^/]*/[pd]|/.*|\?.*|P|=|a|i|c|\.)\s*$"
)


def vim(use: Use, code: str) -> None:
    """Commands of vim, ex and ed: `!`, files, other languages; the rest is unknown."""
    for line in re.split(r"[|\n](?!\|)", code):
        line = _EX_MODIFIERS.sub("", line.removesuffix("^M"))  # noqa: PLW2901 - the same line without them
        if not line.strip():
            continue
        run, file, script = _EX_RUNS.match(line), _EX_FILES.match(line), _EX_CODE.match(line)
        called = _VIM_RUNS.search(line)
        _vim_files(use, line)
        if run:
            use.script(known(run[1].rstrip("\"'") if "exe" in line.partition("!")[0] else run[1]))
        elif called and called[1] is None:
            use.start([known(each) for each in _VIM_WORDS.findall(called[2])])
        elif called:
            use.script(known(called[1]))
        elif file:
            _ex_file(use, file[1], file[2].strip())
        elif script:
            from supervisor.policy.bash.code import run_code  # noqa: PLC0415 - code knows us

            language = "python" if script[1] else (script[2] or "")[:4].replace("rub", "ruby")
            run_code(use, language.replace("rubyy", "ruby"), known(script[3]))
        elif not _EX_PLAIN.match(line):
            use.unknown("gives an editor orders that aren't known here")


def _vim_files(use: Use, line: str) -> None:
    """What functions of vim read, write and remove."""
    for found in _VIM_READS.finditer(line):
        use.emit(Act.READ, "is read by an editor", known(found[1]))
    for found in _VIM_WRITES.finditer(line):
        use.emit(Act.WRITE, "is written by an editor", known(found[1]))
    for found in _VIM_DELETES.finditer(line):
        deep = "r" in (found[2] or "")
        use.emit(Act.DELETE, "is removed by an editor", known(found[1]), recursive=deep)


def _ex_file(use: Use, kind: str, name: str) -> None:
    if network.is_afar(known(name)):
        network.host(use, known(name))
    elif kind[:1] in {"w", "x"} or kind.startswith("sav"):
        if name not in {"/dev/stdout", "/dev/null", "/dev/tty"}:
            use.emit(Act.WRITE, "is written by an editor", known(name))
    elif kind.startswith("so"):
        takes_orders(use, name)
    elif name not in {"/dev/stdin", "/dev/null"}:
        use.emit(Act.READ, "is read by an editor", known(name))


def ed(use: Use, code: str) -> None:
    """Commands of `ed`, a line each."""
    vim(use, code.replace("|", " "))


def less(use: Use, code: str) -> None:
    """Commands of `less` behind `+`."""
    for found in re.finditer(r"[!#|]\s*(.*)", code):
        use.script(known(found[1]))
    for found in re.finditer(r":e\s*(\S+)|[sE]\s+(\S+)$", code):
        use.emit(Act.READ, "is read", known(found[1] or found[2]))


_EX_MODIFIERS: Final = re.compile(
    r"^[\s:]*(?:(?:sil(?:ent)?|verb(?:ose)?|uns(?:ilent)?|noa\w*|kee\w*|loc\w*|hid\w*|conf\w*|san\w*"
    r"|vert\w*|tab|bel\w*|abo\w*|bo\w*|to\w*)!?\s+(?=\S))+"
)
"""Words of vim in front of an order that don't change what it does."""
_VIM_DELETES: Final = re.compile(r"\bdelete\(\s*['\"]([^'\"]+)['\"](?:\s*,\s*['\"]([^'\"]*)['\"])?")
_VIM_READS: Final = re.compile(r"\b(?:readfile|readblob|filereadable)\(\s*['\"]([^'\"]+)")
_VIM_WRITES: Final = re.compile(r"\bwritefile\([^)]*,\s*['\"]([^'\"]+)['\"]")
_VIM_RUNS: Final = re.compile(
    r"\b(?:system|systemlist|job_?start|term_?start|termopen)\s*\(\s*(?:['\"]([^'\"]*)['\"]|\[([^\]]*)\])"
)
_VIM_WORDS: Final = re.compile(r"['\"]([^'\"]*)['\"]")
_PYTHON: Final = re.compile(r"\s*(?:python|py|pi|python-interactive|script)\s+(.*)", re.DOTALL)
_GDB_SOURCES: Final = re.compile(
    r"\s*(?:source(?:\s+-[sv])*|command\s+source|command\s+script\s+import|(?:exec-)?file|symbol-file)"
    r"\s+[\"']?([^\"'\n]+?)[\"']?\s*\Z"
)
_GDB_CALLS: Final = re.compile(r"\b(?:system|popen)\s*\(\s*\"((?:[^\"\\]|\\.)*)\"")
_GDB_RUNS: Final = re.compile(
    r"\s*(python|py|pi|python-interactive|script|guile|gu|source|call|print|p|run|r|start|compile"
    r"|eval|command|expr)\b"
)


def gdb(use: Use, code: str) -> None:
    """Commands of gdb and lldb."""
    found = re.match(r"\s*(?:!|shell\b|sh\b|pipe\b|\||platform\s+shell\b|make\b)\s*(.*)", code)
    if found:
        use.script(known(found[1]))
        return
    for called in _GDB_CALLS.finditer(code):
        use.script(known(called[1]), stdin=False)
    remote = re.match(
        r"\s*(?:target\s+(?:extended-)?remote|gdb-remote|platform\s+connect)\s+(\S+)", code
    )
    if remote and "/" not in remote[1].partition("://")[2]:
        use.send(known(remote[1]))
    python = _PYTHON.match(code)
    if python:
        from supervisor.policy.bash.code import run_code  # noqa: PLC0415 - code knows us

        run_code(use, "python", known(python[1]))
    sourced = _GDB_SOURCES.match(code)
    if sourced:
        use.emit(Act.READ, "is read for orders", known(sourced[1]))
    if _GDB_RUNS.match(code):
        use.unknown("gives a debugger orders that run code")
