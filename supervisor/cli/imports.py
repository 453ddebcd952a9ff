"""`trustfloor import`: conversations from elsewhere become sessions of the running supervisor."""

import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from supervisor.cli.answered import AsJson, DataDir, answered
from supervisor.cli.choices import choice
from supervisor.cli.counted import counted
from supervisor.cli.files import content_of
from supervisor.cli.json_out import write_json
from supervisor.cli.render import Screen
from supervisor.imports.fields import LARGEST
from supervisor.trust.levels import TrustLevel

_BATCH_BYTES: Final = 64 * 1024 * 1024
_BATCH_FILES: Final = 1_000
_PATIENCE_SECONDS: Final = 1_800.0  # thousands of conversations, each brought to the disk


def import_conversations(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|FOLDER", exists=True, readable=True, help="The export, or transcripts."
        ),
    ],
    *,
    workspace: Annotated[str | None, typer.Option(help="The workspace of the sessions.")] = None,
    trust: Annotated[
        TrustLevel | None,
        choice(TrustLevel, help="The level of the sessions; sandboxed if left out."),
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Make sessions of an export of Claude or ChatGPT, or of transcripts of Claude Code.

    FILE is a zip, a conversations.json or a transcript (.jsonl); of a FOLDER all such files are
    taken. Importing again brings up to date. The exit status is 1 if something was broken.
    """
    fields = {"workspace": workspace, "trustLevel": None if trust is None else trust.value}
    uploads = _of_folder(file) if file.is_dir() else iter([(file.name, content_of(file, LARGEST))])
    found: dict[str, list[dict[str, Any]]] = {"imported": [], "broken": []}
    for name, content in uploads:
        part = _sent(name, content, fields, data_dir)
        for key, each in part.items():
            found[key].extend(each)
    if as_json:
        write_json(found)
    else:
        _tell(found)
    if found["broken"]:
        raise typer.Exit(1)


def _sent(
    name: str, content: bytes, fields: dict[str, str | None], data_dir: Path | None
) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = answered(
        lambda client: client.upload(
            "/api/import", name, content, fields, seconds=_PATIENCE_SECONDS
        ),
        data_dir,
    )
    return found


def _tell(found: dict[str, list[dict[str, Any]]]) -> None:
    screen = Screen(sys.stdout)
    for each in found["imported"]:
        screen.line(f"{each['id']}  {each['title'] or 'no title'}")
        facts = (
            each["state"],
            each["source"],
            counted(each["messages"], "message"),
            each["trustLevel"],
        )
        screen.line(f"    {' · '.join(facts)}", "dim")
    for each in found["broken"]:
        screen.line(f"not imported: {each['place']}: {each['reason']}", "yellow")
    if not found["imported"] and not found["broken"]:
        screen.line("nothing to import", "dim")


def _of_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The folder's files as archives of a size that is taken, each named by where it lies."""
    batch: list[tuple[str, bytes]] = []
    held = 0
    for path in sorted(folder.rglob("*")):
        if not _is_wanted(path) or path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        if batch and (held + len(content) > _BATCH_BYTES or len(batch) >= _BATCH_FILES):
            yield folder.name, _archive(batch)
            batch, held = [], 0
        batch.append((path.relative_to(folder).as_posix(), content))
        held += len(content)
    if batch:
        yield folder.name, _archive(batch)


def _is_wanted(path: Path) -> bool:
    named = path.name.lower()
    return named.endswith(".jsonl") or (
        named.startswith("conversations") and named.endswith(".json")
    )


def _archive(files: list[tuple[str, bytes]]) -> bytes:
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return into.getvalue()
