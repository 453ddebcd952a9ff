"""The client before what isn't a supervisor, and as a package that programs are checked against."""

import asyncio
import threading
import tomllib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from trustfloor.client import AsyncClient, Client, Unexpected, Unreachable

ROOT = Path(__file__).parents[2]
HTML = ("text/html", b"<html>it works</html>")
NOBODYS_TURN = ("text/event-stream", b"id: 1\nevent: text\ndata: {}\n\n")
NO_JSON = ("text/event-stream", b"id: 1\nevent: text\ndata: {nope\n\n")
NO_NUMBER = ("text/event-stream", b"id: one\nevent: text\ndata: {}\n\n")
OF_A_TURN = {"trustfloor-session": "s", "trustfloor-after": "0"}


class _Server(ThreadingHTTPServer):
    """Answers everything with the same."""

    kind, content = HTML
    headers: dict[str, str] = {}  # noqa: RUF012 - set by each test before it is asked
    asked = 0


class _Answer(BaseHTTPRequestHandler):
    server: _Server

    def _say(self) -> None:
        self.server.asked += 1
        self.send_response(200)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", self.server.kind)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    do_GET = do_POST = _say  # noqa: N815 - the names that the base class calls

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def other() -> Iterator[_Server]:
    """A server that is no supervisor."""
    with _Server(("127.0.0.1", 0), _Answer) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _client(server: _Server) -> Client:
    return Client(f"http://127.0.0.1:{server.server_port}", "a-token")


ASKS: dict[str, Callable[[Client], object]] = {
    "health": lambda client: client.health(),
    "ask": lambda client: client.ask("hello"),
    "send": lambda client: list(client.send("hello")),
    "events": lambda client: next(client.events()),
    "follow": lambda client: next(client.sessions.follow("s")),
    "watch": lambda client: next(client.permissions.watch()),
    "stored": lambda client: client.stored_events(),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS.keys())
def test_whatever_is_asked_of_another_server_is_unexpected_at_once(
    other: _Server, ask: Callable[[Client], object]
) -> None:
    with pytest.raises(Unexpected) as raised:
        ask(_client(other))
    assert str(other.server_port) in str(raised.value.where)
    assert raised.value.remedy
    assert other.asked == 1


@pytest.mark.parametrize(
    ("answer", "headers"), [(NOBODYS_TURN, {}), (NO_JSON, OF_A_TURN), (NO_NUMBER, OF_A_TURN)]
)
def test_a_stream_that_is_no_turns_is_unexpected(
    other: _Server, answer: tuple[str, bytes], headers: dict[str, str]
) -> None:
    other.kind, other.content = answer
    other.headers = headers
    with pytest.raises(Unexpected):
        list(_client(other).send("hello"))


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("token", ["tf_canary\ntail", "tf_canary tail", "tf_canaryé", ""])
def test_what_no_header_can_carry_is_no_token_and_is_not_repeated(
    kind: type[Client | AsyncClient], token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRUSTFLOOR_TOKEN", raising=False)
    monkeypatch.setenv("TRUSTFLOOR_DATA_DIR", "/nowhere")
    with pytest.raises(Unreachable) as raised:
        kind("http://127.0.0.1:9", token)
    error: BaseException | None = raised.value
    while error is not None:
        assert "canary" not in repr(error) + str(error) + str(vars(error))
        error = error.__cause__ or error.__context__


async def test_a_token_as_its_file_holds_it_is_taken(other: _Server) -> None:
    with pytest.raises(Unexpected):
        await AsyncClient(f"http://127.0.0.1:{other.server_port}", "a-token\n").health()
    with pytest.raises(Unexpected):
        await asyncio.to_thread(
            Client(f"http://127.0.0.1:{other.server_port}", " a-token\r\n").health
        )


def test_programs_are_checked_against_the_packages_types() -> None:
    """PEP 561: without the marker a type checker takes all that comes from here for `Any`."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for package in ("trustfloor", "supervisor"):
        assert (ROOT / package / "py.typed").is_file()
        assert "py.typed" in data["package-data"][package]
