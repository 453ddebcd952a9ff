"""What a person may give for an answer, and how much at once."""

from collections.abc import Mapping
from typing import Final

Given = str | Mapping[str, str] | list[str | Mapping[str, str]]
"""What a person gives for one question: an option's label, several (where the question takes
several), or `{"other": "free text"}`, which the tool always offers."""

MOST_AT_ONCE: Final = 12
"""Patterns granted in one answer."""
