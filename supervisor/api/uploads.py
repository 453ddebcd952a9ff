"""A file that a client brings, as JSON or in a form: read once, judged by the same fields."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, TypeVar

import orjson
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from supervisor.api.bodies import REFERENCE, FileBody
from supervisor.api.requests import never_null
from supervisor.errors import InvalidRequest

T = TypeVar("T", bound=FileBody)

_THE_FILE_ITSELF = ("filename", "content", "encoding")


def upload_request(body: type[FileBody]) -> dict[str, Any]:
    """How a route that takes an upload describes its request: the body, and the form beside it."""
    properties = body.model_json_schema(ref_template=REFERENCE)["properties"]
    fields = {
        name: never_null(field)
        for name, field in properties.items()
        if name not in _THE_FILE_ITSELF
    }
    form = {
        "type": "object",
        "required": ["file"],
        "properties": {"file": {"type": "string", "format": "binary"}, **fields},
    }
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"$ref": REFERENCE.format(model=body.__name__)}},
                "multipart/form-data": {"schema": form},
            },
        }
    }


async def read_upload(request: Request, body: type[T]) -> tuple[T, bytes]:
    """What a request says of its file, and the file's bytes.

    Raises RequestValidationError or InvalidRequest, each with the field.
    """
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        return await _of_form(request, body)
    try:
        said = _checked(orjson.loads(await request.body()), body)
    except orjson.JSONDecodeError:
        raise RequestValidationError([{"type": "json_invalid"}]) from None
    return said, decoded(said, "content")


async def _of_form(request: Request, body: type[T]) -> tuple[T, bytes]:
    try:
        form = await request.form(max_files=1, max_fields=len(body.model_fields))
    except HTTPException as error:
        raise InvalidRequest(f"the form can't be read: {error.detail}", where="body") from None
    except ValueError:
        raise InvalidRequest(
            "the form's texts aren't in its `charset`", where="body", remedy="send UTF-8"
        ) from None
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise InvalidRequest("the form has no file in its field `file`", where="file")
        said = {key: value for key, value in form.items() if isinstance(value, str)}
        own = next((key for key in said if key in _THE_FILE_ITSELF), None)
        if own is not None:
            raise InvalidRequest("a form has this in its field `file`", where=own)
        checked = _checked({**said, "filename": file.filename or "", "content": ""}, body)
        return checked, await file.read()
    finally:
        await form.close()


def _checked(given: Mapping[str, Any], body: type[T]) -> T:
    try:
        return body.model_validate(given)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False, include_input=False)) from None


def decoded(said: FileBody, where: str) -> bytes:
    """The file's bytes. Raises InvalidRequest, naming the field `where`."""
    try:
        if said.encoding == "base64":
            return base64.b64decode(said.content, validate=True)
        return said.content.encode()
    except (binascii.Error, UnicodeEncodeError, ValueError):
        raise InvalidRequest(f"the content is no valid {said.encoding}", where=where) from None
