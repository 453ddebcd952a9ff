"""A cage of bubblewrap for one turn: scanned, masked, watched, measured, and only then used."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.errors import AgentProcessFailed, IsolationRefused, TurnFailed, VaultUnavailable
from supervisor.policy.builtin import PROTECTED
from supervisor.policy.deny_list import DenyList
from supervisor.runtimes.contract import Receipt
from supervisor.runtimes.local import cage_receipt
from supervisor.runtimes.local.bubblewrap import (
    MAX_MOUNTS,
    Bind,
    CageSpec,
    Emptied,
    Link,
    arguments,
    entry_command,
    looks,
)
from supervisor.runtimes.local.handover import (
    ended_at_once,
    handed_over,
    listed,
    system_call_filter,
)
from supervisor.runtimes.local.masks import Decoy, Masks, make_masks, nothing
from supervisor.runtimes.local.process import ProcessChannel, local_process
from supervisor.runtimes.local.system import (
    bubblewrap_program,
    cage_user,
    interpreter,
    program_places,
    system_places,
)
from supervisor.runtimes.local.vault_found import RECORDS, VaultRules, VaultScan
from supervisor.runtimes.local.vault_watch import VaultWatch
from supervisor.runtimes.turn_folder import TurnFolder

_RECEIPT_SECONDS: Final = 30.0
_GO: Final = b"."
_MISSING: Final = "install bubblewrap (Debian package bubblewrap), or use another trust level"


@dataclass(frozen=True, slots=True)
class Confines:
    """What every cage of this supervisor keeps an agent from.

    `own` are the supervisor's folders that nobody else may see, `steering` those that steer agents
    and aren't to be written where they lie in the vault.
    """

    own: tuple[Path, ...] = ()
    steering: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class CageOrder:
    """What one cage is wanted for; paths absolute. `command` is the CLI's, `home` the person's."""

    vault: Path
    cwd: PurePosixPath
    folder: TurnFolder
    cli: Path
    command: tuple[str, ...]
    environment: Mapping[str, str]
    hidden: DenyList
    home: str | None
    network: bool = True
    decoy: Decoy = nothing


@dataclass(frozen=True, slots=True)
class Cage:
    """A CLI that runs in a cage that was measured and found good."""

    channel: "CagedChannel"
    receipt: Receipt


class CagedChannel:
    """The CLI's channel; what ended the cage is the cause of its death."""

    def __init__(self, process: ProcessChannel, watch: VaultWatch) -> None:
        self._process = process
        self._watch = watch

    @property
    def stderr_bytes(self) -> int:
        """How much it has written to its standard error."""
        return self._process.stderr_bytes

    def chunks(self) -> AsyncIterator[bytes]:
        """Its output, until it closes."""
        return self._process.chunks()

    async def write(self, data: bytes) -> None:
        """Send to its input."""
        try:
            await self._process.write(data)
        except AgentProcessFailed:
            if self._watch.breach is not None:
                raise self._watch.breach from None
            raise

    async def close_input(self) -> None:
        """Close its input."""
        await self._process.close_input()

    async def cause_of_death(self) -> TurnFailed | None:
        """Why it ended: the vault changed under it, or what the process itself shows."""
        return self._watch.breach or await self._process.cause_of_death()


@asynccontextmanager
async def open_cage(order: CageOrder, confines: Confines) -> AsyncIterator[Cage]:
    """Make a cage, measure it, and start the CLI in it; leaving the block ends all in it.

    Raises IsolationRefused with the receipt where the cage is too weak or can't be made, and
    VaultUnavailable where the vault changed meanwhile.
    """
    began = time.perf_counter()
    bubblewrap = bubblewrap_program()
    if bubblewrap is None:
        raise IsolationRefused("bubblewrap is gone from this machine", remedy=_MISSING)
    watch = await asyncio.to_thread(_watch, order, confines)
    try:
        scan = await asyncio.to_thread(_scanned, watch, order)
        demands = await asyncio.to_thread(_demands, order, confines, scan)
        with ExitStack() as stack:
            seccomp = stack.enter_context(handed_over(system_call_filter()))
            said = stack.enter_context(handed_over(listed(arguments(demands.spec, seccomp))))
            to_look = stack.enter_context(handed_over(listed(looks(demands.spec))))
            inside = entry_command(demands.spec, interpreter(), to_look, order.command)
            async with local_process(
                (bubblewrap, "--args", str(said), "--", *inside),
                order.environment,
                PurePosixPath("/"),
                pass_fds=(seccomp, said, to_look),
                line_bytes=cage_receipt.MAX_LINE_BYTES,
            ) as process:
                stack.close()
                with ended_at_once(process.pid, watch):
                    receipt = await _measured(process, demands, watch)
                    await asyncio.to_thread(watch.masked)
                    took = int((time.perf_counter() - began) * 1000)
                    yield Cage(
                        await _let_go(process, watch),
                        Receipt("bubblewrap", {**receipt.measured, "milliseconds": took}),
                    )
    finally:
        await asyncio.to_thread(watch.end)


