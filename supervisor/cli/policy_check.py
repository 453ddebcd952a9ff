"""`trustfloor policy check`: are these files a policy, and do their examples hold?"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from supervisor.cli.complaints import complain
from supervisor.cli.counted import counted
from supervisor.cli.policy_sources import Page, complain_of, open_source, read_folders, tidy
from supervisor.errors import ConfigurationError
from supervisor.gate.policy_files import PolicySource, policy_files, read_file
from supervisor.policy.examples import failing_examples
from supervisor.policy.fault import PolicyFault


def check(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER|FILE",
            help="A folder of policy files, or one file (TRUSTFLOOR_POLICIES)",
        ),
    ] = None,
) -> None:
    """Read policy files as a supervisor would, and say of each mistake where it stands.

    One file is laid over those of TRUSTFLOOR_POLICIES, as it would be in their folder. Exit status
    1 if something is wrong: a mistake, or an example of a rule that doesn't hold.
    """
    named = read_folders()
    path = None if path is None else tidy(path)
    alone = path is not None and not os.path.isdir(path)  # noqa: PTH112 - none that can't be read
    folder = tidy(named.policies) if path is None or alone else path
    files = (path,) if path is not None and alone else ()
    faults = list(_faults(files or _in(folder)))
    for fault in faults:
        complain_of(fault)
    if faults:
        raise typer.Exit(1)
    source = open_source(named, folder, also=files)
    wrong = failing_examples(source.current)
    for each in wrong:
        complain(f"{each.where or folder}: {each.says}")
    if wrong:
        raise typer.Exit(1)
    page = Page()
    for name in source.files:
        page.line(name, "dim")
    page.line(f"all well: hash {source.current.hash}, {_counted(source)}")


def _in(folder: Path) -> tuple[Path, ...]:
    try:
        return tuple(each.path for each in policy_files(folder.absolute()))
    except ConfigurationError as error:
        complain_of(PolicyFault.of(error))
        raise typer.Exit(1) from None


def _faults(files: tuple[Path, ...]) -> Iterator[PolicyFault]:
    """The first mistake of each file: what follows one is often its consequence."""
    for path in files:
        try:
            read_file(path).document()
        except ConfigurationError as error:
            yield PolicyFault.of(error)
        except OSError as error:
            yield PolicyFault(str(path), f"can't be read: {error.strerror}")


def _counted(source: PolicySource) -> str:
    return f"{counted(len(source.rules), 'rule')} in {counted(len(source.files), 'file')}"
