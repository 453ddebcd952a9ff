"""Ctrl-C in a client: what it does at each moment, and that it never ends in a traceback."""

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NoReturn, Self


class CtrlC:
    """SIGINT is ours from the first line to the last, so that none of them kills us in between.

    A handler of the event loop's would be gone with the loop, and Ctrl-C a traceback again.
    """

    def __init__(self) -> None:
        self._act: Callable[[], object] = _nothing

    def __enter__(self) -> Self:
        signal.signal(signal.SIGINT, lambda _number, _frame: self._act())
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is to end with our status

    @contextmanager
    def acting(self, act: Callable[[], object]) -> Iterator[None]:
        """Within the block, Ctrl-C does this."""
        self._act = act
        try:
            yield
        finally:
            self._act = _nothing

    def interrupting(self) -> AbstractContextManager[None]:
        """Within the block, Ctrl-C raises KeyboardInterrupt."""
        return self.acting(_interrupt)


def _nothing() -> None:
    pass


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt
