"""`trustfloor doctor`: look at everything a turn needs, and say what to do where it is missing."""

import asyncio
import importlib.metadata
import importlib.util
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import typer
from pydantic import ValidationError

from supervisor.api.faults import say
from supervisor.cli.client import find_token, find_url
from supervisor.cli.counted import counted
from supervisor.cli.json_out import write_json
from supervisor.cli.lines import console
from supervisor.cli.shown_check import show
from supervisor.errors import ConfigurationError, TrustfloorError
from supervisor.gateway.condition import NETWORK, place_of, why_unreached
from supervisor.observability.health import Check
from supervisor.policy.fault import PolicyFault
from supervisor.readiness import readiness
from supervisor.settings import Settings
from supervisor.storage.identity import remembered_vault
from supervisor.variables import names_a_vault
from trustfloor.sync.connection import Connection

_DISTRIBUTION: Final = "trustfloor"
_LEAST_FREE_MB: Final = 512
_REACH_SECONDS: Final = 10.0
_READY_SECONDS: Final = 20.0
_HEALTH_SECONDS: Final = 3.0
_NO_ANSWER: Final = (TrustfloorError, ValueError, KeyError, TypeError)
"""What there is instead of a supervisor's answer, if none runs or something else listens."""


def doctor(
    vault: Annotated[Path | None, typer.Option(help="The folder that agents work on.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The supervisor's data folder.")] = None,
    model: Annotated[str | None, typer.Option(help="A model's name, or scripted:FILE.")] = None,
    online: Annotated[
        bool,
        typer.Option(
            "--online", help="Also connect to the model's API (TCP and TLS; no request is made)."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Check the machine and the settings as they are on the disk now.

    A supervisor that runs has read its settings at its start: what is in force there is told by
    `trustfloor ready`. Without --vault, the vault is that of the supervisor that ran last. Exit
    status 1 if something is wrong.
    """
    options = {"vault": vault, "data_dir": data_dir, "model": model}
    given = {name: value for name, value in options.items() if value is not None}
    screen = console()
    checks: list[Check] = []
    for check in _checks(given, online=online):
        checks.append(check)
        if not as_json:
            show(screen, check)
    problems = sum(check.ok is False for check in checks)
    if as_json:
        write_json({"ok": not problems, "checks": [asdict(check) for check in checks]})
    else:
        screen.print(counted(problems, "problem") if problems else "all well")
    raise typer.Exit(1 if problems else 0)


def _checks(given: dict[str, Any], *, online: bool) -> Iterator[Check]:
    try:
        settings = Settings(**given)
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            place = ".".join(map(str, fault["loc"]))
            said = f"{place}: {say(fault)}" if place else say(fault)
            yield Check("settings", ok=False, detail=said)
        return
    except ConfigurationError as error:
        said = f"{error.where}: {error.message}"
        yield Check("settings", ok=False, detail=said, remedy=error.remedy)
        return
    last = remembered_vault(settings.data_dir)
    if last is not None and "vault" not in given and not names_a_vault(os.environ):
        settings = settings.model_copy(update={"vault": last})
    yield from _look(settings, online=online)


def _look(settings: Settings, *, online: bool) -> Iterator[Check]:
    yield check_import()
    yield check_user()
    yield check_data_dir(settings.data_dir)
    yield check_audit_log(settings.data_dir)
    yield check_running(settings)
    for check in asyncio.run(readiness(settings)).checks:
        yield from check_model(settings, check) if check.name == "model" else (check,)
    if online:
        yield asyncio.run(check_api(settings.api_url))


def check_import() -> Check:
    """Whether `supervisor` is ours: Debian's process manager has a package of that name, too."""
    spec = importlib.util.find_spec("supervisor")
    here = Path(__file__).resolve().parent.parent
    found = Path(spec.origin).resolve().parent if spec and spec.origin else None
    others = [
        each
        for each in importlib.metadata.packages_distributions().get("supervisor", ())
        if each.lower() != _DISTRIBUTION
    ]
    if found == here and not others:
        return Check("package", ok=True, detail=f"supervisor is {here}")
    detail = f"`supervisor` is {found}" + (
        f", and {', '.join(others)} has it too" if others else ""
    )
    return Check(
        "package",
        ok=False,
        detail=detail,
        remedy="install trustfloor in a virtual environment of its own",
    )


def check_user() -> Check:
    """As whom a supervisor that were started here would run agents at `full`."""
    if os.geteuid() == 0:
        detail = "root: at `full` an agent may do anything on this machine, if the policy lets it"
        remedy = "run `serve` as a user of its own, or set TRUSTFLOOR_FLOOR=vault"
        return Check("user", ok=None, detail=detail, remedy=remedy)
    return Check("user", ok=True, detail=f"not root (uid {os.geteuid()})")


def check_data_dir(data_dir: Path) -> Check:
    """Whether the data folder is private and on a disk with room; it may still be missing."""
    try:
        mode = data_dir.stat().st_mode
    except FileNotFoundError:
        return Check("data folder", ok=True, detail=f"{data_dir} is made at the first start")
    except OSError as error:
        return Check(
            "data folder",
            ok=False,
            detail=f"{data_dir} can't be looked at: {error.strerror}",
            remedy="give one of your own with --data-dir or TRUSTFLOOR_DATA_DIR",
        )
    if stat.S_IMODE(mode) & 0o077:
        return Check(
            "data folder",
            ok=False,
            detail=f"others may look into {data_dir}",
            remedy=f"chmod 700 {data_dir}",
        )
    free_mb = shutil.disk_usage(data_dir).free // 2**20
    return Check(
        "data folder",
        ok=free_mb >= _LEAST_FREE_MB,
        detail=f"{data_dir}, {free_mb} MB free",
        remedy=f"make {_LEAST_FREE_MB} MB of room" if free_mb < _LEAST_FREE_MB else None,
    )


def check_audit_log(data_dir: Path) -> Check:
    """How large the audit log is: nothing is ever taken out of it."""
    log = data_dir / "audit.jsonl"
    try:
        size = log.stat().st_size
    except OSError:
        return Check("audit log", ok=None, detail=f"{log} is made at the first start")
    return Check("audit log", ok=None, detail=f"{log}, {_told(size)}; it grows with each decision")


def _told(size: int) -> str:
    return f"{size / 2**20:.1f} MB" if size >= 2**20 else f"{size / 2**10:.1f} KB"


def check_model(settings: Settings, own: Check) -> Iterator[Check]:
    """The model of the supervisor that runs over this data folder, else `own`, the settings'.

    A supervisor that runs has its own settings and key: that this environment has none is no fault.
    """
    running = _model_in_use(settings)
    if running is None:
        yield own
        return
    yield replace(running, detail=f"{running.detail} (of the supervisor that runs)")
    if own.ok is False and running.ok:
        yield Check(
            "model here",
            ok=None,
            detail=f"{own.detail}, for a supervisor started from this environment",
            remedy=own.remedy,
        )


def _model_in_use(settings: Settings) -> Check | None:
    try:
        token = find_token(settings.data_dir)
        checks = _asked(settings, token, "/api/ready", _READY_SECONDS)["checks"]
        found = next(each for each in checks if each["name"] == "model")
        return Check("model", found["ok"], str(found["detail"]), found["remedy"])
    except (*_NO_ANSWER, StopIteration):
        return None


def _asked(settings: Settings, token: str, path: str, seconds: float) -> Any:
    """The JSON that a supervisor which runs has at this path. Raises what `_NO_ANSWER` names."""
    with Connection(find_url(settings.data_dir), token) as supervisor:
        return supervisor.answer("GET", path, timeout=seconds).json()


def check_running(settings: Settings) -> Check:
    """Whether a supervisor answers, and whether it could put its policy files in force."""
    url = find_url(settings.data_dir)
    try:
        said = _asked(settings, "none-is-needed", "/api/health", _HEALTH_SECONDS)
        policy = said["policy"]
        running = f"version {said['version']} answers at {url}, policy hash {policy['hash'][:12]}"
        fault = None if policy["error"] is None else PolicyFault(**policy["error"])
        watched = policy["watched"]
    except _NO_ANSWER:
        return Check("supervisor", ok=None, detail=f"none answers at {url}")
    if fault is None and watched:
        return Check("supervisor", ok=None, detail=running)
    wrong = f"it rejected {fault.place}: {fault.expected}" if fault else "it doesn't see changes"
    return Check(
        "supervisor",
        ok=False,
        detail=f"{running}; {wrong}",
        remedy="`trustfloor ready` names the file; `trustfloor policy check FOLDER` looks at all of"
        " its folder, which is the one that the supervisor was started with",
    )


async def check_api(url: str) -> Check:
    """Whether a connection to the model's API can be made, TLS included; nothing is sent."""
    why = await why_unreached(url, _REACH_SECONDS)
    if why is None:
        return Check("model's API", ok=True, detail=f"{place_of(url)} can be reached")
    return Check(
        "model's API",
        ok=False,
        detail=f"{urlsplit(url).hostname} can't be reached: {why}",
        remedy=NETWORK,
    )
