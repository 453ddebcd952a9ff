"""What holds for every test: hypothesis's terms, free of the machine's load, and the order."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "trustfloor", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("trustfloor")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files with slow tests come first, lest all wait for one of them at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)
