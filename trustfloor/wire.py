"""Documents over the wire: paths, queries, bodies and answers, by the supervisor's models."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from pydantic import BaseModel, TypeAdapter, ValidationError

from supervisor.api.faults import say
from trustfloor.errors import Refused, Unexpected

T = TypeVar("T")

File = str | Path | tuple[str, bytes]
"""A file by its path, or its name and bytes."""


def at(path: str, *names: str, **query: Any) -> str:
    """A path with these names in its gaps, and what of the query isn't None."""
    filled = path.format(*(_part(name) for name in names))
    wanted = {key: _plain(value) for key, value in query.items() if value is not None}
    return f"{filled}?{urlencode(wanted, doseq=True, errors='replace')}" if wanted else filled


def _part(name: str) -> str:
    quoted = quote(name, safe="", errors="replace")
    return quoted.replace(".", "%2E") if quoted in {".", ".."} else quoted


def _plain(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def body_of(model: type[BaseModel], /, **fields: Any) -> dict[str, Any]:
    """The body as JSON, of what isn't None. Raises Refused for what the supervisor would refuse."""
    given = {name: value for name, value in fields.items() if value is not None}
    try:
        made = model(**given)
    except ValidationError as error:
        raise _invalid(error) from None
    return made.model_dump(mode="json", by_alias=True, exclude_unset=True)


def understood(adapter: TypeAdapter[T], document: Any) -> T:
    """The answer as its type. Raises Unexpected."""
    try:
        return adapter.validate_python(document)
    except ValidationError as error:
        place = ".".join(str(step) for step in error.errors()[0]["loc"])
        raise Unexpected(
            "the supervisor's answer isn't what this client knows",
            where=place or None,
            remedy="use the client that comes with the supervisor's version",
        ) from None


def named(file: File) -> tuple[str, bytes]:
    """The file's name and bytes."""
    if isinstance(file, tuple):
        return file
    path = Path(file)
    return path.name, path.read_bytes()


def attached(file: File) -> dict[str, str]:
    """The file as a message takes it along."""
    name, content = named(file)
    return {"filename": name, "content": base64.b64encode(content).decode(), "encoding": "base64"}


def form_of(**fields: Any) -> Mapping[str, str]:
    """The fields of a form: what isn't None."""
    return {key: str(value) for key, value in fields.items() if value is not None}


def _invalid(error: ValidationError) -> Refused:
    faults = [
        {"field": ".".join(str(step) for step in each["loc"]), "detail": say(each)}
        for each in error.errors(include_url=False, include_input=False)
    ]
    problem = {
        "status": 422,
        "code": "invalid_request",
        "title": "Invalid request",
        "detail": "; ".join(f"{each['field']}: {each['detail']}" for each in faults),
        "where": faults[0]["field"],
        "errors": faults,
    }
    return Refused(422, problem)