def _watch(order: CageOrder, confines: Confines) -> VaultWatch:
    rules = VaultRules(
        hidden=order.hidden,
        protected=DenyList(PROTECTED),
        own=confines.own,
        steering=confines.steering,
        home=Path(order.home) if order.home else None,
    )
    try:
        return VaultWatch(order.vault, rules)
    except OSError as error:
        raise IsolationRefused(
            f"the vault can't be watched: {error.strerror or error}",
            remedy="raise fs.inotify.max_user_instances (sysctl), then send the message again",
        ) from error


def _scanned(watch: VaultWatch, order: CageOrder) -> VaultScan:
    try:
        return watch.begin()
    except OSError as error:
        raise VaultUnavailable(
            f"the vault can't be looked through: {error.strerror}",
            where=str(order.vault),
            remedy="see that the supervisor may read it, and send the message again",
        ) from error


def _demands(order: CageOrder, confines: Confines, scan: VaultScan) -> cage_receipt.Demands:
    """The cage's spec, with all that it needs on the disk made."""
    try:
        masks = make_masks(order.folder.root / "masks", order.vault, scan.covers, order.decoy)
        spec = _spec(order, confines, scan, masks)
        if spec.by_root and spec.uid != 0:
            _give(order.folder, spec.uid, spec.gid)
    except OSError as error:
        raise VaultUnavailable(
            f"the cage's files can't be made: {error.strerror}",
            where=error.filename,
            remedy="free some space, and send the message again",
        ) from error
    if spec.mounts > MAX_MOUNTS:
        raise IsolationRefused(
            f"the vault has {spec.mounts} places to mask or protect; a cage takes {MAX_MOUNTS}",
            where=str(order.vault),
            remedy="put denied files together in a denied folder, or run the session sandboxed",
        )
    return cage_receipt.Demands(spec, masks.identities, frozenset(order.environment))


def _spec(order: CageOrder, confines: Confines, scan: VaultScan, masks: Masks) -> CageSpec:
    uid, gid = cage_user(order.vault)
    home = order.environment["HOME"]
    folder = order.folder
    return CageSpec(
        vault=str(order.vault),
        cwd=str(order.cwd),
        home=home,
        system=system_places(),
        programs=program_places(order.cli),
        turn=(
            Bind(str(folder.run), str(folder.run)),
            Bind(str(folder.config), str(folder.config), writable=True),
            Bind(str(folder.scratch), str(folder.scratch), writable=True),
        ),
        uid=uid,
        gid=gid,
        by_root=os.geteuid() == 0,
        covers=masks.covers,
        read_only=tuple(str(order.vault / path) for path in sorted(scan.read_only)),
        emptied=tuple(_emptied(order.vault, scan)),
        kept_names=tuple(str(order.vault / path) for path in sorted(scan.kept_names)),
        network=order.network,
        absent=tuple(_absent(order, confines, home)),
    )


def _emptied(vault: Path, scan: VaultScan) -> Iterator[Emptied]:
    for path in sorted(scan.own_folders):
        if (vault / path).is_dir():
            yield Emptied(str(vault / path))
    if scan.records is not None:
        place = vault / RECORDS
        kept: list[Bind | Link] = []
        for name, link in sorted(scan.records):
            target = str(place / name)
            kept.append(Link(link, target) if link is not None else Bind(target, target, True))
        yield Emptied(str(place), tuple(kept))


def _absent(order: CageOrder, confines: Confines, home: str) -> Iterator[str]:
    """What must not be in the cage, and would be if something went wrong."""
    shown = (order.vault, order.folder.root)
    for path in (*confines.own, Path("/run/docker.sock"), Path("/sys/kernel"), Path(home, ".ssh")):
        if not any(path.is_relative_to(each) or each.is_relative_to(path) for each in shown):
            yield str(path)


def _give(folder: TurnFolder, uid: int, gid: int) -> None:
    """Let the cage's user have what is made for it; the folder above stays closed."""
    for place in (folder.config, folder.scratch):
        for each in (place, *place.rglob("*")):
            os.chown(each, uid, gid, follow_symlinks=False)
    for file in (folder.prompt, folder.servers):
        if file.exists():
            os.chown(file, uid, gid)


async def _measured(
    process: ProcessChannel, demands: cage_receipt.Demands, watch: VaultWatch
) -> Receipt:
    try:
        async with asyncio.timeout(_RECEIPT_SECONDS):
            line = await process.first_line()
    except (TimeoutError, ValueError):
        line = b""
    if watch.breach is not None:
        raise watch.breach
    measured = cage_receipt.parse(line)
    if measured is None:
        cause = await process.cause_of_death()
        said = cause.message if cause is not None else "it said nothing"
        weak: tuple[str, ...] = (f"the cage could not be measured: {said}",)
        facts: dict[str, object] = {}
    else:
        weak = cage_receipt.shortfalls(measured, demands)
        facts = cage_receipt.summary(measured, demands)
    facts |= {"cage": "bubblewrap", "level": "vault", "watchedFolders": watch.folders}
    receipt = Receipt("bubblewrap", facts, weak)
    if weak:
        raise IsolationRefused(
            f"the cage is weaker than it must be: {'; '.join(weak[:10])}",
            where="isolation receipt",
            remedy="run: trustfloor doctor",
            receipt=receipt,
        )
    return receipt


async def _let_go(process: ProcessChannel, watch: VaultWatch) -> CagedChannel:
    """Start the CLI, in a cage that was found good."""
    await process.write(_GO)
    return CagedChannel(process, watch)
