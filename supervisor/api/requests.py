"""What a request is like on the wire, where the framework's description of it isn't true.

A value in a query, a header or a form is text: it is there or it isn't, but never null. And the
door wants each request that changes something to be JSON, also where a route reads nothing of it.
"""

from typing import Any, Final

from supervisor.api.intake import CHANGING

_ANYTHING: Final = {
    "description": "Nothing of it is read, so `{}` does; but its type is looked at: what a web "
    "page can send unasked is refused",
    "required": True,
    "content": {"application/json": {"schema": {}, "example": {}}},
}


def tell_requests(document: dict[str, Any]) -> None:
    """Complete the document: what each operation is really sent."""
    for item in document["paths"].values():
        for method, operation in item.items():
            for parameter in operation.get("parameters", ()):
                parameter["schema"] = never_null(parameter["schema"])
            if method.upper() in CHANGING:
                operation.setdefault("requestBody", dict(_ANYTHING))["required"] = True


def never_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the choice of null."""
    choices = schema.get("anyOf")
    if choices is None:
        return schema
    left = [each for each in choices if each != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**rest, **left[0]} if len(left) == 1 else {**rest, "anyOf": left}
