"""Which refusals an operation may answer with, as its description in the OpenAPI document says it.

What the door and the framework answer for every route is told here once; what is of a route, the
route tells by `responses=refusals(…)`. A status that isn't told is a mistake of ours.
"""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

from supervisor.access.holder import NotAllowed
from supervisor.api import access, turned_away
from supervisor.api.bodies import REFERENCE
from supervisor.api.problems import INCIDENT, MALFORMED_JSON, MEDIA_TYPE, NO_SUCH_ROUTE, Problem
from supervisor.errors import InvalidRequest, StorageBusy, TrustfloorError

Responses = dict[int | str, dict[str, Any]]
Kind = type[TrustfloorError] | Problem
"""What is refused: an error of the tree, or a problem that none of them becomes."""

_SHARED: Final = "#/components/responses/Refused{status}"
_UNAUTHORIZED: Final = str(HTTPStatus.UNAUTHORIZED.value)
_PROBLEM: Final = {MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(model="Problem")}}}
_CHALLENGE: Final = {"WWW-Authenticate": {"required": True, "schema": {"type": "string"}}}


def refusals(*kinds: Kind) -> Responses:
    """What a route may refuse with, beyond what any route may: for its `responses`."""
    return {int(status): each for status, each in _by_status(kinds).items()}


def tell_refusals(document: dict[str, Any]) -> None:
    """Complete the document: each operation's refusals, instead of the framework's own."""
    shared = _by_status((*_ANYWHERE, *_OF_VALUES, *_OF_PATHS))
    shared[_UNAUTHORIZED]["headers"] = _CHALLENGE
    document["components"]["responses"] = {
        f"Refused{status}": response for status, response in sorted(shared.items())
    }
    for path, item in document["paths"].items():
        for operation in item.values():
            _complete(operation, path)


def _complete(operation: dict[str, Any], path: str) -> None:
    answers: dict[str, Any] = operation["responses"]
    if not answers.get("422", {}).get("description", "").startswith("`"):
        answers.pop("422", None)  # the framework's own words
    general = _by_status(_ANYWHERE)
    if "requestBody" in operation or any(
        each["in"] != "path" for each in operation.get("parameters", ())
    ):
        general |= _by_status(_OF_VALUES)
    if "{" in path:
        general |= _by_status(_OF_PATHS)
    if path in access.OPEN_PATHS or path == access.LOGIN_PATH:
        operation["security"] = []
        del general[_UNAUTHORIZED]
    for status, response in general.items():
        own = answers.get(status)
        if own is None:
            answers[status] = {"$ref": _SHARED.format(status=status)}
        else:
            said = own["description"].split("; ")
            said += [each for each in response["description"].split("; ") if each not in said]
            answers[status] = {**own, "description": "; ".join(said)}


def _by_status(kinds: Iterable[Kind]) -> dict[str, dict[str, Any]]:
    said: dict[str, list[str]] = {}
    for kind in kinds:
        words = f"`{kind.code}`: {kind.title}"
        if words not in said.setdefault(str(kind.status), []):
            said[str(kind.status)].append(words)
    return {status: _response("; ".join(words)) for status, words in said.items()}


def _response(description: str) -> dict[str, Any]:
    return {"description": description, "content": dict(_PROBLEM)}


_ANYWHERE: Final[tuple[Kind, ...]] = (*turned_away.REFUSALS, NotAllowed, INCIDENT, StorageBusy)
"""What every route may answer: the door's refusals, a busy database, what nobody foresaw."""

_OF_VALUES: Final[tuple[Kind, ...]] = (MALFORMED_JSON, InvalidRequest)
"""What a route with a body, a query or headers may answer as well."""

_OF_PATHS: Final[tuple[Kind, ...]] = (NO_SUCH_ROUTE,)
"""What a route with a name in its path may answer as well: a name with a slash is another path."""
