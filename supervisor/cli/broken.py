"""Files of the vault that can't be used, each with its place, its fault and what helps."""

from collections.abc import Iterable, Mapping
from typing import Any

from supervisor.cli.render import Screen


def tell_broken(screen: Screen, faults: Iterable[Mapping[str, Any]]) -> None:
    """A line for each, as editors look for places: `file:line:column field`."""
    for each in faults:
        steps = (each["file"], each["line"], each["column"])
        where = ":".join(str(step) for step in steps if step is not None)
        field = f" {each['field']}" if each["field"] else ""
        screen.line(f"broken: {where}{field}: {each['reason']}", "red")
        if each["remedy"]:
            screen.line(f"    {each['remedy']}", "dim")
