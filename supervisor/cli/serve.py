"""`trustfloor serve`: run the supervisor until it is told to stop."""

import asyncio
import contextlib
import ipaddress
import math
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
import uvicorn
from pydantic import SecretStr, ValidationError

from supervisor.api.main import Api, make_api
from supervisor.app import open_supervisor
from supervisor.cli.hidden_key import close_memory, take_hidden_key
from supervisor.errors import TrustfloorError
from supervisor.events.redact import Redactor
from supervisor.observability.logs import configure_logs
from supervisor.settings import Settings
from supervisor.trust.levels import TrustLevel

_SCRIPTED = "scripted:"


def serve(  # noqa: PLR0913 - each is an option of the command
    *,
    vault: Annotated[Path | None, typer.Option(help="The folder that agents work on.")] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where token, events and logs are kept.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to bind; loopback only.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to bind; 0 takes a free one.")] = None,
    model: Annotated[
        str | None, typer.Option(help="A model's name, or scripted:FILE for the scripted one.")
    ] = None,
    floor: Annotated[
        TrustLevel | None, typer.Option(help="No session runs at a looser level.")
    ] = None,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote",
            help="Bind an address other machines reach. Traffic is not encrypted: put a proxy with"
            " TLS in front, and list its name in TRUSTFLOOR_ALLOWED_HOSTS.",
        ),
    ] = False,
) -> None:
    """Run the supervisor until Ctrl-C or SIGTERM; settings also come from TRUSTFLOOR_… variables.

    Exit status 0 after an orderly stop, 1 if it could not run, 2 if what was asked makes no sense.
    """
    close_memory()
    settings = _settings(
        api_key=take_hidden_key(),
        vault=vault,
        data_dir=data_dir,
        host=host,
        port=port,
        model=model,
        floor=floor,
    )
    _require_model(settings)
    _require_loopback(settings.host, allow_remote=allow_remote)
    key = settings.api_key.get_secret_value() if settings.api_key else ""
    configure_logs(settings.log_format, redact=Redactor([key]).text)
    try:
        asyncio.run(_serve(settings))
    except TrustfloorError as error:
        _complain(error.message, error.where, error.remedy)
        raise typer.Exit(1) from None
    except asyncio.CancelledError:
        _complain("stopped before it was up", None, None)
        raise typer.Exit(1) from None


def _settings(**options: Any) -> Settings:
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            _complain(fault["msg"], ".".join(map(str, fault["loc"])), None)
        raise typer.Exit(2) from None


def _require_model(settings: Settings) -> None:
    if settings.api_key is None and not (settings.model or "").startswith(_SCRIPTED):
        _complain(
            "there is no model to talk to",
            "ANTHROPIC_API_KEY",
            "set ANTHROPIC_API_KEY; or try everything without a key: `trustfloor demo`, or"
            " `trustfloor serve --model scripted:FILE`",
        )
        raise typer.Exit(2)


def _require_loopback(host: str, *, allow_remote: bool) -> None:
    if allow_remote or _is_loopback(host):
        return
    _complain(
        "other machines could reach this address, and traffic is not encrypted",
        host,
        "bind 127.0.0.1, or say --allow-remote and put a proxy with TLS in front",
    )
    raise typer.Exit(2)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _serve(settings: Settings) -> None:
    told_to_stop = _Stop()
    with told_to_stop.heeded(), contextlib.closing(_bind(settings)) as listener:
        first_start = not (settings.data_dir / "token").exists()
        async with open_supervisor(settings) as parts:
            configure_logs(settings.log_format, redact=parts.log.redactor.text)
            api = make_api(parts)
            token = parts.token if first_start else None
            server = _Server(api, settings, lambda: _announce(settings, listener, token))
            told_to_stop.then(server.stop)
            await server.serve([listener])


def _bind(settings: Settings) -> socket.socket:
    """The listening address, taken before anything starts, so that two supervisors can't share it.

    Until the server listens on it, callers are refused rather than left waiting.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise TrustfloorError(
            f"the address can't be taken: {error.strerror or error}",
            where=f"{settings.host}:{settings.port}",
            remedy="end what listens there, or choose another with --port",
        ) from None
    return listener


class _Server(uvicorn.Server):
    """The HTTP server, stopped by us: signals belong to the whole supervisor, not to it alone."""

    def __init__(self, api: Api, settings: Settings, listening: Callable[[], None]) -> None:
        self._api = api
        self._listening = listening
        super().__init__(
            uvicorn.Config(
                api,
                http="h11",
                ws="none",
                lifespan="off",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                log_config=None,
                log_level="warning",
                timeout_graceful_shutdown=math.ceil(settings.shutdown_seconds),
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone: uvicorn would raise them again, past our own clean-up."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and only then say so: who reads it may connect at once."""
        await super().startup(sockets)
        if not self.should_exit:
            self._listening()

    def stop(self) -> None:
        """End streams that have no end, let turns' streams end, take nothing new."""
        self._api.close_streams()
        self.force_exit = self.should_exit
        self.should_exit = True


class _Stop:
    """What SIGINT and SIGTERM do: cancel the start, and once there is a server, stop that."""

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - made within a coroutine only
        self._act: Callable[[], object] = task.cancel

    def then(self, act: Callable[[], object]) -> None:
        """From now on, do this instead."""
        self._act = act

    @contextlib.contextmanager
    def heeded(self) -> Iterator[None]:
        """Within the block the signals come here."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for each in signals:
            loop.add_signal_handler(each, lambda: self._act())  # noqa: PLW0108 - as it is then
        try:
            yield
        finally:
            for each in signals:
                loop.remove_signal_handler(each)


def _announce(settings: Settings, listener: socket.socket, token: SecretStr | None) -> None:
    host, port = listener.getsockname()[:2]
    _say(f"listening  http://{f'[{host}]' if ':' in host else host}:{port}")
    _say(f"vault      {settings.vault}")
    _say(f"model      {settings.model or 'as each session asks, by the real API'}")
    _say(f"floor      {settings.floor.value}")
    if token is not None:
        _say(f"token      {token.get_secret_value()}   (shown this once)")
    _say(f"token in   {settings.data_dir / 'token'}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _complain(message: str, where: str | None, remedy: str | None) -> None:
    lines = [f"error: {message}"]
    if where:
        lines.append(f"  where: {where}")
    if remedy:
        lines.append(f"  what to do: {remedy}")
    sys.stderr.write("\n".join(lines) + "\n")
