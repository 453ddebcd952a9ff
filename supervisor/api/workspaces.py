"""Workspaces: named parts of the vault, and the trust floor that each sets."""

import asyncio
from http import HTTPStatus
from pathlib import Path

from fastapi import APIRouter

from supervisor.api.bodies import WorkspaceBody, WorkspacesView, WorkspaceView
from supervisor.api.caller import Calling
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.errors import InvalidRequest, NotFound
from supervisor.storage.workspaces import WorkspaceRow, relative_folder

router = APIRouter(prefix="/workspaces", tags=["workspaces"])


@router.get("")
async def list_workspaces(supervisor: Supervisor, caller: Calling) -> WorkspacesView:
    """The workspaces that the caller may see, by slug; `default` is always there."""
    rows = await supervisor.workspaces.list()
    return WorkspacesView(workspaces=[_view(row) for row in rows if caller.may_see(row.slug)])


@router.put("/{slug}")
async def put_workspace(slug: str, body: WorkspaceBody, supervisor: Supervisor) -> WorkspaceView:
    """Make a workspace, or change what is given of it; the rest stays as it is.

    Its floor counts at once: a turn that runs too loosely for it is aborted.
    """
    if body.folder is not None:
        await asyncio.to_thread(_require_folder, supervisor.settings.vault, body.folder)
    row = await supervisor.workspaces.put(
        slug, name=body.name, folder=body.folder, floor=body.floor
    )
    said = {"what": "set", "slug": row.slug, "folder": row.folder, "floor": row.floor.value}
    await supervisor.record("workspace", None, None, said)
    await supervisor.conversations.floors_changed()
    return _view(row)


@router.delete(
    "/{slug}",
    status_code=HTTPStatus.NO_CONTENT,
    responses=refusals(NotFound, InvalidRequest),
)
async def delete_workspace(slug: str, supervisor: Supervisor) -> None:
    """Remove a workspace; its folder stays. Refused while sessions are in it (422)."""
    await supervisor.workspaces.delete(slug)
    await supervisor.record("workspace", None, None, {"what": "removed", "slug": slug})


def _require_folder(vault: Path, folder: str) -> None:
    """Raise InvalidRequest unless the folder exists and, links followed, lies in the vault."""
    inside = relative_folder(folder)
    try:
        place = (vault / inside).resolve()
        is_one = place.is_dir() and place.is_relative_to(vault.resolve())
    except (OSError, RuntimeError):  # its name is too long, or links go round in a circle
        is_one = False
    if not is_one:
        raise InvalidRequest(
            f"{folder!r} is no folder of the vault",
            where="folder",
            remedy="make the folder first; a link that leads out of the vault is none",
        )


def _view(row: WorkspaceRow) -> WorkspaceView:
    return WorkspaceView(
        slug=row.slug,
        name=row.name,
        folder=row.folder,
        floor=row.floor,
        created_at=row.created_at,
        damaged=row.damaged,
    )
