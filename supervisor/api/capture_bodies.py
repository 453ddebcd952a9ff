"""What is sent and got about captures."""

import re
from datetime import datetime
from typing import Final

from pydantic import Field, field_validator

from supervisor.api.bodies import FileBody, View, for_example

_NUMBER: Final = re.compile(r"[\s+-]*[0-9_.]+(?:[eE][+-]?[0-9]+)?\s*")


class CaptureBody(FileBody):
    """A document. `content` is text, or bytes in base64 where `encoding` says so."""

    model_config = for_example(filename="visit.md", content="# Visit\n", title="A visit")

    title: str | None = None
    context: str | None = None
    timestamp: datetime | None = Field(None, description="When it was made; left out, now")

    @field_validator("timestamp", mode="before")
    @classmethod
    def _is_no_number(cls, given: object) -> object:
        """A number would be taken for seconds, and one that was meant otherwise for 1970."""
        if isinstance(given, int | float) or (isinstance(given, str) and _NUMBER.fullmatch(given)):
            raise ValueError("write it as 2026-05-01T12:00:00Z")
        return given


class CaptureView(View):
    """A document as it is stored: `filename` may differ from the name that it was given."""

    filename: str
    original_name: str
    size: int = Field(description="Bytes")
    captured_at: str
    title: str | None = None
    context: str | None = None
    path: str = Field(description="Relative to the vault")


class CapturesView(View):
    """All captures, the latest first."""

    captures: list[CaptureView]
