"""Little languages in a command's words, by their names in the table."""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Final

from supervisor.policy.bash import databases, editors
from supervisor.policy.bash.awk import awk
from supervisor.policy.bash.carried import likely
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.literals import literals
from supervisor.policy.bash.makefile import makefile
from supervisor.policy.bash.places import looks_like_path
from supervisor.policy.bash.roles_of_code import secret_name
from supervisor.policy.bash.sed import sed
from supervisor.policy.bash.tcl import expect, tcl
from supervisor.policy.bash.transfers import ftp
from supervisor.policy.bash.use import IN_DOUBT, Use
from supervisor.policy.bash.value import HOLE, Text, Value, known


def jq(use: Use, code: str) -> None:
    """Filters of jq: `env` and `$ENV` show the environment."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', code)
    if re.search(r"(?<![.\w$])env\b(?!\s*:)|\$ENV\b(?!\.)", bare):
        use.emit(Act.REVEAL, "prints the environment, which may hold secrets")
    for found in re.finditer(r"(?:\$ENV|\benv)\.(\w+)", bare):
        if secret_name(found[1]):
            use.emit(Act.REVEAL, "prints the environment, which may hold secrets")
    for found in re.finditer(r'\b(?:import|include)\s+"([^"]*)"', code):
        use.emit(Act.READ, IN_DOUBT, known(found[1]))


def yq(use: Use, code: str) -> None:
    """Filters of yq: `env(NAME)`, `load("FILE")`."""
    jq(use, re.sub(r"\benv\(\w+\)", "", code))
    if len(use.parsed.operands) == 1 and re.fullmatch(r"[\w./-]*\.?[\w/-]+", code):
        use.emit(Act.READ, IN_DOUBT, known(code))
    for found in re.finditer(r"\b\w*load\w*\(\s*\"([^\"]*)\"", code):
        use.emit(Act.READ, "is read by a filter", known(found[1]))


def tmux(use: Use, code: str) -> None:
    """Orders of tmux, as its own command line has them."""
    use.script(known(f"tmux {code}"), stdin=False)


_POSIX_FILE: Final = re.compile(r"\bPOSIX\s+file\s+\"((?:[^\"\\\\]|\\\\.)*)\"", re.IGNORECASE)


def applescript(use: Use, code: str) -> None:
    """AppleScript: `do shell script`, and orders to other programs."""
    for found in re.finditer(
        r"(?:do(?:\s+shell)?\s+script|write\s+text)\s+\"((?:[^\"\\]|\\.)*)\"", code
    ):
        use.script(known(found[1].replace('\\"', '"').replace("\\\\", "\\")))
        if re.search(r"with\s+administrator\s+privileges", code):
            use.emit(Act.ESCALATE, "runs with another user's rights")
    for found in _POSIX_FILE.finditer(code):
        use.emit(Act.READ, "is read by code", known(found[1]))
        if re.search(r"\bwrite\b|set\s+eof", code):
            use.emit(Act.WRITE, "is written by code", known(found[1]))
    for found in re.finditer(r"\.(?:system|doShellScript)\(\s*[\"']([^\"']*)", code):
        use.script(known(found[1]))  # JavaScript for Automation
    if re.search(
        r"\btell\s|\bdo\s+shell\s+script\s+[^\"]|\brun\s+script\b|\bload\s+script\b", code
    ):
        use.unknown("gives orders to other programs")


_POWERSHELL_CONNECTS: Final = re.compile(r"\bTcpClient\b|\bTcpListener\b", re.IGNORECASE)
_POWERSHELL_RUNS: Final = re.compile(
    r"\biex\b|invoke-expression|diagnostics\.process|start-process|cmd\.exe|/sh\b", re.IGNORECASE
)


_TYPES: Final = re.compile(r"(^|[;|{\n]\s*)type(?=\s)", re.IGNORECASE)
_EMPTIED: Final = re.compile(
    r"(?:Get-ChildItem|gci|ls|dir)\s+(?:-\w+\s+)*([^\s|;-]\S*)[^|;\n]*\|\s*(?:Remove-Item|ri|rm|del)\b",
    re.IGNORECASE,
)
"""`Get-ChildItem FOLDER | Remove-Item`."""
_CALLED_BLOCK: Final = re.compile(r"[&.]\s*\{([^{}]*)\}")


def powershell(use: Use, code: str) -> None:
    """PowerShell: commands that also stand in the table, else unknown."""
    use.unknown("runs code that can't be read whole")
    use.script(Value((Text(code),)))
    plain = _TYPES.sub(r"\1cat ", _CALLED_BLOCK.sub(r"\1", code))
    if plain != code:
        likely(use, lambda: use.script(known(plain)))
    literals(use, code)
    for found in _EMPTIED.finditer(code):
        use.script(known(f"rm -rf {found[1]}"), stdin=False)
    if _POWERSHELL_CONNECTS.search(code) and _POWERSHELL_RUNS.search(code):
        use.emit(Act.REMOTE_SHELL, "runs what the network says")


def encoded(use: Use, code: str) -> None:
    """PowerShell's `-EncodedCommand`: base64 of UTF-16."""
    try:
        text = base64.b64decode(code, validate=True).decode("utf-16-le")
    except ValueError:
        use.unknown("runs code that can't be read whole")
    else:
        powershell(use, text)


