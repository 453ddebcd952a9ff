"""One turn's own folder: its socket, its prompt, a copy of the transcript; gone with the turn.

`{runtime}/turns/{turn}/` is closed to everyone but the supervisor. Its sub-folder `run` is what a
container is given (read-only), `config` and `scratch` are a local CLI's.
"""

import asyncio
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from supervisor.errors import TurnFailed, VaultUnavailable
from supervisor.gateway.door import Door, Gateway
from supervisor.ids import TurnId
from supervisor.runtimes.command_line import prompt_text
from supervisor.runtimes.contract import RunPlan
from supervisor.storage.beneath import read_inside
from supervisor.storage.clearing import clear_away
from supervisor.trust.levels import TrustLevel

_COPY_BYTES = 1024 * 1024

MODEL_SOCKET: Final = "model.sock"
PROMPT: Final = "prompt.txt"
SERVERS: Final = "servers.json"
"""What a turn's files are called, in its cage as well."""

FileState = tuple[int, int, int, int, int]
"""Device, inode, size in bytes, and when its content and it were last changed, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class TurnFolder:
    """The paths of a turn's folder, as the supervisor sees them."""

    root: Path
    nonce: str
    """Proves to the supervisor that a container was given this very folder."""
    transcript_state: FileState | None = None
    """What the transcript was like when it was copied."""

    @property
    def run(self) -> Path:
        """What a container is given."""
        return self.root / "run"

    @property
    def model_socket(self) -> Path:
        """Where the gateway listens for this turn."""
        return self.run / MODEL_SOCKET

    @property
    def prompt(self) -> Path:
        """The system prompt, or what is appended to the preset."""
        return self.run / PROMPT

    @property
    def servers(self) -> Path:
        """Describes the MCP servers, with secrets in it: there only until the CLI has read it."""
        return self.run / SERVERS

    @property
    def transcript(self) -> Path:
        """A copy of the earlier conversation."""
        return self.run / "transcript.jsonl"

    @property
    def marker(self) -> Path:
        """Holds the nonce."""
        return self.run / "marker"

    @property
    def config(self) -> Path:
        """A local CLI's configuration folder."""
        return self.root / "config"

    @property
    def scratch(self) -> Path:
        """A local CLI's temporary folder."""
        return self.root / "scratch"

    def forget_servers(self) -> None:
        """Remove what describes the MCP servers, now that it has been read."""
        self.servers.unlink(missing_ok=True)


@asynccontextmanager
async def turn_folder(turns: Path, turn: TurnId, plan: RunPlan | None) -> AsyncIterator[TurnFolder]:
    """Make a folder below `turns`; remove it, whatever it holds by then.

    It holds what the plan says, or nothing yet (None), until `furnished`. Raises TurnFailed if the
    disk refuses.
    """
    try:
        try:
            folder = await _to_its_end(partial(_make, turns, turn, plan))
        except OSError as error:
            raise _refused(error, turns) from error
        yield folder
    finally:
        await asyncio.to_thread(clear_away, turns / turn)


async def furnished(folder: TurnFolder, plan: RunPlan) -> TurnFolder:
    """A folder that held nothing, with the plan's prompt, servers and conversation in it.

    Raises TurnFailed if the disk refuses.
    """
    try:
        return await _to_its_end(partial(_furnish, folder, plan))
    except OSError as error:
        raise _refused(error, folder.root.parent) from error


async def _to_its_end(make: Callable[[], TurnFolder]) -> TurnFolder:
    """What is made in a thread, which goes on in any case; who gives up waits for it all the same.

    Else it would be undone before it is made.
    """
    making = asyncio.ensure_future(asyncio.to_thread(make))
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        await asyncio.wait({making})
        making.exception()  # looked at: nobody waits for it any more
        raise


def door_for(
    gateway: Gateway, plan: RunPlan, folder: TurnFolder
) -> AbstractAsyncContextManager[Door]:
    """The turn's way to the model, at the socket in its folder; see `Gateway.open_door`."""
    return gateway.open_door(
        session_id=plan.session_id,
        turn_id=plan.turn_id,
        access=plan.access,
        socket_path=folder.model_socket,
        watch=plan.honeytokens,
    )


def remove_leftover_turns(turns: Path, living: Callable[[], Collection[TurnId]]) -> int:
    """Remove the folders of turns that no longer live; gives how many there were.

    `living` is asked after the folders are listed: a turn lives before it makes its folder.
    """
    found = list(turns.iterdir()) if turns.is_dir() else []
    alive = living()
    leftovers = [each for each in found if each.name not in alive]
    for each in leftovers:
        clear_away(each)
    return len(leftovers)


def _make(turns: Path, turn: TurnId, plan: RunPlan | None) -> TurnFolder:
    turns.mkdir(parents=True, exist_ok=True, mode=0o700)
    root = turns / turn
    root.mkdir(mode=0o700)
    folder = TurnFolder(root=root, nonce=secrets.token_hex(16))
    # Readable inside a container whatever its user; on the host the parent's mode closes it.
    folder.run.mkdir(mode=0o755)
    folder.config.mkdir(mode=0o700)
    folder.scratch.mkdir(mode=0o700)
    folder.marker.write_text(folder.nonce)
    return folder if plan is None else _furnish(folder, plan)


def _furnish(folder: TurnFolder, plan: RunPlan) -> TurnFolder:
    prompt = prompt_text(plan)
    if prompt is not None:
        folder.prompt.write_text(prompt)
    if plan.servers is not None:
        # As with the folder: a container's user is nobody that the host knows.
        closed = 0o644 if plan.level is TrustLevel.SANDBOXED else 0o600
        folder.servers.touch(mode=0o600)
        folder.servers.chmod(closed)
        folder.servers.write_text(plan.servers, encoding="utf-8")
    if plan.resume:
        source = read_inside(Path(plan.vault), plan.transcript)
        with source, folder.transcript.open("xb") as copy:
            state = _state(os.fstat(source.fileno()))
            source.seek(plan.resume_from)
            shutil.copyfileobj(source, copy, _COPY_BYTES)
        folder = replace(folder, transcript_state=state)
    return folder


def transcript_state(plan: RunPlan) -> FileState | None:
    """What the plan's transcript is like now; None if it can't be opened. Blocks."""
    try:
        with read_inside(Path(plan.vault), plan.transcript) as source:
            return _state(os.fstat(source.fileno()))
    except OSError:
        return None


def _state(found: os.stat_result) -> FileState:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _refused(error: OSError, turns: Path) -> TurnFailed:
    return VaultUnavailable(
        f"the turn's folder can't be made: {error.strerror}",
        where=str(turns),
        remedy="free some space, or set TRUSTFLOOR_RUNTIME_DIR to a folder we may write to",
    )
