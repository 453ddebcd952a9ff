"""Imports: an export of conversations becomes sessions, and what of it is broken is told."""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request

from supervisor.api.import_bodies import BrokenView, ImportBody, ImportedView, ImportView
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.api.uploads import read_upload, upload_request
from supervisor.errors import NotFound
from supervisor.imports.importer import Imported, Outcome

router = APIRouter(prefix="/import", tags=["imports"])


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
