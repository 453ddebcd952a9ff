"""Languages of database shells: what drops, what names files, what starts programs."""

import re
from typing import Final

from supervisor.policy.bash.carried import likely
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.use import IN_DOUBT, Use
from supervisor.policy.bash.value import known

_LOSES: Final = re.compile(
    r"\b(drop\s+(table|database|schema|view|index|user|role|keyspace|collection)|truncate\s+\w+"
    r"|delete\s+from|alter\s+table\s+\S+\s+drop)\b",
    re.IGNORECASE,
)
_STRINGS: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*")
_SQL_READS: Final = re.compile(
    r"(?:\b(?:pg_read_file|pg_read_binary_file|load_file|readfile|lo_import|read_text|read_csv"
    r"|read_csv_auto|read_json|read_parquet)\s*\(\s*|\b(?:infile|copy\s+\S+\s+from)\s+)'([^']*)'",
    re.IGNORECASE,
)
_SQL_FROM: Final = re.compile(
    r"\b(?:(?:from|join)\s+|\w*(?:read|load|file|scan|blob)\w*\s*\(\s*)'([^']+)'", re.IGNORECASE
)
"""A file as a table, as DuckDB takes it, or in a function that by its name reads one."""
_SQL_WRITES: Final = re.compile(
    r"\b(?:into\s+(?:outfile|dumpfile)|to)\s+'([^']*)'|\bwritefile\s*\(\s*'([^']*)'",
    re.IGNORECASE,
)
_SQL_PUTS: Final = re.compile(
    r"\b(?:export\s+database|copy\s.+\bto)"
    r"\s+(?:'([^']+)'|\"([^\"]+)\")",
    re.IGNORECASE,
)
"""A file or folder that is made, or a database that is opened to be written, by its name."""
_SQL_REACHES: Final = re.compile(
    r"\b(?:(?:from|join|to|attach|into)\s+|(?:read|scan|load)\w*\s*\(\s*\[?\s*)"
    r"'((?:https?|s3|gc?s|r2|az|hf|ftp)://[^']+)'",
    re.IGNORECASE,
)
"""An address as a table, as DuckDB takes it."""
_SQL_RUNS: Final = re.compile(
    r"\b(?:from|to)\s+program\s+'([^']*)'|\bedit\s*\([^,]*,\s*'([^']*)'", re.IGNORECASE
)


def sql(use: Use, code: str) -> None:
    """SQL: what drops, what names files, what starts programs."""
    if _LOSES.search(_STRINGS.sub("''", code)):
        use.emit(Act.LOSE, "removes data from a database")
    for found in _SQL_READS.finditer(code):
        use.emit(Act.READ, "is read by SQL", known(found[1]))
    for found in _SQL_FROM.finditer(code):
        use.emit(Act.READ, IN_DOUBT, known(found[1]))
    for found in _SQL_REACHES.finditer(code):
        use.send(known(found[1]), "may reach an address")
    for found in _SQL_WRITES.finditer(code):
        use.emit(Act.WRITE, "is written by SQL", known(found[1] or found[2] or ""))
    for found in _SQL_PUTS.finditer(code):
        use.emit(Act.WRITE, IN_DOUBT, known(found[1] or found[2]), recursive=True)
    for found in _SQL_RUNS.finditer(code):
        use.script(known(found[1] or found[2] or ""))
    if re.search(
        r"\bxp_cmdshell\b|\bload_extension\s*\(|\bcreate\s+(extension|function)\b"
        r"|(?:^|;)\s*(?:force\s+)?(?:install|load)\s+(?!data\b|xml\b)['\"\w]",
        code,
        re.IGNORECASE,
    ):
        use.unknown("makes a database run code")


_IN_BACKTICKS: Final = re.compile(r"\\\w+[^\n`]*`([^`\n]+)`")
"""An argument of a backslash command that a shell prints."""


def psql(use: Use, code: str) -> None:
    """SQL with backslash commands."""
    sql(use, code)
    for found in _IN_BACKTICKS.finditer(code):
        use.script(known(found[1]))
    for found in re.finditer(r"\\!\s*([^\n]*)|\\(\w+)\s*([^\n]*)", code):
        if found[1] is not None:
            use.script(known(found[1] or "sh"))
            continue
        kind, rest = found[2], found[3].strip()
        word = rest.split()[0].strip("'") if rest else ""
        if kind in {"i", "ir", "include"} and word:
            takes_orders(use, word)
        elif kind == "setenv":
            use.unknown("sets a variable that may name a program")
        elif kind == "lo_import" and word:
            use.emit(Act.READ, "is copied", known(word))
        elif kind == "lo_export" and word:
            use.emit(Act.WRITE, "is copied", known(rest.split()[-1].strip("'")))
        elif kind in {"o", "out", "s", "w", "write", "g", "gx"} and word:
            _put(use, rest)
        elif kind == "copy":
            _copy(use, rest)


