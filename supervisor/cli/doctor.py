"""`trustfloor doctor`: look at everything a turn needs, and say what to do where it is missing."""

import asyncio
import importlib.metadata
import importlib.util
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import httpx
import typer
from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from supervisor.app import readiness
from supervisor.cli.client import DEFAULT_URL
from supervisor.cli.render import neutral
from supervisor.observability.health import Check
from supervisor.settings import Settings

_DISTRIBUTION: Final = "trustfloor"
_LEAST_FREE_MB: Final = 512


def doctor(
    vault: Annotated[Path | None, typer.Option(help="The folder that agents work on.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The supervisor's data folder.")] = None,
    model: Annotated[str | None, typer.Option(help="A model's name, or scripted:FILE.")] = None,
) -> None:
    """Check the machine and the settings. Exit status 1 if something is wrong."""
    options = {"vault": vault, "data_dir": data_dir, "model": model}
    console = Console(highlight=False, markup=False, emoji=False)
    try:
        settings = Settings(**{name: value for name, value in options.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            place = ".".join(map(str, fault["loc"]))
            _show(console, Check("settings", ok=False, detail=f"{place}: {fault['msg']}"))
        raise typer.Exit(1) from None
    checks = list(_look(settings))
    for check in checks:
        _show(console, check)
    problems = sum(check.ok is False for check in checks)
    console.print(f"{problems} problem(s)" if problems else "all well")
    raise typer.Exit(1 if problems else 0)


def _look(settings: Settings) -> Iterator[Check]:
    yield check_import()
    yield check_data_dir(settings.data_dir)
    yield check_running(settings)
    yield from asyncio.run(readiness(settings)).checks


def _show(console: Console, check: Check) -> None:
    words = {True: ("ok", "green"), False: ("problem", "bold red"), None: ("info", "dim")}
    word, style = words[check.ok]
    line = Text.assemble((f"{word:8}", style), neutral(f"{check.name}: {check.detail}"))
    console.print(line, soft_wrap=True)
    if check.remedy and check.ok is not True:
        console.print(Text(f"        what to do: {neutral(check.remedy)}"), soft_wrap=True)


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


def check_data_dir(data_dir: Path) -> Check:
    """Whether the data folder is private and on a disk with room; it may still be missing."""
    if not data_dir.exists():
        return Check("data folder", ok=True, detail=f"{data_dir} is made at the first start")
    if stat.S_IMODE(data_dir.stat().st_mode) & 0o077:
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


def check_running(settings: Settings) -> Check:
    """Whether a supervisor answers; only information."""
    url = os.environ.get("TRUSTFLOOR_URL") or DEFAULT_URL.replace("3333", str(settings.port))
    try:
        answer = httpx.get(f"{url}/api/health", timeout=3, trust_env=False)
        version = answer.raise_for_status().json()["version"]
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return Check("supervisor", ok=None, detail=f"none answers at {url}")
    return Check("supervisor", ok=None, detail=f"version {version} answers at {url}")
