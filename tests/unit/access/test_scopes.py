"""Each route takes its scope: the table has all of them, and closes what it hasn't."""

import itertools
import re

import orjson
import pytest

from supervisor.access.holder import Holder, NotAllowed, Scope
from supervisor.api.cut_off import is_long
from supervisor.api.scopes import DEMANDS, FORGOTTEN, demand_of
from tests.surface.regen import described

DOCUMENT = orjson.loads(described())
ROUTES = [(method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item]
FREE = {("GET", "/api/health"), ("POST", "/api/login")}


def test_the_table_has_every_route_and_no_other() -> None:
    there = {f"{method} {path}" for method, path in ROUTES if (method, path) not in FREE}
    assert set(DEMANDS) - {"GET /api/openapi.json"} == there


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_what_fills_a_place_in_a_path_changes_nothing(method: str, path: str) -> None:
    if (method, path) in FREE:
        return
    wanted = DEMANDS[f"{method} {path}"]
    for filled in ("x", "a b", "%2e", "x\ny", "stream", "codes;x"):
        said = re.sub(r"\{[a-z_]+\}", filled.replace("\\", ""), path)
        assert demand_of(method, said) == wanted
    assert demand_of("HEAD" if method == "GET" else method, path) == wanted


@pytest.mark.parametrize("path", ["/api/new", "/api/chat/", "/api//chat", "/api/chat/x", "/"])
def test_what_is_not_in_the_table_takes_an_admin(path: str) -> None:
    assert demand_of("POST", path) is FORGOTTEN
    for scopes in itertools.combinations(Scope, 2):
        holder = Holder("t", "t", frozenset(scopes))
        if Scope.ADMIN in scopes:
            FORGOTTEN.require(holder)
        else:
            with pytest.raises(NotAllowed):
                FORGOTTEN.require(holder)


def test_every_route_that_streams_is_one_that_ends_with_its_token() -> None:
    streaming = [
        (method, path)
        for method, path in ROUTES
        if "text/event-stream"
        in DOCUMENT["paths"][path][method.lower()]["responses"].get("200", {}).get("content", {})
    ]
    assert len(streaming) >= 3
    assert all(is_long(method, path) for method, path in streaming)
