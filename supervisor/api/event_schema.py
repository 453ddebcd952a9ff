"""Events as they go over the wire: how the OpenAPI document describes them and their streams."""

from typing import Any, Final

from pydantic import Field, TypeAdapter

from supervisor.api.bodies import REFERENCE, View
from supervisor.events.schema import AnyEvent, Event

ENVELOPE: Final[dict[str, Any]] = {
    "seq": {"type": "integer", "minimum": 0, "description": "Its number in its session"},
    "turn_id": {"type": "string", "description": "Empty where it is of no turn"},
    "ts": {"type": "string", "format": "date-time"},
    "session_id": {"type": "string"},
}
"""What each event has beside what its type says."""


class EventsView(View):
    """A page of events, and the number to ask on from."""

    events: list[dict[str, Any]]
    numbers: list[int] = Field(description="The number of each over all sessions, as `after` has")
    next: int = Field(description="`after` of the next page")
    more: bool = Field(description="Whether there is one yet")
    gap: bool = Field(
        description="Whether some events behind `after` aren't stored any more, or the number is"
        " none of this log's: it begins anew then"
    )


def tell_events(schemas: dict[str, Any]) -> None:
    """Complete a document's schemas: those of the events, and what has events in it."""
    schemas.update(event_schemas())
    any_event = {"$ref": REFERENCE.format(model="AnyEvent")}
    schemas[EventsView.__name__]["properties"]["events"]["items"] = any_event


def event_schemas() -> dict[str, Any]:
    """The schema of each type of event, with the envelope, and `AnyEvent`: one of them."""
    any_event = TypeAdapter(AnyEvent).json_schema(ref_template=REFERENCE)
    schemas: dict[str, Any] = any_event.pop("$defs")
    for name in any_event["discriminator"]["mapping"].values():
        schema = schemas[name.rpartition("/")[2]]
        schema["properties"] = {**schema["properties"], **ENVELOPE}
        schema["required"] = sorted({*schema.get("required", ()), "type", *ENVELOPE})
    return {**schemas, "AnyEvent": any_event}


def unnumbered_stream_of(description: str, *kinds: type[Event]) -> dict[int | str, dict[str, Any]]:
    """How a route says that it streams these, which are no events of a session's log."""
    message = {
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": {"type": "string", "enum": [_type_of(kind) for kind in kinds]},
            "data": {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": {
                    "oneOf": [{"$ref": REFERENCE.format(model=kind.__name__)} for kind in kinds]
                },
            },
            "retry": {"type": "integer", "description": "Milliseconds"},
        },
    }
    content = {"text/event-stream": {"schema": message}}
    return {200: {"description": description, "content": content}}


def schemas_of(*kinds: type[Event]) -> dict[str, Any]:
    """The schemas of these by name, with all that they refer to."""
    found: dict[str, Any] = {}
    for kind in kinds:
        schema = kind.model_json_schema(ref_template=REFERENCE, mode="serialization")
        found |= schema.pop("$defs", {})
        found[kind.__name__] = schema
    return found


def _type_of(kind: type[Event]) -> str:
    return str(kind.model_fields["type"].default)


def stream_of(description: str) -> dict[int | str, dict[str, Any]]:
    """How a route that answers with a stream says so; the schema is that of each message in it."""
    message = {
        "type": "object",
        "required": ["id", "event", "data"],
        "properties": {
            "id": {"type": "string", "pattern": "^[0-9]+$"},
            "event": {"type": "string", "description": "The event's type"},
            "data": {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": {"$ref": REFERENCE.format(model="AnyEvent")},
            },
            "retry": {"type": "integer", "description": "Milliseconds"},
        },
    }
    return {
        200: {
            "description": description,
            "content": {"text/event-stream": {"schema": message}},
        }
    }
