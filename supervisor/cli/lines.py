"""Where commands write, and their quiet end where nobody reads on, as behind `| head`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn, TextIO

from rich.console import Console

_NOBODY_READS: Final = 141
"""The exit status that a shell tells of a program which SIGPIPE ended."""


def _end() -> NoReturn:
    """What is under way here has nobody to tell; a turn goes on by itself."""
    os._exit(_NOBODY_READS)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        _end()


def console(file: TextIO | None = None) -> Console:
    """What lines are shown on, standard output if no file is given; nothing in them is markup.

    With NO_COLOR nothing is dim or bold either, so that a terminal gets no escape sequence at all.
    """
    return _Console(
        file=file,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        highlight=False,
        markup=False,
        emoji=False,
    )


@contextmanager
def read_on() -> Iterator[None]:
    """Within the block something is written to standard output as it is."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _end()
