"""Imports: an export of conversations becomes sessions, and what of it is broken is told."""

import base64
import binascii
from http import HTTPStatus
from typing import Any, Final, Literal

import orjson
from fastapi import APIRouter
from pydantic import Field, ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from supervisor.api.bodies import Body, Level, View
from supervisor.api.parts import Supervisor
from supervisor.errors import InvalidRequest
from supervisor.imports.importer import Imported, Outcome
from supervisor.storage.session import SessionSource
from supervisor.trust.levels import TrustLevel

router = APIRouter(prefix="/import", tags=["imports"])


class ImportBody(Body):
    """An export. `content` is its text, or its bytes in base64 where `encoding` says so."""

    filename: str = Field("", description="Shown where something is broken; never a path")
    content: str
    encoding: Literal["text", "base64"] = "text"
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


_REQUEST: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/ImportBody"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "workspace": {"type": "string"},
                        "trustLevel": {"type": "string"},
                    },
                }
            },
        },
    }
}
_OWN_FIELDS: Final = ("filename", "content", "encoding")


@router.post("", status_code=HTTPStatus.OK, openapi_extra=_REQUEST)
async def import_conversations(request: Request, supervisor: Supervisor) -> ImportView:
    """Make sessions of an export of Claude or ChatGPT, or of transcripts of Claude Code.

    As JSON, or as a form with a file. The same conversation again is the same session, brought up
    to date. Nothing in the file has a say in trust, folders or agents.
    """
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        body, content = await _of_form(request)
    else:
        body = _checked(_loaded(await request.body()))
        content = _bytes_of(body)
    outcome = await supervisor.imports.take_in(
        body.filename, content, workspace=body.workspace, level=body.trust_level
    )
    return _view(outcome)


def _loaded(content: bytes) -> object:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"the body is no JSON: {error}", where="body") from None


def _checked(given: object) -> ImportBody:
    try:
        return ImportBody.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(each) for each in first["loc"]) or "body"
        raise InvalidRequest(first["msg"], where=where) from None


def _bytes_of(body: ImportBody) -> bytes:
    try:
        if body.encoding == "base64":
            return base64.b64decode(body.content, validate=True)
        return body.content.encode()
    except (binascii.Error, UnicodeEncodeError, ValueError):
        raise InvalidRequest(f"the content is no valid {body.encoding}", where="content") from None


async def _of_form(request: Request) -> tuple[ImportBody, bytes]:
    try:
        form = await request.form(max_files=1, max_fields=4)
    except HTTPException as error:
        raise InvalidRequest(f"the form can't be read: {error.detail}", where="body") from None
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise InvalidRequest("the form has no file in its field `file`", where="file")
        said = {key: value for key, value in form.items() if isinstance(value, str)}
        own = next((key for key in said if key in _OWN_FIELDS), None)
        if own is not None:
            raise InvalidRequest("a form has this in its field `file`", where=own)
        body = _checked({**said, "filename": file.filename or "", "content": ""})
        return body, await file.read()
    finally:
        await form.close()


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
