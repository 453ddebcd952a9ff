"""A file that is sent: read as far as anybody takes it, as `/dev/zero` or a pipe may not end."""

import sys
from pathlib import Path
from typing import Final, NoReturn

import typer

from supervisor.cli.render import Screen

_MIB: Final = 1024 * 1024


def content_of(file: Path, most: int) -> bytes:
    """Its bytes, at most so many; ends the command with status 1 where that can't be."""
    try:
        with file.open("rb") as opened:
            content = opened.read(most + 1)
    except OSError as error:
        _refuse(f"the file can't be read: {error.strerror or error}", file)
    if len(content) > most:
        _refuse(f"the file has more than {most // _MIB} MiB, and that is what is taken", file)
    return content


def _refuse(what: str, file: Path) -> NoReturn:
    Screen(sys.stderr).failure(what, str(file), None)
    raise typer.Exit(1)
