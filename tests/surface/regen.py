"""Writes down the API's surface anew: `python -m tests.surface.regen`, then look at the diff."""

from functools import cache
from pathlib import Path

import orjson

from supervisor.api.main import make_routes

OPENAPI = Path(__file__).parent / "openapi.json"


@cache
def described() -> bytes:
    """The OpenAPI document as it is committed; the version is the package's matter."""
    document = make_routes().openapi()
    document["info"]["version"] = "in pyproject.toml"
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


if __name__ == "__main__":
    OPENAPI.write_bytes(described())
