"""The API's surface changes only on purpose."""

from collections.abc import Iterator
from typing import Any

import orjson

from supervisor.api.bodies import Body
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
        kind, name = part.split(b'"', 1)[0].decode().removeprefix("#/components/").split("/")
        assert name in document["components"][kind]


def test_every_route_tells_each_status_that_it_answers_with() -> None:
    document = orjson.loads(described())
    for path, item in document["paths"].items():
        for method, operation in item.items():
            told = set(operation["responses"])
            assert "default" not in told, (method, path)
            assert {"400", "403", "413", "415", "421", "500", "503"} <= told, (method, path)
            assert ("401" in told) == (path != "/api/health"), (method, path)
            assert ("404" in told) >= ("{" in path), (method, path)
            assert any(status.startswith("2") for status in told), (method, path)


def test_every_refusal_tells_its_codes_and_is_a_problem() -> None:
    document = orjson.loads(described())
    for item in document["paths"].values():
        for operation in item.values():
            for status, told in operation["responses"].items():
                if status < "400":
                    continue
                name = told.get("$ref", "").removeprefix("#/components/responses/")
                answer = document["components"]["responses"][name] if name else told
                assert list(answer["content"]) == ["application/problem+json"]
                assert all(each.startswith("`") for each in answer["description"].split("; "))


def test_every_request_that_changes_something_has_a_body_and_no_parameter_is_null() -> None:
    document = orjson.loads(described())
    for item in document["paths"].values():
        for method, operation in item.items():
            if method in {"post", "put", "patch", "delete"}:
                assert operation["requestBody"]["required"] is True
            for parameter in operation.get("parameters", ()):
                assert {"type": "null"} not in parameter["schema"].get("anyOf", ())


def test_every_route_but_health_and_login_needs_a_token() -> None:
    document = orjson.loads(described())
    assert document["security"] == [{"token": []}]
    free = {
        path
        for path, item in document["paths"].items()
        for operation in item.values()
        if operation.get("security") == []
    }
    assert free == {"/api/health", "/api/login"}


def test_every_event_has_its_envelope_and_every_link_leads_to_a_route() -> None:
    document = orjson.loads(described())
    for each in document["components"]["schemas"]["AnyEvent"]["oneOf"]:
        name = each["$ref"].removeprefix("#/components/schemas/")
        required = document["components"]["schemas"][name]["required"]
        assert {"seq", "turn_id", "ts", "session_id", "type"} <= set(required)
    operations = [each for item in document["paths"].values() for each in item.values()]
    known = {each["operationId"] for each in operations}
    links = [
        link["operationId"]
        for operation in operations
        for answer in operation["responses"].values()
        for link in answer.get("links", {}).values()
    ]
    assert len(links) > 20
    assert set(links) <= known


def test_every_body_that_says_something_has_an_example_of_itself() -> None:
    document = orjson.loads(described())
    schemas = document["components"]["schemas"]
    bodies = {name: schema for name, schema in schemas.items() if name.endswith("Body")}
    assert "ChatBody" in bodies
    for name, schema in bodies.items():
        if not _is_of_a_request(name, document):
            continue
        assert schema.get("examples"), f"{name} has no example: give it one by `for_example`"
        for each in schema["examples"]:
            assert set(each) <= set(schema["properties"]), name
    for body in _bodies(Body):
        for each in body.model_json_schema().get("examples", ()):
            body.model_validate(each)


def _is_of_a_request(name: str, document: dict[str, Any]) -> bool:
    reference = f'"#/components/schemas/{name}"'.encode()
    return any(
        reference in orjson.dumps(operation.get("requestBody"))
        for item in document["paths"].values()
        for operation in item.values()
    )


def _bodies(root: type[Body]) -> Iterator[type[Body]]:
    for each in root.__subclasses__():
        yield each
        yield from _bodies(each)
