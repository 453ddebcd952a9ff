"""A model that follows a script: the Messages API, played from a scenario, with faults on demand.

For trying a policy without a key, for the tour and for tests. It speaks to a Unix socket or to
loopback only, holds no key and asks for none; of one that comes along it keeps the digest.
"""

import argparse
import asyncio
import hashlib
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from supervisor.errors import TrustfloorError
from supervisor.gateway.admission import COUNT_TOKENS, MAX_BODY, MESSAGES
from supervisor.gateway.scenario import Scenario, ScriptedError, parse_scenario
from supervisor.gateway.screenplay import Cue, cue
from supervisor.gateway.scripted_answer import answer, refusal
from supervisor.gateway.unix_socket import BACKLOG, bound_socket

SOCKET_MODE = 0o600
LOOPBACK = "127.0.0.1"
FAILURES = "/_scripted/failures"
SEEN = "/_scripted/seen"
MAX_FAILURES = 100
MAX_KEYS = 100
BYTES_PER_TOKEN = 4


@dataclass(slots=True)
class ScriptedModel:
    """A scripted model that is being served, and what it has seen so far.

    `failures` are the expectations that did not hold, each once. `keys` has the SHA-256 of each API
    key that came with a request, and with how many.
    """

    scenario: Scenario
    base_url: str = "http://scripted-model"
    socket_path: Path | None = None
    requests: int = 0
    failures: list[str] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    _errors_given: dict[tuple[str, str, int], int] = field(default_factory=dict)

    def app(self) -> web.Application:
        """The HTTP application."""
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_post(MESSAGES, self._messages)
        app.router.add_post(COUNT_TOKENS, self._count_tokens)
        app.router.add_get(FAILURES, self._failures)
        app.router.add_get(SEEN, self._seen)
        app.router.add_route("*", "/{anything:.*}", _not_found)
        return app

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        self._note_key(request.headers.get("x-api-key"))
        try:
            body = json.loads(await request.read())
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return refusal(ScriptedError(400, "invalid_request_error", "not a JSON object"))
        played = cue(self.scenario, body)
        step = played.step
        if played.failure is not None:
            return self._fail(played)
        if step.error is not None and self._is_due(step.error, played, request):
            return refusal(step.error)
        return await answer(request, step, body)

    def _note_key(self, key: str | None) -> None:
        if key is None:
            return
        digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
        if digest in self.keys or len(self.keys) < MAX_KEYS:
            self.keys[digest] = self.keys.get(digest, 0) + 1

    def _fail(self, played: Cue) -> web.Response:
        text = f"script {played.script!r}, step {played.number}: {played.failure}"
        if text not in self.failures and len(self.failures) < MAX_FAILURES:
            self.failures.append(text)
        message = f"scripted expectation failed: {text}"
        return refusal(ScriptedError(400, "invalid_request_error", message))

    def _is_due(self, error: ScriptedError, played: Cue, request: web.Request) -> bool:
        if error.times is None:
            return True
        session = request.headers.get("x-claude-code-session-id", "")
        key = (session, played.script, played.number)
        given = self._errors_given.get(key, 0)
        self._errors_given[key] = given + 1
        return given < error.times

    async def _count_tokens(self, request: web.Request) -> web.Response:
        size = len(await request.read())
        return web.json_response({"input_tokens": max(1, size // BYTES_PER_TOKEN)})

    async def _failures(self, _request: web.Request) -> web.Response:
        return web.json_response({"failures": self.failures, "requests": self.requests})

    async def _seen(self, _request: web.Request) -> web.Response:
        return web.json_response({"requests": self.requests, "keys": self.keys})


@asynccontextmanager
async def serve_scripted(
    scenario: Scenario, *, socket_path: Path | None = None, port: int | None = None
) -> AsyncIterator[ScriptedModel]:
    """Serve the scenario on a Unix socket, or on a loopback port (0: any free one).

    Exactly one of the two is given. Raises OSError if it is taken.
    """
    if (socket_path is None) == (port is None):
        raise ValueError("either a socket path or a port is needed")
    model = ScriptedModel(scenario, socket_path=socket_path)
    runner = web.AppRunner(
        model.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
    )
    async with AsyncExitStack() as stack:
        bound = stack.enter_context(bound_socket(socket_path, SOCKET_MODE)) if socket_path else None
        stack.push_async_callback(runner.cleanup)
        await runner.setup()
        if bound is not None:
            await web.SockSite(runner, bound, backlog=BACKLOG).start()
        else:
            await web.TCPSite(runner, LOOPBACK, port).start()
            model.base_url = f"http://{LOOPBACK}:{runner.addresses[0][1]}"
        yield model


async def _not_found(_request: web.Request) -> web.Response:
    return refusal(ScriptedError(404, "not_found_error", "the scripted model has no such route"))


async def _serve_forever(scenario: Scenario, socket_path: Path | None, port: int | None) -> None:
    async with serve_scripted(scenario, socket_path=socket_path, port=port) as model:
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
        sys.stdout.write(f"scripted model at {model.socket_path or model.base_url}\n")
        sys.stdout.flush()
        await stopped.wait()


def main() -> int:
    """Serve a scenario file until interrupted or terminated."""
    parser = argparse.ArgumentParser(prog="python -m supervisor.gateway.scripted_model")
    parser.add_argument("file", type=Path, help="the scenario, see docs/scripted-model.md")
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--socket", type=Path, help="a Unix socket to make")
    place.add_argument("--port", type=int, help="a loopback port; 0: any free one")
    given = parser.parse_args()
    try:
        scenario = parse_scenario(given.file.read_text(encoding="utf-8"), file=str(given.file))
        asyncio.run(_serve_forever(scenario, given.socket, given.port))
    except TrustfloorError as error:
        sys.stderr.write(f"{error.where}: {error.message}\n")
        return 2
    except (OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
