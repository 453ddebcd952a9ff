"""A turn's view of the vault: its folder from the start, and the filling of it in a thread.

One that was made ahead of its turn is filled anew when that begins, with the vault as it is then.

Between `sandbox.py`, which mounts the folder while it is still being filled, and `vault_view.py`.
"""

import asyncio
import threading
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from supervisor.errors import VaultUnavailable
from supervisor.ids import TurnId
from supervisor.policy.deny_list import DenyList
from supervisor.runtimes.container.vault_view import VaultViews, ViewReport
from supervisor.runtimes.contract import RunPlan

_ROOT = PurePosixPath(".")


class TurnView:
    """The view in `folder`, which was reserved for it; `begin` first, `discard` at the end."""

    def __init__(self, views: VaultViews, turn: TurnId, folder: Path) -> None:
        self.folder = folder
        self._views = views
        self._turn = turn
        self._stop = threading.Event()
        self._filling: asyncio.Future[ViewReport] | None = None
        self._deny_list = DenyList(())
        self._discarded = False

    def begin(
        self, plan: RunPlan, own_files: Collection[Path], kept: PurePosixPath = _ROOT
    ) -> None:
        """Start to fill it with the vault as it is now; what it held goes, but the way to `kept`.

        Again only once it is complete.
        """
        self._deny_list = plan.deny_list
        self._filling = asyncio.ensure_future(
            asyncio.to_thread(
                self._views.fill,
                Path(plan.vault),
                self._turn,
                plan.deny_list,
                own_files,
                self._stop,
                honeytokens=plan.honeytokens,
                kept=kept,
            )
        )

    async def complete(self, cwd: PurePosixPath) -> ViewReport:
        """Wait until it is filled. Raises VaultUnavailable, also if it doesn't hold `cwd`."""
        assert self._filling is not None  # noqa: S101  (begun by whoever made it)
        report = await asyncio.shield(self._filling)
        # A denied folder has a decoy in its place, which is no place to work in.
        denied = self._deny_list.match(str(cwd)) is not None
        if denied or not await asyncio.to_thread((self.folder / cwd).is_dir):
            raise VaultUnavailable(
                "the session's working directory isn't in what the sandbox may see",
                where=str(cwd),
                remedy="give another working directory, or look at the deny list",
            )
        return report

    @property
    def failure(self) -> VaultUnavailable | None:
        """Why it couldn't be filled, if that is known by now."""
        if self._filling is None or not self._filling.done() or self._filling.cancelled():
            return None
        error = self._filling.exception()
        return error if isinstance(error, VaultUnavailable) else None

    async def discard(self) -> None:
        """End the filling and remove all of it; doing so twice is harmless."""
        if self._discarded:
            return
        self._stop.set()
        if self._filling is not None:
            await asyncio.wait({self._filling})
            self._filling.exception()  # looked at: nobody may have waited for it
        await asyncio.to_thread(self._views.discard, self._turn)
        self._discarded = True