def lines(use: Use, code: str) -> None:
    """A file of commands a line each, that can't be told here."""
    if HOLE not in code and code.strip():
        use.unknown("gives orders that aren't known here")
    literals(use, code)
    for found in _ORDERS.finditer(code):
        if found[2] is None:
            use.script(known(found[1] or found[3] or found[4] or found[5]))
        else:
            use.emit(Act.READ, IN_DOUBT, known(found[2]))


_ORDERS: Final = re.compile(
    r"(?:^|[;\n])\s*:?!\s*([^\n;]+)|(?:^|[;\n])\s*(?:type|load|source|run|cat|include)\s+([\w./~-]+)"
    r"|[\"'][<|]\s*([^\"'\n]+)[\"']|\bqq?x\s*[{(\[/|]([^})\]/|\n]+)"
    r"|\b(?:run|shell)\s*<\s*([^<>\n]+)>",
)
"""Lines that aren't calls: `!COMMAND`, `type FILE`; gnuplot's `"< COMMAND"` and `"| COMMAND"`,
Raku's `qx{…}` and `run <…>`."""


_NIX_PATH: Final = re.compile(r"(?<![\w./~-])(?:\.{0,2}/|~/)[\w./+-]*[\w+-]")


def nix(use: Use, code: str) -> None:
    """Expressions of Nix: a path in one is a file, whatever is done with it."""
    literals(use, code)
    for found in _NIX_PATH.finditer(code):
        use.emit(Act.READ, IN_DOUBT, known(found[0]))
    use.unknown("runs code that can't be read whole")


_DC_TEXT: Final = re.compile(r"#[^\n]*|\[[^\[\]]*\](?!\s*(?:x|s\w[^\n]{0,80}l\wx))")
"""Comments, and texts that aren't run."""


def dc(use: Use, code: str) -> None:
    """Programs of dc: `!` runs the rest of its line, but `!<`, `!>` and `!=` compare."""
    for found in re.finditer(r"!(?![<>=])\s*([^\n\]]+)", _DC_TEXT.sub("", code)):
        use.script(known(found[1]))


def curlrc(use: Use, code: str) -> None:
    """A file of options for curl, one a line."""
    for line in code.splitlines()[:_MOST_LINES]:
        found = re.match(r"\s*-*([\w-]+)\s*[=:\s]\s*\"?([^\"\n]*)\"?\s*$", line)
        if found:
            use.start([use.argv[0], known(f"--{found[1]}"), known(found[2])], stdin=False)


_MOST_LINES: Final = 64


