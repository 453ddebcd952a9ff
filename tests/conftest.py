"""What holds for every test: a home, hypothesis's terms, free of the machine's load, the order.

Collection makes millions of objects that stay to the end: nothing of them is garbage. Looked
through again and again, they would cost a third of the collection's time, and then a share of every
test's: so no garbage is looked for until they are there, and then not among them.
"""

import atexit
import gc
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.weights import SECONDS

settings.register_profile(
    "trustfloor", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("trustfloor")

HERE = Path(__file__).parent


def _take_a_home() -> None:
    """A home of the tests' own, before anything looks for one.

    At `full` an agent's shell reads its owner's start-up files, and tests kill such shells: what
    those files were doing then (taking a lock) would stay undone in the home of whoever runs this.
    """
    owner, home = Path.home(), tempfile.mkdtemp(prefix="trustfloor-home-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    os.environ.setdefault("XDG_CACHE_HOME", str(owner / ".cache"))  # what was loaded once
    if (owner / ".gitconfig").exists():
        os.environ.setdefault("GIT_CONFIG_GLOBAL", str(owner / ".gitconfig"))
    os.environ["HOME"] = home


_take_a_home()
gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest files come first, lest all wait for one of them at the end."""
    items.sort(key=lambda item: -SECONDS.get(item.path.relative_to(HERE).as_posix(), 0))


def pytest_collection_finish() -> None:
    """From here on there is garbage to look for: the tests'."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """What a test sets up for logs is taken back, so that the others log as before."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
