"""Imports: an export of conversations becomes sessions, and what of it is broken is told."""

from http import HTTPStatus
from typing import Literal

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request

from supervisor.api.bodies import FileBody, Level, View
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.api.uploads import read_upload, upload_request
from supervisor.errors import NotFound
from supervisor.imports.importer import Imported, Outcome
from supervisor.storage.session import SessionSource
from supervisor.trust.levels import TrustLevel

router = APIRouter(prefix="/import", tags=["imports"])


class ImportBody(FileBody):
    """An export. `content` is its text, or its bytes in base64 where `encoding` says so."""

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


@router.post(
    "",
    status_code=HTTPStatus.OK,
    openapi_extra=upload_request(ImportBody),
    responses=refusals(NotFound),
)
async def import_conversations(request: Request, supervisor: Supervisor) -> ImportView:
    """Make sessions of an export of Claude or ChatGPT, or of transcripts of Claude Code.

    As JSON, or as a form with a file. The same conversation again is the same session, brought up
    to date. Nothing in the file has a say in trust, folders or agents.
    """
    body, content = await read_upload(request, ImportBody)
    outcome = await supervisor.imports.take_in(
        body.filename, content, workspace=body.workspace, level=body.trust_level
    )
    supervisor.index.changed()
    return _view(outcome)


def _view(outcome: Outcome) -> ImportView:
    return ImportView(
        imported=[_imported(each) for each in outcome.imported],
        broken=[BrokenView(place=each.place, reason=each.reason) for each in outcome.broken],
    )


def _imported(each: Imported) -> ImportedView:
    session = each.session
    return ImportedView(
        id=session.id,
        title=session.title,
        source=session.source,
        trust_level=session.trust_level,
        messages=each.messages,
        state=each.state,
    )
