"""JSON on standard output, for programs that call a command."""

import json
import sys
from typing import Any

import orjson

from supervisor.cli.lines import read_on
from supervisor.storage.json_line import dump


def write_json(document: Any) -> None:
    """The document on standard output, with a line end. What JSON can't hold is replaced."""
    try:
        text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:
        text = json.dumps(json.loads(dump(document)), indent=2, ensure_ascii=False)
    with read_on():
        sys.stdout.write(text + "\n")
