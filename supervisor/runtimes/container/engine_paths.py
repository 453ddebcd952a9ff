"""Where the engine's host has our folders, if we run in a container ourselves: found, then tried.

A sandbox is our sibling: the engine resolves what it mounts on its own host. Where our folders are
there, the engine says of our own container; that it is ours, the kernel says.
"""

import asyncio
import contextlib
import os
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from supervisor.errors import ConfigurationError, EngineRefused, EngineUnreachable, TurnFailed
from supervisor.ids import InstanceId, new_session_id, new_turn_id
from supervisor.runtimes.container.engine import ContainerId, Engine
from supervisor.runtimes.container.spec import Limits, container_spec
from supervisor.runtimes.container.vault_view import VaultViews

SETTING: Final = "TRUSTFLOOR_ENGINE_PATH_MAP"
PathMap = tuple[tuple[Path, Path], ...]

_GIVEN_BY_THE_ENGINE: Final = frozenset({"/etc/hostname", "/etc/hosts", "/etc/resolv.conf"})
_ID_IN_A_PATH: Final = re.compile(r"/containers/([0-9a-f]{64})/")
_MOUNTINFO: Final = Path("/proc/self/mountinfo")
_MARKS: Final = (Path("/.dockerenv"), Path("/run/.containerenv"))


@dataclass(frozen=True, slots=True)
class EnginePaths:
    """How the engine sees our folders; without pairs, as we do.

    `root` is where the engine keeps its volumes; None: none of ours are known to lie there.
    """

    pairs: PathMap = ()
    root: PurePosixPath | None = None

    def __call__(self, path: Path) -> PurePosixPath:
        """The path as the engine's host has it, by the first pair that covers it."""
        for here, there in self.pairs:
            if path.is_relative_to(here):
                return PurePosixPath(there / path.relative_to(here))
        return PurePosixPath(path)


def own_container(mountinfo: str, hostname: str, *, marked: bool) -> str | None:
    """The id of the container that this process runs in; None: in none.

    `mountinfo` is /proc/self/mountinfo (proc(5)): the engine mounts three files of its own, from a
    folder with our id. `marked`: the engine's mark file is there; then the host name may be the id.
    """
    for line in mountinfo.splitlines():
        fields = line.split(" ")
        if len(fields) > 4 and fields[4] in _GIVEN_BY_THE_ENGINE:  # noqa: PLR2004
            found = _ID_IN_A_PATH.search(fields[3])
            if found:
                return found[1]
    return hostname if marked and re.fullmatch("[0-9a-f]{12}", hostname) else None


def mounts_of(report: Mapping[str, Any], mountinfo: str) -> PathMap | None:
    """What the engine says is mounted in the container, innermost first.

    None: something of it isn't mounted here, so that this is another container.
    """
    here = {line.split(" ")[4] for line in mountinfo.splitlines() if line.count(" ") > 4}  # noqa: PLR2004
    pairs = [(each["Destination"], each["Source"]) for each in report.get("Mounts") or ()]
    # The kernel tells places without links; the engine tells them as they were asked for.
    if any(_as_in_mountinfo(os.path.realpath(target)) not in here for target, _ in pairs):
        return None
    ordered = sorted(pairs, key=lambda pair: len(PurePosixPath(pair[0]).parts), reverse=True)
    return tuple((Path(target), Path(source)) for target, source in ordered)


async def find_engine_paths(engine: Engine, given: PathMap, folders: Iterable[Path]) -> EnginePaths:
    """How the engine sees `folders`: as given, else by our own container's mounts.

    Raises ConfigurationError, which names the setting, if we are in a container and it can't be
    found. An engine that doesn't answer is no reason: then nothing can be run in it either.
    """
    try:
        pairs = given or await _by_own_mounts(engine, folders)
        root = (await engine.info()).root if pairs else ""
    except EngineUnreachable:
        return EnginePaths(given)
    return EnginePaths(pairs, PurePosixPath(root) if root else None)


async def _by_own_mounts(engine: Engine, folders: Iterable[Path]) -> PathMap:
    mountinfo = await asyncio.to_thread(_MOUNTINFO.read_text, "utf-8", "surrogateescape")
    marked = await asyncio.to_thread(lambda: any(each.exists() for each in _MARKS))
    own = own_container(mountinfo, socket.gethostname(), marked=marked)
    if own is None:
        return ()
    try:
        report = await engine.inspect(ContainerId(own))
    except EngineRefused as error:
        raise _unfound(f"the engine doesn't say: {error.message}") from error
    found = mounts_of(report, mountinfo) if report is not None else None
    if found is None:
        raise _unfound("the engine doesn't know the container that we are in")
    for folder in folders:
        if not any(folder.is_relative_to(here) for here, _ in found):
            raise _unfound(f"{folder} lies in no volume, and the engine's host has no such folder")
    return found


async def try_engine_paths(  # noqa: PLR0913 - all that a sandbox is made of
    engine: Engine,
    paths: EnginePaths,
    *,
    image: str,
    instance: InstanceId,
    turns: Path,
    views: VaultViews,
    limits: Limits,
) -> None:
    """Have the engine make a sandbox of two empty folders of ours, and remove it unstarted.

    Raises ConfigurationError, which names the setting, if it doesn't find them. If there is no
    engine or no image, nothing is tried, and nothing runs.
    """
    turn = new_turn_id()
    view, run = views.reserve(turn), turns / turn / "run"
    try:
        run.mkdir(parents=True, mode=0o700)
        spec = container_spec(
            image=await engine.image_id(image),
            instance=instance,
            session=new_session_id(),
            turn=turn,
            started=0.0,
            vault_view=paths(view),
            turn_folder=paths(run),
            limits=limits,
            engine_root=paths.root,
        )
        await engine.remove(await engine.create(spec))
    except EngineRefused as error:
        raise ConfigurationError(
            f"the engine doesn't find our folders: {error.message}",
            where=SETTING,
            remedy=f"correct {SETTING}=OUR_FOLDER=ITS_FOLDER,… (the folders as its host has them),"
            " or unset it, to have them found by the container's own mounts",
        ) from error
    except TurnFailed:
        return
    finally:
        views.discard(turn)
        for each in (run, run.parent):
            with contextlib.suppress(OSError):
                each.rmdir()


def _as_in_mountinfo(path: str) -> str:
    """As proc(5) writes it: four characters are octal there."""
    for each in "\\ \t\n":
        path = path.replace(each, f"\\{ord(each):03o}")
    return path


def _unfound(why: str) -> ConfigurationError:
    return ConfigurationError(
        f"we run in a container, and where its folders are on the engine's host isn't known: {why}",
        where=SETTING,
        remedy=f"mount volumes at the data folder and the runtime folder, or set"
        f" {SETTING}=OUR_FOLDER=ITS_FOLDER,…",
    )
