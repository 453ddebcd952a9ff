"""The client has a method for each route there is, and its two forms are the same."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trustfloor.aio.client import AsyncClient
from trustfloor.sync.client import Client

ROOT = Path(__file__).parents[2]
DOCUMENT = json.loads((ROOT / "tests" / "surface" / "openapi.json").read_text())
ROUTES = sorted(
    (method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item
)


def shape(path: str) -> str:
    """A path with its gaps alike, whatever they are called."""
    return re.sub(r"\{[^}]*\}", "{}", path.partition("?")[0])


def texts(tree: ast.AST, names: dict[str, str]) -> set[str]:
    """All texts below, with those that names stand for; f-strings have a gap for each value."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.Name) and node.id in names:
            found.add(names[node.id])
        elif isinstance(node, ast.JoinedStr):
            parts = [
                str(each.value)
                if isinstance(each, ast.Constant)
                else names.get(getattr(getattr(each, "value", None), "id", ""), "{}")
                for each in node.values
            ]
            found.add("".join(parts))
        elif isinstance(node, ast.BinOp):
            sides = (node.left, node.right)
            said = [
                names.get(side.id, "") if isinstance(side, ast.Name) else getattr(side, "value", "")
                for side in sides
            ]
            found.add("".join(map(str, said)))
    return found


def asked() -> set[tuple[str, str]]:
    """The method and path of each request that the client's code makes."""
    found: set[tuple[str, str]] = set()
    for file in (ROOT / "trustfloor" / "aio").glob("*.py"):
        tree = ast.parse(file.read_text())
        names = {
            node.targets[0].id: str(node.value.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
        }
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                said = texts(function, names)
                methods = said & {"POST", "PUT", "PATCH", "DELETE", "GET"} or {"GET"}
                methods |= {"POST"} if "_upload" in ast.unparse(function) else set()
                methods |= {"POST"} if "http.post(" in ast.unparse(function) else set()
                found |= {
                    (m, shape(each))
                    for m in methods
                    for each in said
                    if "/api/" in each or each == "/metrics"
                }
    return found


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_has_a_method(method: str, path: str) -> None:
    assert (method, shape(path)) in asked()


def test_the_client_without_an_event_loop_is_made_of_the_other() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "tests.surface.sync_client", "--check"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr


def test_both_have_the_same_names() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(AsyncClient) == public(Client)


def test_no_token_is_in_what_a_client_shows() -> None:
    for kind in (AsyncClient, Client):
        client = kind("http://127.0.0.1:9", "canary-token")
        assert "canary-token" not in repr(client) + repr(vars(client))
