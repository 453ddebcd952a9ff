"""Who demands what of a session: the server, its workspace, and every workspace it works in."""

from pathlib import PurePosixPath

from supervisor.errors import NotFound
from supervisor.storage.workspaces import WorkspaceRow, WorkspaceStore
from supervisor.trust.floor import Floor, FloorSource
from supervisor.trust.levels import TrustLevel


class Floors:
    """The floors in force, looked at anew each time."""

    def __init__(self, server: TrustLevel, workspaces: WorkspaceStore) -> None:
        self._server = server
        self._workspaces = workspaces

    async def of(self, workspace: str, working_directory: PurePosixPath) -> tuple[Floor, ...]:
        """The floors of a session of this workspace that works in this folder of the vault.

        A workspace whose folder it works in counts too, whichever one the session belongs to: a
        floor on a folder would be none, if any other workspace led around it. Raises NotFound if
        there is no such workspace.
        """
        rows = await self._workspaces.list()
        if not any(row.slug == workspace for row in rows):
            raise NotFound("no workspace has this slug", where=workspace)
        return (
            Floor(FloorSource.SERVER, self._server),
            *(
                Floor(
                    FloorSource.WORKSPACE,
                    row.floor,
                    row.slug,
                    folder=None if row.slug == workspace else row.folder,
                )
                for row in rows
                if row.slug == workspace or _works_in(row, working_directory)
            ),
        )


def _works_in(row: WorkspaceRow, working_directory: PurePosixPath) -> bool:
    if "folder" in row.damaged:
        return True  # it may be any: damage loosens nothing
    return bool(row.folder) and working_directory.is_relative_to(PurePosixPath(row.folder))
