"""How long a view of the vault takes, beside `cp -al` and a bare walk of the same tree.

    python benchmarks/vault_view.py [FILES] [ROUNDS]

All ways take turns in each round, on one tree of small files; medians and ratios are printed.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from supervisor.runtimes.container.vault_view import VaultViews
from tests.worlds.vault import sample_deny_list

FILES_PER_FOLDER = 50
FOLDERS_PER_LEVEL = 20
FILE_BYTES = 2_000


def make_tree(root: Path, files: int) -> None:
    """A tree like notes are kept: small files, a secret in each tenth folder."""
    for number in range(files // FILES_PER_FOLDER):
        folder = root / f"area {number % FOLDERS_PER_LEVEL}" / f"project {number}"
        folder.mkdir(parents=True)
        for note in range(FILES_PER_FOLDER):
            (folder / f"note-{note}.md").write_bytes(b"x" * FILE_BYTES)
        if number % 10 == 0:
            (folder / ".env").write_text("TOKEN=nothing")
    os.sync()
    time.sleep(0.1)  # so that no file is too young for its copy to be kept


def walk(root: Path) -> int:
    """What any tool must do at least: list every folder, look at every entry."""
    count = 0
    for base, folders, files in os.walk(root):
        for name in (*folders, *files):
            os.lstat(f"{base}/{name}")
            count += 1
    return count


def seconds(act: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    deny_list = sample_deny_list()
    with tempfile.TemporaryDirectory(prefix="vault-view-") as place:
        base = Path(place)
        vault = base / "vault"
        make_tree(vault, files)
        twin = base / "twin"  # hard links change a file's times, and so what a view may reuse
        make_tree(twin, files)
        links = base / "links"
        took: dict[str, list[float]] = {}

        def note(way: str, act: Callable[[], object]) -> None:
            took.setdefault(way, []).append(seconds(act))

        for number in range(rounds):
            turn = f"turn_{number}"
            cold = VaultViews(base / "cold", owner_home=lambda _uid: None)
            warm = VaultViews(base / "warm", owner_home=lambda _uid: None)
            if number == 0:
                warm.build(vault, "first", deny_list, ())
                warm.discard("first")
            note("os.walk + lstat", lambda: walk(vault))
            note("cp -al", lambda: subprocess.run(["cp", "-al", twin, links], check=True))
            note(
                "view, all files unchanged",
                lambda: warm.build(vault, turn, deny_list, ()),  # noqa: B023 - called at once
            )
            note("view discarded", lambda: warm.discard(turn))  # noqa: B023 - called at once
            note("cp -a", lambda: subprocess.run(["cp", "-a", twin, base / "copy"], check=True))
            note(
                "view, all files new",
                lambda: cold.build(vault, turn, deny_list, ()),  # noqa: B023 - called at once
            )
            for folder in (links, base / "copy", base / "cold"):
                shutil.rmtree(folder)

        medians = {way: statistics.median(times) for way, times in took.items()}
        print(f"{files} files of {FILE_BYTES} bytes, {rounds} rounds, medians")
        print(f"{'way':28}{'seconds':>10}{'x walk':>10}{'x cp -al':>10}")
        for way, median in medians.items():
            against_walk = median / medians["os.walk + lstat"]
            against_links = median / medians["cp -al"]
            print(f"{way:28}{median:10.3f}{against_walk:10.1f}{against_links:10.2f}")


if __name__ == "__main__":
    main()
