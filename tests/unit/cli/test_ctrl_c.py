"""Ctrl-C does what the moment asks for, and never more."""

import os
import signal
from collections.abc import Iterator

import pytest

from supervisor.cli.ctrl_c import CtrlC


@pytest.fixture(autouse=True)
def handler_as_before() -> Iterator[None]:
    """The runner's own handler is put back."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_it_acts_within_its_block_and_does_nothing_around_it() -> None:
    pressed: list[int] = []
    with CtrlC() as ctrl_c:
        press()
        with ctrl_c.acting(lambda: pressed.append(1)):
            press()
            press()
        press()
    press()
    assert pressed == [1, 1]


def test_it_interrupts_where_that_is_asked_for_and_not_after() -> None:
    with CtrlC() as ctrl_c:
        with pytest.raises(KeyboardInterrupt), ctrl_c.interrupting():
            press()
        press()


def test_outside_of_all_this_it_would_raise() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        press()
