"""`trustfloor serve`: run the supervisor until it is told to stop."""

import asyncio
import contextlib
import ipaddress
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from supervisor.api.faults import say
from supervisor.api.main import make_api
from supervisor.api.parts import Parts
from supervisor.app import open_supervisor
from supervisor.cli.choices import choice, whole_number
from supervisor.cli.complaints import complain_of_error
from supervisor.cli.descriptors import take_enough_descriptors
from supervisor.cli.hidden_key import close_memory, take_hidden_key
from supervisor.cli.http_server import (
    Server,
    address_here,
    address_of,
    bind,
    bound_beside_the_token,
)
from supervisor.cli.journal import goes_to_journal
from supervisor.errors import ConfigurationError, TrustfloorError
from supervisor.events.redact import Redactor
from supervisor.gateway.opened import read_script
from supervisor.observability.logs import configure_logs, fields
from supervisor.settings import Settings
from supervisor.trust.levels import TrustLevel

_TOKEN_SHOWN = "token.shown"  # noqa: S105 - a file's name
logger = logging.getLogger(__name__)


def serve(  # noqa: PLR0913 - each is an option of the command
    *,
    vault: Annotated[Path | None, typer.Option(help="The folder that agents work on.")] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where token, events and logs are kept.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to bind; loopback only.")] = None,
    port: Annotated[
        int | None, whole_number(help="Port to bind: 3333 if left out, 0 for a free one.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A model's name, or scripted:FILE for the scripted one.")
    ] = None,
    floor: Annotated[
        TrustLevel | None, choice(TrustLevel, help="No session runs at a looser level.")
    ] = None,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote",
            help="Bind an address other machines reach, without TLS of our own: put a proxy with"
            " TLS in front, and list its name in TRUSTFLOOR_ALLOWED_HOSTS.",
        ),
    ] = False,
) -> None:
    """Run the supervisor until Ctrl-C or SIGTERM; settings also come from TRUSTFLOOR_… variables.

    Told to stop, it lets running turns go on for TRUSTFLOOR_SHUTDOWN_SECONDS and tells their
    clients how they ended; told twice, it stops them at once. The log goes to standard error.
    Exit status 0 after an orderly stop, 1 if it could not run, 2 if what was asked makes no sense.
    """
    close_memory()
    take_enough_descriptors()
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
    certificate = _certificate(settings)
    _require_loopback(settings.host, allow_remote=allow_remote or certificate is not None)
    _require_script(settings)
    key = settings.api_key.get_secret_value() if settings.api_key else ""
    configure_logs(settings.log_format, redact=Redactor([key]).text)
    try:
        asyncio.run(_serve(settings, certificate))
    except TrustfloorError as error:
        complain_of_error(error.message, error.where, error.remedy)
        raise typer.Exit(1) from None
    except asyncio.CancelledError:
        complain_of_error("stopped before it was up")
        raise typer.Exit(1) from None


def _settings(**options: Any) -> Settings:
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            complain_of_error(say(fault), ".".join(map(str, fault["loc"])))
        raise typer.Exit(2) from None
    except ConfigurationError as error:
        complain_of_error(error.message, error.where, error.remedy)
        raise typer.Exit(2) from None


def _require_model(settings: Settings) -> None:
    if settings.api_key is None and settings.scenario is None:
        model = settings.model or ""
        for file in (model, model.partition(":")[2]):
            if file and _unreadable(Path(file)) is None:
                complain_of_error(
                    "this is a file, and no model's name",
                    f"--model, TRUSTFLOOR_MODEL: {model}",
                    f"to play it as a script, name it so: scripted:{file}",
                )
                raise typer.Exit(2)
        complain_of_error(
            "there is no model to talk to",
            "ANTHROPIC_API_KEY",
            "set ANTHROPIC_API_KEY; or try everything without a key: `trustfloor demo`, or"
            " `trustfloor serve --model scripted:FILE`",
        )
        raise typer.Exit(2)


