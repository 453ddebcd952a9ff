"""What the API calls a field, as the person typed it: an option, or an argument of the command."""

import re
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

_OTHERWISE: Final = {
    "trust_level": "trust",
    "working_directory": "dir",
    "agent_path": "agent",
    "session_id": "session",
    "expires_in": "expires",
    "scopes": "scope",
    "workspaces": "workspace",
    "attachments": "attach",
    "headers": "header",
    "filename": "name",
    "content_hash": "hash",
    "content": "file",
    "q": "words",
}
"""What an option is called where that isn't what the API calls the field."""
_NO_FIELD: Final = frozenset({"query", "path", "body", "header"})
"""What the place of a fault begins with; a field of that name has more behind it."""


class _Run(NamedTuple):
    command: Any
    words: Sequence[str]


_running: Final = ContextVar[_Run | None]("running", default=None)


def note_run(command: Any, words: Sequence[str]) -> None:
    """Keep which command runs, and with which words."""
    _running.set(_Run(command, tuple(words)))  # what parses them takes them away


def as_typed(place: str, *, value: bool = False) -> str | None:
    """The option or argument of the command that runs which stands for a field; None if none does.

    `place` is where the API found a fault: `query.type.0`, `trustLevel`, `notes.env`. With `value`
    an argument is told by what was given for it.
    """
    run = _running.get()
    if run is None:
        return None
    for step in reversed(_steps(place)):
        for param in run.command.params:
            if step in _names(param):
                return _told(run, param, value=value)
    return None


def _steps(place: str) -> list[str]:
    steps = [each for each in place.split(".") if not each.isdecimal()]
    if len(steps) > 1 and steps[0] in _NO_FIELD:
        del steps[0]
    snake = (re.sub(r"(?<=[a-z])(?=[A-Z])", "_", each).lower() for each in steps)
    return [_OTHERWISE.get(each, each) for each in snake]


def _names(param: Any) -> set[str]:
    """What a field may be called that this option or argument stands for."""
    if _is_argument(param):
        return {str(param.name)}
    return {option.lstrip("-").replace("-", "_") for option in param.opts}


def _told(run: _Run, param: Any, *, value: bool) -> str:
    if not _is_argument(param):
        return str(max(param.opts, key=len))
    if value:
        context = run.command.make_context(None, list(run.words), resilient_parsing=True)
        given = context.params.get(param.name)
        if isinstance(given, str):
            return given
    return str(param.metavar or param.name).strip("[]").upper()


def _is_argument(param: Any) -> bool:
    return str(param.param_type_name) == "argument"
