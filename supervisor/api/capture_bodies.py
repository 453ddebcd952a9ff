"""What is sent and got about captures."""

from pydantic import Field

from supervisor.api.bodies import FileBody, View, for_example
from supervisor.api.moments import Moment


class CaptureBody(FileBody):
    """A document. `content` is text, or bytes in base64 where `encoding` says so."""

    model_config = for_example(filename="visit.md", content="# Visit\n", title="A visit")

    title: str | None = None
    context: str | None = None
    timestamp: Moment | None = Field(None, description="When it was made; left out, now")


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
