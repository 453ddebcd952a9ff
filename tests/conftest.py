"""What holds for every test: hypothesis's terms, free of the machine's load, and the order."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.weights import SECONDS

settings.register_profile(
    "trustfloor", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("trustfloor")

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest files come first, lest all wait for one of them at the end."""
    items.sort(key=lambda item: -SECONDS.get(item.path.relative_to(HERE).as_posix(), 0))
