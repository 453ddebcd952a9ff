"""docs/api.md shows each route of the API once with a command that can be run, and no other."""

import json
import re
import shlex
from pathlib import Path

import orjson
import pytest

from supervisor.api.main import make_routes
from tests.surface.regen import described

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
VARIABLES = {
    "$SESSION": "{session_id}",
    "$REQUEST": "{request_id}",
    "$GRANT": "{grant_id}",
    "$TOKEN_ID": "{token_id}",
    "$LOGIN": "{login_id}",
    "/family": "/{slug}",
    "/agents/agents/writer.md": "/agents/{path}",
    "/mcp/notes": "/mcp/{name}",
    "/captures/plan.md": "/captures/{filename}",
}
DOCUMENT = orjson.loads(described())
ROUTES = sorted(
    (method.upper(), path)
    for path, item in DOCUMENT["paths"].items()
    for method in item
    if method != "head"
)


def commands() -> list[list[str]]:
    """Every curl command of the page, as a shell would split it, without comments."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.startswith("curl ")]


def shown(command: list[str]) -> tuple[str, str]:
    """The method and the route that a command calls."""
    (url,) = (word for word in command if word.startswith("$URL"))
    path = url.removeprefix("$URL").partition("?")[0]
    for name, parameter in VARIABLES.items():
        path = path.replace(name, parameter)
    named = command[command.index("-X") + 1] if "-X" in command else None
    return named or ("POST" if "-d" in command else "GET"), path


CALLS = [shown(command) for command in commands()]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_has_an_example(method: str, path: str) -> None:
    assert (method, path) in CALLS


def test_every_example_calls_a_route_that_there_is() -> None:
    assert set(CALLS) - set(ROUTES) == {("GET", str(make_routes().openapi_url))}


def test_every_example_but_health_sends_the_token_and_every_body_is_json() -> None:
    for command in commands():
        free = {"/api/health", "/api/login", "/api/logout"}
        assert ("$AUTH" in command) == (shown(command)[1] not in free), command
        assert ("$JSON" in command) == (shown(command)[0] != "GET"), command


@pytest.mark.parametrize("command", [each for each in commands() if "-d" in each], ids=str)
def test_every_example_sends_fields_that_the_route_takes(command: list[str]) -> None:
    body = json.loads(command[command.index("-d") + 1])
    method, path = shown(command)
    schema = DOCUMENT["paths"][path][method.lower()]["requestBody"]["content"]["application/json"]
    named = re.findall(r"#/components/schemas/(\w+)", json.dumps(schema))
    fields = {
        field for name in named for field in DOCUMENT["components"]["schemas"][name]["properties"]
    }
    assert set(body) <= fields


def test_every_event_is_explained() -> None:
    section = PAGE.split("\n## Events\n")[1]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    told = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert told == set(DOCUMENT["components"]["schemas"]["AnyEvent"]["discriminator"]["mapping"])
