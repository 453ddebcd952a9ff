"""The tour's world: a copy of the sample vault with fresh secrets in it, and folders of its own.

All of it lies below one temporary folder, so that "nothing is left" can be looked up.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PLACEHOLDER: Final = "not-a-real-secret"
_SECRET_FILES: Final = (".env", "projects/site/.env.production", ".ssh/id_ed25519")
_LONGEST_PARENT: Final = 19
"""In bytes. A socket's path has 107 (unix(7)), of which the turns' folders take most."""
_RECORDS: Final = frozenset({"Chat", ".claude"})  # sessions and transcripts
HARD_LINK: Final = "notes/old-recipes.md"
SYMBOLIC_LINK: Final = "notes/shortcut.md"
OWNER_ONLY: Final = "notes/diary.md"


@dataclass(frozen=True, slots=True)
class World:
    """Where everything of one tour is. `secrets` has the secret of each file by its name."""

    root: Path
    secrets: dict[str, str]
    key: str

    @property
    def vault(self) -> Path:
        """The person's files."""
        return self.root / "vault"

    @property
    def outside(self) -> Path:
        """A file that lies beside the vault."""
        return self.root / "outside" / "letter.txt"

    @property
    def data(self) -> Path:
        """The supervisor's own folder."""
        return self.root / "data"

    @property
    def runtime(self) -> Path:
        """The supervisor's short-lived folders and sockets."""
        return self.root / "run"

    @property
    def temporary(self) -> Path:
        """What the supervisor and its agents take for the temporary folder."""
        return self.root / "tmp"

    @property
    def log(self) -> Path:
        """What the supervisor writes to its output."""
        return self.root / "supervisor.log"

    @property
    def scenario(self) -> Path:
        """The scripted model's script, with this world's paths in it."""
        return self.root / "scenario.yaml"


@contextmanager
def tour_world(sample: Path, scenario: Path) -> Iterator[World]:
    """Make the world out of the sample vault; remove it, whatever it holds by then."""
    root = Path(tempfile.mkdtemp(prefix="tf-", dir=_parent())).resolve()
    try:
        yield _furnish(root, sample, scenario)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _parent() -> str:
    """The temporary folder, unless its path is too long for a socket's to lie below it."""
    usual = tempfile.gettempdir()
    return usual if len(os.fsencode(usual)) <= _LONGEST_PARENT else "/tmp"  # noqa: S108


def _furnish(root: Path, sample: Path, scenario: Path) -> World:
    world = World(
        root=root,
        secrets={name: f"secret-{secrets.token_hex(16)}" for name in _SECRET_FILES},
        key=f"sk-ant-demo-canary-{secrets.token_hex(16)}",
    )
    shutil.copytree(sample, world.vault)
    for folder in (world.data, world.runtime, world.temporary, world.outside.parent):
        folder.mkdir(mode=0o700)
    for name, secret in world.secrets.items():
        file = world.vault / name
        file.write_text(file.read_text(encoding="utf-8").replace(_PLACEHOLDER, secret))
        file.chmod(0o600)
    (world.vault / OWNER_ONLY).chmod(0o600)
    os.link(world.vault / ".env", world.vault / HARD_LINK)
    (world.vault / SYMBOLIC_LINK).symlink_to("../.env")
    world.outside.write_text("A letter that is none of the agent's business.\n")
    script = scenario.read_text(encoding="utf-8")
    script = script.replace("@VAULT@", str(world.vault)).replace("@OUTSIDE@", str(world.outside))
    world.scenario.write_text(script, encoding="utf-8")
    return world


def readable_here(world: World) -> dict[str, bool]:
    """Whether this process, outside of any sandbox, can read each secret; links included.

    The other half of every attack: what the agent can't get at is there to be had.
    """
    names = {name: name for name in world.secrets} | {HARD_LINK: ".env", SYMBOLIC_LINK: ".env"}
    return {
        name: world.secrets[holder] in (world.vault / name).read_text(encoding="utf-8")
        for name, holder in names.items()
    }


def persons_files(vault: Path) -> dict[str, tuple[int, bytes | None]]:
    """Every entry of the vault by name, but for the supervisor's records: its mode and bytes."""
    names = (each.relative_to(vault) for each in sorted(vault.rglob("*")))
    return {str(name): _content(vault / name) for name in names if name.parts[0] not in _RECORDS}


def _content(path: Path) -> tuple[int, bytes | None]:
    is_file = path.is_file() and not path.is_symlink()
    return path.lstat().st_mode, path.read_bytes() if is_file else None
