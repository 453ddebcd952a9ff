"""The API's surface changes only on purpose."""

import orjson

from tests.surface.regen import OPENAPI, described


def test_the_routes_are_those_that_were_written_down() -> None:
    assert orjson.loads(described()) == orjson.loads(OPENAPI.read_bytes()), (
        "if the change is meant, run: python -m tests.surface.regen"
    )


def test_every_event_is_described() -> None:
    document = orjson.loads(described())
    schemas = document["components"]["schemas"]
    assert len(schemas["AnyEvent"]["oneOf"]) >= 18
    for each in schemas["AnyEvent"]["oneOf"]:
        assert each["$ref"].removeprefix("#/components/schemas/") in schemas


def test_every_reference_leads_somewhere() -> None:
    document = orjson.loads(described())
    for part in described().split(b'"$ref": "')[1:]:
        name = part.split(b'"', 1)[0].decode().removeprefix("#/components/schemas/")
        assert name in document["components"]["schemas"]


def test_every_route_but_health_needs_the_token() -> None:
    document = orjson.loads(described())
    assert document["security"] == [{"token": []}]
    free = {
        path
        for path, item in document["paths"].items()
        for operation in item.values()
        if operation.get("security") == []
    }
    assert free == {"/api/health"}
