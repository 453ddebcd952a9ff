"""A small realistic vault: notes and projects, with a canary in each file that must not be seen."""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from supervisor.policy.deny_list import DenyList, DenyRule

CANARY = "CANARY-"
"""Every secret's content begins with this, so one search finds any that leaked."""

NOTES = {
    "notes/today.md": "Buy oat milk.\n",
    "notes/Ideen für März.md": "Ein Gedicht: über Bäume.\n",
    "notes/10:30, the \"plan\" & 'more'.md": "A name with colon, comma, quotes.\n",
    "notes/two\nlines.md": "A name with a newline.\n",
    "projects/garden/README.md": "Tomatoes to the south.\n",
    "projects/garden/src/beds.py": "BEDS = 4\n",
    "projects/garden/.env.example": "TOKEN=put-yours-here\n",
    "projects/garden/.git/HEAD": "ref: refs/heads/main\n",
}
SECRETS = (
    ".env",
    ".env.local",
    ".ssh/id_rsa",
    ".ssh/deep/er/id_work",
    "projects/garden/.env",
    "projects/garden/.git/config",
    "projects/garden/certs/server.pem",
    "projects/Garden2/.ENV",
)
NOT_UTF8 = b"notes/latin-\xe9.md"
NOT_UTF8_SECRET = b"projects/latin-\xe9/.env"


@dataclass(frozen=True)
class Vault:
    """The vault made: where it is, what may be read in it, and the canary of each secret."""

    root: Path
    readable: dict[str, str] = field(default_factory=dict)
    canaries: dict[str, str] = field(default_factory=dict)


def sample_deny_list() -> DenyList:
    """Rules like those that are shipped: keys, environment files, credentials."""
    return DenyList(
        (
            DenyRule(
                "env-files",
                "environment files hold credentials",
                names=(".env", ".env.*", "*.env"),
                exceptions=(".env.example",),
            ),
            DenyRule(
                "keys",
                "private keys",
                names=(".ssh", ".gnupg", "id_rsa*", "id_ed25519*", "*.pem", "*.key"),
            ),
            DenyRule("credentials", "stored logins", names=(".aws", ".netrc", "credentials.json")),
            DenyRule("git-config", "remotes may hold tokens", paths=("**/.git/config",)),
        )
    )


def canary_for(name: str) -> str:
    """The content of the secret with this name: one line that can't be anything else."""
    return f"{CANARY}{name.encode('utf-8', 'surrogateescape').hex()}\n"


def make_vault(root: Path) -> Vault:
    """Build the sample vault at `root`, which must not exist; every file has a known content."""
    vault = Vault(root)
    for name, text in NOTES.items():
        _write(root / name, text)
        vault.readable[name] = text
    for name in SECRETS:
        _write(root / name, canary_for(name))
        vault.canaries[name] = canary_for(name)
    odd = os.fsdecode(NOT_UTF8)
    _write(root / odd, "Named in Latin-1.\n")
    vault.readable[odd] = "Named in Latin-1.\n"
    odd_secret = os.fsdecode(NOT_UTF8_SECRET)
    _write(root / odd_secret, canary_for(odd_secret))
    vault.canaries[odd_secret] = canary_for(odd_secret)
    (root / "latest.md").symlink_to("notes/today.md")
    (root / "config").symlink_to(".env")
    (root / "keys").symlink_to(".ssh")
    (root / "system").symlink_to("/etc")
    os.link(root / ".env", root / "notes" / "innocent.txt")
    return vault


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture(name="vault")
def vault_fixture(tmp_path: Path) -> Vault:
    """A sample vault in a folder of the test's own."""
    return make_vault(tmp_path / "vault")


def age(path: Path) -> None:
    """Wait until the file's change is no longer young, as the copy judges it."""
    while time.time_ns() - path.stat().st_ctime_ns < 60_000_000:
        time.sleep(0.005)