def _require_script(settings: Settings) -> None:
    """Look at the scripted model's file before anything is made for it."""
    if settings.scenario is None:
        return
    try:
        read_script(settings.scenario)
    except ConfigurationError as error:
        complain_of_error(error.message, error.where, error.remedy)
        raise typer.Exit(1) from None


def _certificate(settings: Settings) -> ssl.SSLContext | None:
    """What TLS is spoken with; None: it isn't. Ends the command if the files are no good."""
    if settings.tls_cert is None and settings.tls_key is None:
        return None
    for name, file in (("tls_cert", settings.tls_cert), ("tls_key", settings.tls_key)):
        said = "this setting is missing" if file is None else _unreadable(file)
        if said is not None:
            where = f"TRUSTFLOOR_{name.upper()}" + ("" if file is None else f": {file}")
            complain_of_error(said, where, "name the certificate and its key, both as PEM files")
            raise typer.Exit(2)
    assert settings.tls_cert is not None  # noqa: S101 - looked at above
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password="")
    except (ssl.SSLError, OSError, ValueError) as error:
        complain_of_error(
            f"the certificate can't be used: {error}",
            f"{settings.tls_cert}, {settings.tls_key}",
            "the key has to be the certificate's own, without a passphrase, both as PEM files",
        )
        raise typer.Exit(2) from None
    return context


def _unreadable(file: Path) -> str | None:
    try:
        with file.open("rb"):
            return None
    except FileNotFoundError:
        return "there is no such file"
    except OSError as error:
        return f"this can't be read: {error.strerror}"


def _require_loopback(host: str, *, allow_remote: bool) -> None:
    if allow_remote or _is_loopback(host):
        return
    complain_of_error(
        "other machines could reach this address, and traffic is not encrypted",
        host,
        "bind 127.0.0.1; or set TRUSTFLOOR_TLS_CERT and TRUSTFLOOR_TLS_KEY; or say --allow-remote"
        " and put a proxy with TLS in front",
    )
    raise typer.Exit(2)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _serve(settings: Settings, certificate: ssl.SSLContext | None) -> None:
    told_to_stop = _Stop()
    with told_to_stop.heeded(), contextlib.closing(bind(settings)) as listener:
        async with open_supervisor(settings) as parts:
            configure_logs(settings.log_format, redact=parts.log.redact)
            _warn_of_processors(settings)
            with bound_beside_the_token(settings) as beside:
                server = Server(
                    make_api(parts, address=address_here(settings, listener)),
                    parts,
                    lambda: _announce(parts, listener),
                    certificate,
                    beside,
                )
                told_to_stop.then(server.stop)
                await server.serve([listener])
        logger.info("stopped")


def _warn_of_processors(settings: Settings) -> None:
    """Say so if more processors were asked for than there are; the default asks for nothing."""
    has = os.cpu_count() or 1
    if "sandbox_cpus" in settings.model_fields_set and settings.sandbox_cpus > has:
        logger.warning(
            "TRUSTFLOOR_SANDBOX_CPUS is %g, but this machine has %d: sandboxes get %d",
            settings.sandbox_cpus,
            has,
            has,
        )


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


def _announce(parts: Parts, listener: socket.socket) -> None:
    settings = parts.settings
    url = address_of(settings, listener)
    logger.info("listening", extra=fields(url=url, vault=str(settings.vault)))
    _say(f"listening  {url}")
    _say(f"vault      {settings.vault}")
    _say(f"model      {settings.model or 'as each session asks, by the real API'}")
    _say(f"floor      {settings.floor.value}")
    shown = settings.data_dir / _TOKEN_SHOWN
    # In a journal it would stay, for others to read.
    stays = goes_to_journal(sys.stdout.fileno(), os.environ)
    if settings.show_token and not stays and not shown.exists():
        _say(f"token      {parts.token.get_secret_value()}   (shown this once)")
        shown.touch(mode=0o600)
    _say(f"token in   {settings.data_dir / 'token'}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
