"""JSON on standard output, for programs that call a command."""

import sys
from typing import Any

import orjson


def write_json(document: Any) -> None:
    """The document on standard output, with a line end."""
    sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")
