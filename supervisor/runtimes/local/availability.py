"""Whether this machine can hold a cage at `vault`: found out by making one, once."""

import os
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from supervisor.errors import IsolationRefused
from supervisor.runtimes.local import cage_receipt
from supervisor.runtimes.local.bubblewrap import CageSpec, arguments, entry_command, looks
from supervisor.runtimes.local.handover import handed_over, listed, system_call_filter
from supervisor.runtimes.local.masks import make_masks
from supervisor.runtimes.local.system import (
    bubblewrap_program,
    cage_environment,
    cage_user,
    interpreter,
    program_places,
    system_places,
)

_BOUND_SECONDS: Final = 20.0
_DENIED: Final = "denied"


@dataclass(frozen=True, slots=True)
class CageAvailability:
    """Whether cages can be made here, and if not, why; `detail` is for people."""

    works: bool
    detail: str


@lru_cache(maxsize=1)
def vault_cage_available() -> CageAvailability:
    """Make a cage over an empty vault, and judge it as any other. Blocks for some 50 ms, once."""
    bubblewrap = bubblewrap_program()
    if bubblewrap is None:
        return CageAvailability(works=False, detail="bubblewrap isn't installed")
    try:
        with tempfile.TemporaryDirectory(prefix="trustfloor-trial-") as root:
            return _tried(bubblewrap, Path(root))
    except subprocess.TimeoutExpired:
        return CageAvailability(works=False, detail="bubblewrap does not come to an end")
    except (OSError, IsolationRefused) as error:
        return CageAvailability(works=False, detail=f"a cage can't be made: {error}")


def _tried(bubblewrap: str, root: Path) -> CageAvailability:
    vault = root / "vault"
    vault.mkdir()
    (vault / _DENIED).write_bytes(b"denied")
    masks = make_masks(root / "masks", vault, {_DENIED: False})
    uid, gid = cage_user(vault)
    environment = cage_environment({"PATH": os.defpath}, uid)
    spec = CageSpec(
        vault=str(vault),
        cwd=str(vault),
        home=environment["HOME"],
        system=system_places(),
        programs=program_places(Path("/bin/true")),
        turn=(),
        uid=uid,
        gid=gid,
        by_root=os.geteuid() == 0,
        covers=masks.covers,
        absent=(str(root / "masks"),),
    )
    with ExitStack() as stack:
        seccomp = stack.enter_context(handed_over(system_call_filter()))
        to_look = stack.enter_context(handed_over(listed(looks(spec))))
        inside = entry_command(spec, interpreter(), to_look, ("/bin/true",))
        # The input is at its end: the entry measures, reports, and starts nothing.
        ended = subprocess.run(  # noqa: S603  (a fixed program, no shell)
            [bubblewrap, *arguments(spec, seccomp), "--", *inside],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=environment,
            pass_fds=(seccomp, to_look),
            timeout=_BOUND_SECONDS,
        )
    measured = cage_receipt.parse(ended.stdout)
    if measured is None:
        complaint = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return CageAvailability(
            works=False, detail=f"bubblewrap failed: {''.join(complaint) or ended.returncode}"
        )
    demands = cage_receipt.Demands(spec, masks.identities, frozenset(environment))
    weak = cage_receipt.shortfalls(measured, demands)
    if weak:
        return CageAvailability(works=False, detail=f"a cage is too weak: {'; '.join(weak[:3])}")
    return CageAvailability(works=True, detail="bubblewrap")
