"""`trustfloor audit`: check the audit log, look into it, and hand it on. Reads its files only."""

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from supervisor.cli.audit_lines import entry_line
from supervisor.cli.audit_report import tell, unsigned
from supervisor.cli.choices import choice
from supervisor.cli.counted import counted
from supervisor.cli.json_out import write_json
from supervisor.cli.lazy import Whole
from supervisor.cli.lines import read_on
from supervisor.cli.moments import moment_of
from supervisor.cli.render import Screen
from supervisor.errors import ConfigurationError
from supervisor.ids import is_session_id
from supervisor.observability.audit_export import as_table, lines_of_table
from supervisor.observability.audit_files import key_path, read_key
from supervisor.observability.audit_kinds import AuditKind
from supervisor.observability.audit_moving import move_archives
from supervisor.observability.audit_pages import Wanted, page_before
from supervisor.observability.chain import Head
from supervisor.observability.verification import BrokenChain, Report, Walk, examine
from supervisor.variables import folders

_ANCHOR: Final = re.compile(r"(\d{1,18}):([0-9a-f]{64})")
_PAGE: Final = 500

audit = typer.Typer(cls=Whole, add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@audit.callback()
def _audit() -> None:
    """Check the audit log, look into it, and hand it on.

    It is read from its files, whether or not the supervisor runs.
    """


def _anchor(text: str) -> Head:
    if (match := _ANCHOR.fullmatch(text)) is None:
        raise typer.BadParameter(f"{text!r} is not N:HASH, as `verify` tells the head")
    return Head(int(match[1]), match[2])


def _whole_id(text: str | None) -> str | None:
    """What is handed on has to be of one session, and not of those whose ids begin alike."""
    if text is not None and not is_session_id(text):
        raise typer.BadParameter("a session's whole id is expected")
    return text


Log = Annotated[
    Path | None, typer.Option("--log", help="The log's open file (audit.jsonl in the data folder).")
]
KeyFile = Annotated[
    Path | None, typer.Option("--key", help="The key's file (TRUSTFLOOR_AUDIT_KEY_FILE).")
]
Session = Annotated[
    str | None, typer.Option(help="Of this session only: its id, or enough of how it begins.")
]
WholeSession = Annotated[
    str | None,
    typer.Option(help="Of this session only, by its whole id.", callback=_whole_id),
]
Kind = Annotated[
    AuditKind | None,
    choice(AuditKind, metavar="KIND", help="Of this kind only: decision, grant, kill, …."),
]
Rule = Annotated[str | None, typer.Option(help="Decisions by this rule only.")]
Since = Annotated[
    datetime | None,
    typer.Option(parser=moment_of, metavar="SPAN|DATE", help="From when on: 12h, 30d, 2026-03-01."),
]


@audit.command("verify")
def verify_log(  # noqa: PLR0913 - each is an option of the command
    part: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="An export or an archived file by itself."),
    ] = None,
    *,
    log: Log = None,
    key: KeyFile = None,
    anchor: Annotated[
        Head | None,
        typer.Option(
            parser=_anchor, metavar="N:HASH", help="An entry noted down before: must be there."
        ),
    ] = None,
    known: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="The damage that entry N notes is known; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Check every entry, over all files, against those before it, the head file and the key.

    Without FILE it is the log of the data folder. Exit status 0 if it is whole, 1 if not, 2 if it
    can't be read. Tells the head: note it down elsewhere, and give it back as --anchor later.
    """
    with _readable():
        report = _found(part, log, key, anchor)
    noted = [each for each in report.noted if each.n not in (known or ())]
    problem = unsigned(report, alone=part is not None)
    if as_json:
        write_json({**asdict(report), "whole": report.bad is None and not noted and not problem})
    else:
        tell(report, Screen(sys.stdout))
    screen = Screen(sys.stderr)
    if report.bad is not None:
        bad = report.bad
        place = f"{bad.file}, line {bad.line} (entry {bad.n})"
        screen.failure(f"{bad.kind.value}: {bad.why}", place, None)
    for each in noted:
        remedy = f"once you know what it was: --known {each.n}"
        screen.failure(f"a start found the log damaged: {each.why}", f"entry {each.n}", remedy)
    if problem is not None:
        screen.failure(problem, None, "give the key with --key")
    if report.bad is not None or noted or problem is not None:
        raise typer.Exit(1)


@audit.command("show")
def show(  # noqa: PLR0913 - each is an option of the command
    *,
    session: Session = None,
    kind: Kind = None,
    rule: Rule = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, a line an entry.")] = False,
    log: Log = None,
) -> None:
    """Show the latest entries, the last one last. They are as they stand: `verify` checks them."""
    wanted = Wanted(kind=kind, session_beginning=session, rule=rule, since=since)
    with _readable():
        entries, damaged = _latest(_log(log), wanted, limit)
    screen = Screen(sys.stdout)
    found = sorted({str(entry["session_id"]) for entry in entries}) if session else []
    if len(found) > 1:
        said = "the ids of several sessions begin so: " + ", ".join(found)
        Screen(sys.stderr).failure(said, session, "give more of the one that you mean")
        raise typer.Exit(1)
    if not entries and not as_json:
        screen.line("no entries", "dim")
    for entry in reversed(entries):
        if as_json:
            with read_on():
                sys.stdout.write(json.dumps(entry) + "\n")
        else:
            screen.line(entry_line(entry))
    if damaged:
        what = f"{damaged} lines are no entries"
        Screen(sys.stderr).failure(what, None, "trustfloor audit verify")


@audit.command("export")
def export(  # noqa: PLR0913 - each is an option of the command
    *,
    session: WholeSession = None,
    kind: Kind = None,
    rule: Rule = None,
    since: Since = None,
    table: Annotated[bool, typer.Option("--csv", help="As a table, with the whole lines.")] = False,
    log: Log = None,
    key: KeyFile = None,
) -> None:
    """Write entries to standard output as they are stored, each checked before it is written.

    Without --session, --kind and --rule they are a chain without gaps, which anybody checks by
    `trustfloor audit verify FILE`, without the key. Exit status 1 if the log is damaged: what comes
    before the damage is written.
    """
    wanted = Wanted(kind=kind, session_id=session, rule=rule, since=since)
    with _readable():
        path = _log(log)
        walk = Walk(path, key=read_key(_key(key, path)))
    try:
        with _readable(), read_on():
            lines = (line for _, line in walk if wanted.holds(json.loads(line)))
            if table:
                for row in as_table(lines):
                    sys.stdout.write(row)
            else:
                for line in lines:
                    sys.stdout.write(line.decode())
    except BrokenChain as broken:
        bad = broken.bad
        place = f"{bad.file}, line {bad.line} (entry {bad.n})"
        what = f"{bad.kind.value}: {bad.why}"
        Screen(sys.stderr).failure(what, place, "trustfloor audit verify")
        raise typer.Exit(1) from None
    sys.stderr.write(f"head {walk.report.head}\n")


@audit.command("archive")
def archive(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where they are to lie.")],
    *,
    log: Log = None,
    key: KeyFile = None,
) -> None:
    """Move the full files elsewhere; the open one stays. Nothing of the log goes by itself.

    The whole log is checked first. What stays begins where they end, signed with the key, and
    `verify` takes it for whole; a moved file is checked by `trustfloor audit verify FILE`.
    """
    with _readable():
        path = _log(log)
        found = read_key(_key(key, path))
        if found is None:
            raise ConfigurationError(
                "the key can't be read", where=str(_key(key, path)), remedy="give it with --key"
            )
        moved = move_archives(path, folder, found)
    screen = Screen(sys.stdout)
    for each in (*map(str, moved), f"{counted(len(moved), 'file')} moved"):
        screen.line(each)


def _found(part: Path | None, log: Path | None, key: Path | None, anchor: Head | None) -> Report:
    if part is None:
        path = _log(log)
        return examine(path, key=read_key(_key(key, path)), anchor=anchor)
    secret = read_key(_key(key, log or _own_log()))  # who is handed a file may have no log
    with part.open("rb") as file:
        is_table = file.read(2) == b"n,"
    if not is_table:
        return examine(part, key=secret, anchor=anchor, alone=True)
    with tempfile.TemporaryDirectory(prefix="tf-") as room, part.open(newline="") as text:
        copy = Path(room) / part.name
        try:
            copy.write_bytes(b"".join(lines_of_table(text)))
        except ValueError as error:
            raise ConfigurationError(str(error), where=str(part)) from None
        return examine(copy, key=secret, anchor=anchor, alone=True)


def _latest(path: Path, wanted: Wanted, limit: int) -> tuple[list[dict[str, Any]], int]:
    entries: list[dict[str, Any]] = []
    damaged, before = 0, None
    while len(entries) < limit:
        most = min(_PAGE, limit - len(entries))
        page = page_before(path, wanted, before=before, limit=most)
        entries += page.entries
        damaged += page.damaged
        before = page.next
        if before is None:
            break
    return entries, damaged


def _log(log: Path | None) -> Path:
    """The log's open file; ends the command with status 2 where no log is, nor ever was.

    In a data folder that is there one may not have been begun yet. A log of which only the open
    file is gone has its head file beside it, and that it is damaged is for those who read it.
    """
    path = log or _own_log()
    known = path.parent.is_dir() if log is None else any(path.parent.glob(f"{path.stem}*"))
    if not known:
        remedy = "name its open file with --log, or the data folder with TRUSTFLOOR_DATA_DIR"
        Screen(sys.stderr).failure("there is no audit log", str(path), remedy)
        raise typer.Exit(2)
    return path


def _own_log() -> Path:
    return folders(os.environ).data_dir / "audit.jsonl"


def _key(key: Path | None, path: Path) -> Path:
    named = os.environ.get("TRUSTFLOOR_AUDIT_KEY_FILE")
    return key or (Path(named) if named else key_path(path))


@contextmanager
def _readable() -> Iterator[None]:
    """Tell what can't be read, and end with status 2."""
    try:
        yield
    except OSError as error:
        Screen(sys.stderr).failure(f"{error.strerror}", str(error.filename or ""), None)
        raise typer.Exit(2) from None
    except ConfigurationError as error:
        Screen(sys.stderr).problem(error)
        raise typer.Exit(2) from None
