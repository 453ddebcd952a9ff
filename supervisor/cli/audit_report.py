"""How `trustfloor audit verify` tells of a log that was checked."""

from supervisor.cli.counted import counted
from supervisor.cli.render import Screen
from supervisor.observability.verification import Report


def tell(report: Report, screen: Screen) -> None:
    """What was found of a log: how far it is whole, and its head."""
    if report.entries:
        files = counted(len(report.files), "file")
        screen.line(f"entries {report.first} to {report.head.n} in {files} fit one another")
        signed = {
            "checked": "signed with the key",
            "unchecked": "signed; the key isn't here, so signatures were not checked",
            "none": "not signed",
        }[report.signed]
        older = report.unsigned if report.signed == "checked" else 0
        screen.line(signed + (f", but for {older} older ones" if older else ""))
        screen.line(f"head {report.head}")
    elif report.bad is None:
        screen.line("there is no entry yet", "dim")
    if report.torn:
        what = f"a half line of {report.torn} bytes at the end: the next start takes it off"
        screen.line(what, "yellow")


def unsigned(report: Report, *, alone: bool) -> str | None:
    """What is wrong if our own log, no part that lies `alone`, can't be held against its key."""
    if alone or report.signed == "checked" or not report.entries:
        return None
    if report.signed == "none":
        return "nothing in the log is signed, and there is no key: anyone could have written it"
    return "the log is signed, and the key can't be read: only hashes were checked"
