"""`trustfloor policy check`: are these files a policy, and do their examples hold?"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from supervisor.cli.complaints import complain
from supervisor.cli.counted import counted
from supervisor.cli.json_out import write_json
from supervisor.cli.policy_sources import Page, complain_of, read_folders, source_of, tidy
from supervisor.errors import ConfigurationError
from supervisor.gate.policy_files import PolicySource, policy_files, read_file
from supervisor.policy.examples import Failing, failing_examples
from supervisor.policy.fault import PolicyFault
from supervisor.variables import Folders


@dataclass(frozen=True, slots=True)
class _Found:
    """What is wrong; `source` is there unless the files are no policy."""

    folder: Path
    faults: Sequence[PolicyFault] = ()
    wrong: Sequence[Failing] = ()
    source: PolicySource | None = None

    @property
    def well(self) -> bool:
        return not self.faults and not self.wrong


def check(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER|FILE",
            help="A folder of policy files, or one file (TRUSTFLOOR_POLICIES)",
        ),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Read policy files as a supervisor would, and say of each mistake where it stands.

    One file is laid over those of TRUSTFLOOR_POLICIES, as it would be in their folder. Exit status
    1 if something is wrong: a mistake, or an example of a rule that doesn't hold.
    """
    found = _look(read_folders(), None if path is None else tidy(path))
    if as_json:
        write_json(_document(found))
    else:
        _tell(found)
    raise typer.Exit(0 if found.well else 1)


def _look(named: Folders, path: Path | None) -> _Found:
    alone = path is not None and not os.path.isdir(path)  # noqa: PTH112 - none that can't be read
    folder = tidy(named.policies) if path is None or alone else path
    also = (path,) if path is not None and alone else ()
    try:
        files = also or tuple(each.path for each in policy_files(folder.absolute()))
        if faults := tuple(_faults(files)):
            return _Found(folder, faults)
        source = source_of(named, folder, also)
    except ConfigurationError as error:
        return _Found(folder, (PolicyFault.of(error),))
    return _Found(folder, wrong=failing_examples(source.current), source=source)


def _tell(found: _Found) -> None:
    for fault in found.faults:
        complain_of(fault)
    for each in found.wrong:
        complain(f"{each.where or found.folder}: {each.says}")
    if found.source is not None and found.well:
        page = Page()
        for name in found.source.files:
            page.line(name, "dim")
        page.line(f"all well: hash {found.source.current.hash}, {_counted(found.source)}")


def _document(found: _Found) -> dict[str, Any]:
    source = found.source
    return {
        "ok": found.well,
        "hash": None if source is None else source.current.hash,
        "files": [] if source is None else list(source.files),
        "rules": None if source is None else len(source.rules),
        "faults": [asdict(each) for each in found.faults],
        "examples": [
            {"rule": each.rule, "where": each.where, "says": each.says} for each in found.wrong
        ],
    }


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
