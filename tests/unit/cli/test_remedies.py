"""At a terminal a remedy names commands, and each of them exists."""

import ast
import re
from pathlib import Path

import pytest
from typer.main import get_command

from supervisor.cli.main import app
from supervisor.cli.remedies import at_a_terminal

ROOT = Path(__file__).parents[3] / "supervisor"
ROUTE = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) /api/(?!me\b)")
"""All but what only a page with a login is told."""

ALONE = re.compile(r"[A-Z]+ /\S+")
"""A route as a key of some table tells nobody what to do."""


def told() -> list[str]:
    """Each text of the supervisor that sends a person to a route, with its names filled in."""
    found: list[str] = []
    for file in ROOT.rglob("*.py"):
        if file.name == "scopes.py":  # a table of routes, told to nobody
            continue
        tree = ast.parse(file.read_text("utf-8"))
        silent = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                silent |= {id(each) for each in node.values}
                parts = [
                    str(each.value) if isinstance(each, ast.Constant) else "notes"
                    for each in node.values
                ]
                found.append("".join(parts))
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in silent
                and "cli" not in file.parts
            ):
                found.append(node.value)
    return [text for text in found if ROUTE.search(text) and not ALONE.fullmatch(text)]


def test_there_are_remedies_that_name_routes() -> None:
    assert len(told()) >= 8


@pytest.mark.parametrize("remedy", told())
def test_each_is_told_with_a_command_that_exists(remedy: str) -> None:
    said = at_a_terminal(remedy)
    assert "/api/" not in said
    named = re.findall(r"trustfloor ((?:[a-z]+ ?)+)", said)
    assert named
    for words in named:
        group = get_command(app)
        for word in words.split():
            commands = getattr(group, "commands", None)
            if not commands and not hasattr(group, "get_command"):
                break
            found = group.get_command(None, word)  # type: ignore[attr-defined]
            assert found is not None, said
            group = found


def test_what_names_no_route_stays_as_it_is() -> None:
    assert at_a_terminal("run: trustfloor doctor") == "run: trustfloor doctor"