def cmake(use: Use, code: str) -> None:
    """A script of CMake: files that it reads and writes, programs that it starts."""
    for found in re.finditer(r"\bfile\s*\(\s*(\w+)\s+([^)]*)\)", code, re.IGNORECASE):
        names = [each.strip('"') for each in found[2].split()]
        reads = found[1].upper() in {"READ", "STRINGS", "SHA256", "MD5", "SHA1", "COPY"}
        if found[1].upper() in {"REMOVE", "REMOVE_RECURSE"}:
            for name in names:
                deep = found[1].upper() == "REMOVE_RECURSE"
                use.emit(Act.DELETE, "is removed by a script", known(name), recursive=deep)
            continue
        for name in names[:1]:
            use.emit(Act.READ if reads else Act.WRITE, "is used by a script", known(name))
        if found[1].upper() in {"RENAME", "COPY", "COPY_FILE", "CREATE_LINK", "INSTALL"}:
            use.emit(Act.WRITE, "is written by a script", known(names[-1] if names else HOLE))
    for found in re.finditer(r"\b(?:include|configure_file)\s*\(\s*\"?([^\s\")]+)", code):
        use.emit(Act.READ, "is read by a script", known(found[1]))
    for found in re.finditer(r"\bCOMMAND\s+([^)]+)", code):
        for line in re.split(r"\bCOMMAND\b", found[1]):
            use.script(known(" ".join(line.split())))


_TEX_FILES: Final = re.compile(
    r"\\(?:input|include|verbatiminput|lstinputlisting|InputIfFileExists|openin\S*?=|openout\S*?="
    r"|CatchFileDef\w*|VerbatimInput|import|subfile)\*?(?:\[[^\]]*\])?\s*\{?([^{}\s\\]+)"
)
_TEX_RUNS: Final = re.compile(r"write18\s*\{([^{}]*)\}|\\input\s*\{?\|\"?([^\"{}]*)")
_TEX_LUA: Final = re.compile(r"\\(?:directlua|luaexec)\s*\{([^{}]*)\}")


def latex(use: Use, code: str) -> None:
    """TeX in a word: files that it takes in, and programs that it starts; else a file's name."""
    if "\\" not in code:
        if looks_like_path(code):
            use.emit(Act.READ, IN_DOUBT, known(code))
        return
    for found in _TEX_FILES.finditer(code):
        use.emit(Act.READ, "is taken in by TeX", known(found[1]))
    for found in _TEX_RUNS.finditer(code):
        use.script(known(found[1] or found[2] or ""))
    for found in _TEX_LUA.finditer(code):
        from supervisor.policy.bash.other_code import other_code  # noqa: PLC0415 - code knows us

        other_code(use, "lua", found[1])


_PS_FILES: Final = re.compile(
    r"\(([^()%\n]+)\)\s*(?:\(([rwa])\S*\)\s*file|(run|runlibfile|deletefile|status)\b)"
)


def postscript(use: Use, code: str) -> None:
    """PostScript: files that it names, and programs behind `%pipe%`; else a file's own name."""
    for found in re.finditer(r"%pipe%\s*([^()\n]+)", code):
        use.script(known(found[1]))
    for found in _PS_FILES.finditer(code):
        writes = found[2] in {"w", "a"} or found[3] == "deletefile"
        act = Act.WRITE if writes else Act.READ
        use.emit(act, "is used by PostScript", known(found[1]))
    if "(" not in code and "%" not in code and looks_like_path(code):
        use.emit(Act.WRITE, "is written", known(code))


LITTLE: Final[Mapping[str, Callable[[Use, str], None]]] = {
    "applescript": applescript,
    "awk": awk,
    "cmake": cmake,
    "curlrc": curlrc,
    "dc": dc,
    "ed": editors.ed,
    "encoded": encoded,
    "expect": expect,
    "ftp": ftp,
    "gdb": editors.gdb,
    "jq": jq,
    "latex": latex,
    "less": editors.less,
    "lines": lines,
    "make": makefile,
    "mongo": databases.mongo,
    "mysql": databases.mysql,
    "nix": nix,
    "tmux": tmux,
    "powershell": powershell,
    "postscript": postscript,
    "psql": databases.psql,
    "sed": sed,
    "sql": databases.sql,
    "sqlite": databases.sqlite,
    "tcl": tcl,
    "vim": editors.vim,
    "yq": yq,
}
