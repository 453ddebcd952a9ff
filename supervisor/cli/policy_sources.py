"""What the `policy` commands begin with: the folders, the files, and how mistakes are told."""

import os
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import typer
from rich.text import Text

from supervisor.cli.complaints import complain
from supervisor.cli.lines import console
from supervisor.cli.neutral import neutral
from supervisor.errors import ConfigurationError, TrustfloorError
from supervisor.gate.policy_files import PolicySource
from supervisor.policy.fault import PolicyFault
from supervisor.storage.identity import remembered_vault
from supervisor.variables import Folders, folders, names_a_vault


def read_folders() -> Folders:
    """The folders that the environment names; without a vault, the last supervisor's one."""
    named = folders(os.environ)
    last = None if names_a_vault(os.environ) else remembered_vault(named.data_dir)
    return named if last is None else replace(named, vault=last)


def open_source(
    named: Folders, folder: Path | None = None, also: tuple[Path, ...] = ()
) -> PolicySource:
    """The files of a folder (else of the one that is named), with more laid over them.

    Ends the command with status 1, and says where the mistake is.
    """
    try:
        return source_of(named, folder or named.policies, also)
    except ConfigurationError as error:
        fail(error)


def source_of(named: Folders, folder: Path, also: tuple[Path, ...] = ()) -> PolicySource:
    """The same. Raises ConfigurationError."""
    return PolicySource(folder.absolute(), own=(named.data_dir, named.runtime_dir), also=also)


def tidy(path: Path) -> Path:
    """The path without `..`, as a person reads it; as it is, where a link would give another."""
    whole = path.absolute()
    plain = Path(os.path.normpath(whole))
    return plain if ".." in whole.parts and _is_one(plain, whole) else path


def _is_one(plain: Path, whole: Path) -> bool:
    try:
        return plain.samefile(whole)
    except OSError:
        return False


def fail(error: TrustfloorError, status: int = 1) -> NoReturn:
    """Say what is wrong, where and what to do, and end the command."""
    if isinstance(error, ConfigurationError):
        complain_of(PolicyFault.of(error))
    else:
        complain(f"error: {error.message}", error.where, error.remedy)
    raise typer.Exit(status)


def complain_of(fault: PolicyFault) -> None:
    """One mistake in a policy file, its place first, as editors and people look for it."""
    complain(f"{fault.place}: {fault.expected}", remedy=fault.remedy)


class Page:
    """Lines on standard output; nothing that is told can move a terminal's cursor."""

    def __init__(self) -> None:
        self._console = console()

    def line(self, text: str = "", style: str = "") -> None:
        """One line, or several if the text has line feeds."""
        self._console.print(Text(neutral(text), style=style), soft_wrap=True)
