"""What is sent and got about imports."""

from typing import Literal

from pydantic import Field

from supervisor.api.bodies import FileBody, Level, View, for_example
from supervisor.storage.session_source import SessionSource
from supervisor.trust.levels import TrustLevel


class ImportBody(FileBody):
    """An export. `content` is its text, or its bytes in base64 where `encoding` says so."""

    model_config = for_example(filename="conversations.json", content="[]")

    filename: str = Field("", description="Shown where something is broken; never a path")
    workspace: str | None = Field(None, description="Left out, `default`")
    trust_level: Level | None = Field(None, description="Left out, `sandboxed`")


class ImportedView(View):
    """A conversation as a session. `unchanged`: it was imported before, and this is no newer."""

    id: str
    title: str | None
    source: SessionSource
    trust_level: TrustLevel
    messages: int
    state: Literal["new", "updated", "unchanged"]


class BrokenView(View):
    """What could not be imported: where in the file, and why."""

    place: str
    reason: str


class ImportView(View):
    """What became of an export."""

    imported: list[ImportedView]
    broken: list[BrokenView]
