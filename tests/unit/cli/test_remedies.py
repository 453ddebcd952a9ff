"""At a terminal a remedy names commands, and each of them exists."""

import ast
import re
import socket
from pathlib import Path

import pytest
from typer.main import get_command

from supervisor.cli.main import app
from supervisor.cli.policy_sources import tidy
from supervisor.cli.remedies import at_a_terminal, in_words
from trustfloor.aio.connection import AsyncConnection
from trustfloor.errors import Refused, Unreachable
from trustfloor.private_socket import socket_at

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
        text = file.read_text("utf-8")
        if "/api/" not in text:  # most files: their trees are spared, at every collection
            continue
        tree = ast.parse(text)
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


def test_a_token_that_does_not_count_is_told_by_where_it_came_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = Refused(401, {"code": "unauthorized", "detail": "Send `Authorization: Bearer …`."})
    monkeypatch.delenv("TRUSTFLOOR_TOKEN", raising=False)
    monkeypatch.delenv("TRUSTFLOOR_URL", raising=False)
    message, where, remedy = in_words(answer)
    assert "data folder" in message
    assert where == "the file `token` of the data folder"
    assert "Bearer" not in message + str(remedy)
    monkeypatch.setenv("TRUSTFLOOR_TOKEN", "CANARY")
    told = in_words(answer)
    assert told[1] == "TRUSTFLOOR_TOKEN"
    assert "CANARY" not in "".join(map(str, told))


def test_a_scope_that_a_token_lacks_is_told_with_how_to_get_it() -> None:
    _, _, remedy = in_words(Refused(403, {"code": "forbidden", "detail": "no", "where": "admin"}))
    assert str(remedy).endswith("trustfloor tokens create NAME --scope admin")
    either = Refused(403, {"code": "forbidden", "detail": "no", "where": "admin, approve"})
    assert "--scope approve" in str(in_words(either)[2])
    other = Refused(403, {"code": "forbidden", "detail": "no", "where": "workspaces"})
    assert in_words(other) == ("no", "workspaces", None)


async def test_that_nobody_answers_is_told_in_words_and_without_numbers(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "left"))
    left.close()
    for name, why in (("none", "there is no socket"), ("left", "none listens there")):
        async with AsyncConnection(socket_at(tmp_path / name), "token") as connection:
            with pytest.raises(Unreachable, match=why) as told:
                await connection.answer("GET", "/")
        assert "rrno" not in told.value.message


def test_a_path_is_told_without_detours_unless_a_link_makes_it_another(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    assert tidy(tmp_path / "a" / "b" / ".." / ".." / "a") == tmp_path / "a"
    beyond = tmp_path / "link" / ".." / "b"
    assert tidy(beyond) == beyond
    assert tidy(Path("relative.yaml")) == Path("relative.yaml")
