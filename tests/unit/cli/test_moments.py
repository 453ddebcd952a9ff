"""Moments are told with their zone, whatever the zone they come in."""

import pytest

from supervisor.cli.moments import line_moment, told_moment


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-03-01T10:00:05.123456+00:00", "2026-03-01 10:00 UTC"),
        ("2026-03-01T10:00:05Z", "2026-03-01 10:00 UTC"),
        ("2026-03-01T10:00:05", "2026-03-01 10:00 UTC"),
        ("2026-03-01T00:30:00+02:00", "2026-02-28 22:30 UTC"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("yesterday", "yesterday"),
    ],
)
def test_a_moment_is_told_in_utc(text: str, told: str) -> None:
    assert told_moment(text) == told


def test_a_line_begins_with_a_moment_that_is_one_word() -> None:
    assert line_moment("2026-03-01T10:00:05.5+02:00") == "2026-03-01T08:00:05Z"
    assert line_moment("None") == "None"