def _copy(use: Use, rest: str) -> None:
    """`copy TABLE from FILE`, `copy TABLE to program "…"`."""
    copied = re.search(r"\b(from|to)\s+(program\s+)?'?([^\s']+)'?", rest, re.IGNORECASE)
    if copied and copied[2]:
        use.script(known(rest[copied.start(3) - 1 :].strip("' ")))
    elif copied and copied[3].lower() not in {"stdin", "stdout"}:
        act = Act.READ if copied[1].lower() == "from" else Act.WRITE
        use.emit(act, "is copied", known(copied[3]))


def mysql(use: Use, code: str) -> None:
    r"""SQL with `\!`, `system`, `source`."""
    sql(use, code)
    for found in re.finditer(r"(?:\\!|^\s*system\s|;\s*system\s)\s*([^\n]*)", code, re.MULTILINE):
        use.script(known(found[1]))
    for found in re.finditer(r"(?:\\P|^\s*pager\s)\s*([^\n]+)", code, re.MULTILINE):
        use.script(known(found[1]))
    for found in re.finditer(r"(?:\\\.|^\s*source\s)\s*([^\n;]+)", code, re.MULTILINE):
        takes_orders(use, found[1].strip())
    for found in re.finditer(r"(?:\\T|^\s*tee\s)\s*([^\n;]+)", code, re.MULTILINE):
        use.emit(Act.WRITE, "is written", known(found[1].strip()))


def takes_orders(use: Use, path: str) -> None:
    """A file of commands that is run and not read here."""
    use.emit(Act.READ, "is read as commands", known(path))
    use.unknown("takes orders from a file that isn't read here")


def _put(use: Use, target: str) -> None:
    if target.startswith("|"):
        use.script(known(target[1:]))
    else:
        use.emit(Act.WRITE, "is written", known(target.split(maxsplit=1)[0].strip("'\"")))


_DOTS_PUT: Final = frozenset({"output", "once", "save", "backup", "log", "clone", "excel", "trace"})
_EXTRACTS: Final = re.compile(r"(?:^|\s)(?:-\w*x|x\w*\b|--extract)")
_DOTTED: Final = re.compile(r"^\s*\.(\w+)\s*(.*)$", re.MULTILINE)


_SQLITE_OPENS: Final = re.compile(
    r"\b(vacuum\b[^;]*?\binto|attach(?:\s+database)?)\s+(?:'([^']+)'|\"([^\"]+)\")", re.IGNORECASE
)


def _databases_opened(use: Use, code: str) -> None:
    for found in _SQLITE_OPENS.finditer(code):
        name = known(found[2] or found[3])
        if found[1][0] in "aA":
            use.emit(Act.READ, "is read", name)
        use.emit(Act.WRITE, "is written", name)


def sqlite(use: Use, code: str) -> None:
    """SQL and the dot-commands of `sqlite3`."""
    sql(use, code)
    _databases_opened(use, code)
    for found in _DOTTED.finditer(code):
        kind, rest = found[1], found[2].strip()
        words = [each.strip("'\"") for each in rest.split() if not each.startswith("-")]
        if kind in {"shell", "system", "sh", "sys"}:
            use.script(known(rest))
        elif kind == "read" and words:
            if rest.startswith("|"):
                use.script(known(rest[1:].strip("'\"")))
            else:
                takes_orders(use, words[0])
        elif kind in {"import", "restore", "load", "open", "ar", "archive"} and words:
            _takes(use, kind, rest, words)
        elif kind in _DOTS_PUT and words:
            _put(use, rest if rest.startswith("|") else words[-1])
        if kind in {"restore", "import"}:
            use.emit(Act.LOSE, "changes what a database holds")


def _takes(use: Use, kind: str, rest: str, words: list[str]) -> None:
    """A dot-command that reads a file; `.archive -x` writes the members that it names."""
    name = words[-1] if kind == "restore" else words[0]
    if name.startswith("|"):
        quoted = re.match(r"(['\"])\|(.*?)\1", rest)
        use.script(known(quoted[2] if quoted else rest.partition("|")[2].strip("'\"")))
    else:
        use.emit(Act.READ, "is read", known(name))
    if kind in {"ar", "archive"} and _EXTRACTS.search(rest):
        for each in words:
            use.emit(Act.WRITE, IN_DOUBT, known(each))
    if kind == "load":
        use.unknown("loads code into a database shell")


def mongo(use: Use, code: str) -> None:
    """JavaScript of a MongoDB shell."""
    if re.search(r"\.(dropDatabase|drop|remove|deleteMany|deleteOne|dropIndexes)\s*\(", code):
        use.emit(Act.LOSE, "removes data from a database")
    for found in re.finditer(r"\b(?:cat|load|readFileSync)\s*\(\s*['\"]([^'\"]*)['\"]", code):
        use.emit(Act.READ, "is read by code", known(found[1]))
    from supervisor.policy.bash.other_code import other_code  # noqa: PLC0415 - code knows us

    likely(use, lambda: other_code(use, "javascript", code))
    if re.search(r"\brun(Program)?\s*\(|\brequire\s*\(|\bload\s*\(", code):
        use.unknown("runs code that can't be read whole")
