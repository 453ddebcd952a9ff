"""The line in which a cage's own program tells what it measured. Pure."""

import json
from collections.abc import Mapping
from typing import Any


def receipt_in(line: bytes, most: int) -> Mapping[str, Any] | None:
    """The receipt that stands in a line of at most so many bytes; None: it is none."""
    if len(line) > most:
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("trustfloor") != "receipt":
        return None
    return found
