"""What the cage adds to a turn at `vault`, and how long a replaced secret can be read in it.

    python -m benchmarks.vault_cage [ROUNDS] [FILES]

FILES is how many notes the vault holds; with 0 there are no turns, the window alone is measured.
Turns at `full` and at `vault` go by turns over one supervisor. Then, for the window, a cage is made
ROUNDS times around a program that reads `.env` without a pause; the host replaces the file with a
new one, and what the program still saw of it before the watch ended it is on the same clock.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path, PurePosixPath

from benchmarks._figures import machine, median, percentile, spread, table
from benchmarks._house import make_vault, supervisor, workplace
from benchmarks._model import recording_model
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.runtimes.local.cage import CageOrder, Confines, open_cage
from supervisor.runtimes.local.system import cage_environment, interpreter
from supervisor.runtimes.turn_folder import TurnFolder

WARM_UPS = 2
SETTLE_SECONDS = 0.3
HIDDEN = DenyList((DenyRule("env", "secret", names=(".env",)),))
READER = """
import os, time
os.write(1, b"ready\\n")
while True:
    try:
        with open(".env", "rb") as file:
            seen = file.read()
    except OSError:
        continue
    if seen == b"fresh":
        os.write(1, b"%d\\n" % time.monotonic_ns())
"""


async def turns(rounds: int, files: int) -> None:
    """What a turn takes, caged and not."""
    found: dict[tuple[str, str], list[float]] = {}
    with workplace() as place:
        (place / "m").mkdir()
        make_vault(place / "vault", files)
        async with (
            recording_model(place / "m") as model,
            supervisor(place, api_url=model.url, api_key="a-benchmark's") as house,
        ):
            for number in range(-WARM_UPS, rounds):
                for way in ("full", "vault") if number % 2 else ("vault", "full"):
                    turn = await house.send("hello", way)
                    await asyncio.sleep(SETTLE_SECONDS)
                    if number >= 0:
                        first = (model.first(turn.session) - turn.posted) * 1000
                        found.setdefault((way, "first request"), []).append(first)
                        done = (turn.done - turn.posted) * 1000
                        found.setdefault((way, "done"), []).append(done)
    rows = []
    for milestone in ("first request", "done"):
        full, vault = found["full", milestone], found["vault", milestone]
        each = [a - b for a, b in zip(vault, full, strict=True)]
        ratio = f"{median(vault) / median(full):.2f}"
        rows.append([milestone, spread(full), spread(vault), ratio, spread(each)])
    print(f"{files} files, {rounds} rounds, {machine()}\n")
    table(["milestone", "`full`, ms", "`vault`, ms", "ratio", "added per round, ms"], rows)


async def seen_for(vault: Path, root: Path) -> float | None:
    """Milliseconds from the replacement to the last sight of it; None if it was never seen."""
    (vault / ".env").write_bytes(b"masked")
    folder = TurnFolder(root=root, nonce="")
    for each in (folder.run, folder.config, folder.scratch):
        each.mkdir(parents=True)
    order = CageOrder(
        vault=vault,
        cwd=PurePosixPath(vault),
        folder=folder,
        cli=Path("/bin/true"),
        command=(interpreter(), "-I", "-S", "-c", READER),
        environment=cage_environment({"PATH": os.defpath}, os.getuid()),
        hidden=HIDDEN,
        home=None,
    )
    fresh = vault / "saved"
    fresh.write_bytes(b"fresh")
    async with open_cage(order, Confines()) as cage:
        said = b""
        replaced = 0
        async for chunk in cage.channel.chunks():
            said += chunk
            if not replaced and b"ready" in said:
                await asyncio.to_thread(fresh.replace, vault / ".env")
                replaced = time.monotonic_ns()
        sights = [int(line) for line in said.split() if line.isdigit()]
    return (sights[-1] - replaced) / 1e6 if sights else None


async def window(rounds: int) -> None:
    """How long a secret that took a masked file's place is in sight."""
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as place:
            vault = Path(place, "vault")
            vault.mkdir()
            found.append(await seen_for(vault, Path(place, "turn")))
    sights = [max(0.0, each) for each in found if each is not None]
    print(f"\n{rounds} replacements, seen in {len(sights)} of them")
    if sights:
        print(f"last sight, ms after it: {spread(sights, 2)}, p95 {percentile(sights, 0.95):.2f}")


async def main() -> None:
    """Both, one after the other."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    files = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    if files:
        await turns(rounds, files)
    await window(rounds * 3)


if __name__ == "__main__":
    asyncio.run(main())
