"""Text that no file, database or JSON can hold is refused or explained on every route: never a 500.

The routes and the fields are those of the OpenAPI document, so that a new one is tried as well.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest

from supervisor.cli.json_out import write_json
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.played_turns import done

JSON: Final = {"Content-Type": "application/json"}
HALF: Final = "\ud800"


def nested(levels: int) -> Any:
    """Objects in each other, so deep."""
    found: Any = "x"
    for _ in range(levels):
        found = {"a": found}
    return found


ODD: Final[Mapping[str, Any]] = {
    "half a character": f"notes/{HALF}.md",
    "half of one inside": {"command": [f"cat {HALF}"]},
    "half of one as a key": {HALF: "x"},
    "NUL": "a\0",
    "a very long text": "a" * 70_000,
    "numbers that are none": {"a": [10**30, float("nan"), float("inf")]},
    "nested": {"a": [nested(300)]},
}
PATHS: Final = ("%ED%A0%80", "%FF", "a%00b", "%F4%90%80%80", "a" * 5_000)


@pytest.fixture(name="world")
async def world_fixture(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as made:
        yield made


def schema_of(world: ApiWorld, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema itself, where only its name is told."""
    for one in schema.get("anyOf", ()):
        if "$ref" in one:
            return schema_of(world, one)
    name = schema.get("$ref", "").rpartition("/")[2]
    return world.openapi["components"]["schemas"][name] if name else schema


def filler(world: ApiWorld, schema: Mapping[str, Any]) -> Any:
    """A value that would do."""
    schema = schema_of(world, schema)
    kind = str(schema.get("type"))
    if "enum" in schema:
        return schema["enum"][0]
    return {"object": {}, "array": [], "integer": 1, "boolean": True}.get(kind, "x")


def bodies(world: ApiWorld, schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Bodies with one odd value in one field, and what is odd."""
    schema = schema_of(world, schema)
    good = {name: filler(world, schema["properties"][name]) for name in schema.get("required", ())}
    good |= (schema.get("examples") or [{}])[0]
    for what, value in ODD.items():
        yield f"the whole: {what}", value
        for name in (*schema.get("properties", ()), "unheard-of"):
            yield f"{name}: {what}", {**good, name: value}


async def routes(world: ApiWorld) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Method, path and description of every route that ends by itself."""
    session = await world.session()
    world.turns.script = [done(session)]
    return [
        (method.upper(), template.replace("{session_id}", session), told)
        for template, item in world.openapi["paths"].items()
        for method, told in item.items()
        if not template.endswith("/stream") or method == "post"
    ]


def named(path: str) -> str:
    """The path with a name of nothing in each place."""
    return path.replace("{", "").replace("}", "")


def check(answer: httpx.Response, what: str) -> None:
    """An answer, or a problem that says what is wrong; no fault of ours."""
    assert answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR, f"{what}: {answer.text[:300]}"
    if answer.is_error:
        assert answer.headers["content-type"] == "application/problem+json", what
        assert answer.json()["detail"], what


async def test_in_any_field_of_any_body(world: ApiWorld) -> None:
    tried = 0
    async with world.client() as client:
        for method, path, told in await routes(world):
            content = told.get("requestBody", {}).get("content", {}).get("application/json", {})
            if not content.get("schema"):
                continue

            async def sent(what: str, body: Any, at: tuple[str, str] = (method, path)) -> None:
                content = json.dumps(body)
                answer = await client.request(at[0], named(at[1]), content=content, headers=JSON)
                check(answer, f"{at} {what}")

            async with asyncio.TaskGroup() as group:
                for what, body in bodies(world, content["schema"]):
                    group.create_task(sent(what, body))
                    tried += 1
    assert tried > len(ODD) * 40


async def test_in_any_path_and_query(world: ApiWorld) -> None:
    async with world.client() as client:
        for method, path, told in await routes(world):
            for odd in PATHS:
                url = "/".join(odd if part.startswith("{") else part for part in path.split("/"))
                asked = [url] if url != path else []
                asked += [
                    f"{named(path)}?{quote(each['name'])}={odd}"
                    for each in told.get("parameters", ())
                    if each["in"] == "query"
                ]
                answers = [client.request(method, one, headers=JSON) for one in asked]
                for one, answer in zip(asked, await asyncio.gather(*answers), strict=True):
                    check(answer, f"{method} {one[:200]}")


@pytest.mark.parametrize("route", ["captures", "import"])
@pytest.mark.parametrize("charset", ["undefined", "unicode_escape", "utf-7", "no-such"])
async def test_in_a_form(world: ApiWorld, route: str, charset: str) -> None:
    part = '--X\r\nContent-Disposition: form-data; name="file"; filename="\\ud800.md"\r\n\r\nx\r\n'
    kind = f"multipart/form-data; boundary=X; charset={charset}"
    async with world.client() as client:
        answer = await client.post(
            f"/api/{route}", content=f"{part}--X--\r\n", headers={"Content-Type": kind}
        )
    check(answer, charset)


@pytest.mark.parametrize(
    ("tool", "given", "where", "why"),
    [
        ("Bash", {"command": f"cat {HALF}"}, "input.command", "Unicode"),
        ("Read", {"file_path": HALF}, "input.file_path", "Unicode"),
        ("mcp__a__b", {"x": [{"y": HALF}]}, "input.x.0.y", "Unicode"),
        ("mcp__a__b", {"x": nested(300)}, "input", "nested 100 deep"),
        ("mcp__a__b", {"x": nested(900)}, "input", "nested 100 deep"),
    ],
    ids=["command", "path", "deep inside", "300 levels", "900 levels"],
)
async def test_a_call_that_cannot_be_explained_is_refused_with_the_place(
    world: ApiWorld, tool: str, given: dict[str, Any], where: str, why: str
) -> None:
    async with world.client() as client:
        body = json.dumps({"tool": tool, "input": given})
        answer = await client.post("/api/policy/explain", content=body, headers=JSON)
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    said = answer.json()
    assert said["where"] == where
    assert why in said["detail"]


async def test_control_a_call_that_is_nested_less_and_has_odd_numbers_is_explained(
    world: ApiWorld,
) -> None:
    async with world.client() as client:
        given = {"x": nested(90), "n": [10**30, float("nan")], "t": "\u2028\uffff🐝"}
        body = json.dumps({"tool": "mcp__a__b", "input": given})
        answer = await client.post("/api/policy/explain", content=body, headers=JSON)
    assert answer.status_code == HTTPStatus.OK


def test_a_command_tells_it_as_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"text": f"a{HALF}", "deep": nested(300), "number": 10**30})
    told = json.loads(capsys.readouterr().out)
    assert told["text"] == "a\ufffd"
    assert told["number"] == 10**30


async def test_a_command_that_is_given_no_utf_8_says_so(world: ApiWorld) -> None:
    word = os.fsdecode(b"a\xff")
    for command in (("sessions", "list", "--tag", word), ("chat", word)):
        ran = await world.command(*command)
        assert ran.status == 2
        assert ran.err == "error: a word of the command is no UTF-8, and can't be sent\n"
