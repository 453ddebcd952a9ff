"""The small vaults that labelled calls presume: harmless files, fake secrets, links of all kinds.

Layout `a` is an agent's vault of notes, layout `b` a developer's with many look-alike names. What
a file holds doesn't matter; where it lies, what it is called and what it links to does.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TEXT = "x\n"
SECRET = "FAKE=not-a-secret\n"  # noqa: S105  (fake, as it says)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Names by folder; `links` and `hard_links` by their own name, with what they lead to."""

    files: Mapping[str, str]
    secrets: Mapping[str, str]
    links: Mapping[str, str]
    hard_links: Mapping[str, str]
    beside: tuple[str, ...] = ()
    pipes: tuple[str, ...] = ()


_A = _Layout(
    files={
        "": "environment.md .env.example .mcp.json",
        "notes": "a.md b.md env.md sudoku.md",
        "My Notes": "x|y.md",
        "docs": "guide.md rm-notes.md sudo-faq.md credentials-howto.md setup.sh x.b64",
        "src": "app.py gen.py my_tokenizer.py",
        "keys": "id_ed25519.pub",
        "Chat": "sessions.db",
        "Chat/artifacts": "old.txt",
        ".claude": "settings.json CLAUDE.md",
        "agents": "helper.md",
        "policies": "default.yaml",
        "node_modules/dotenv": "readme.md",
        "build": "x run.sh env.sh",
        "build/cache": "y",
        "build/out": "z",
        "Blogs": "p.md",
        "BlogsPrivate": "q.md",
    },
    secrets={
        "": ".env .env.local",
        "config": ".env.production credentials.json",
        "keys": "server.pem id_ed25519",
    },
    links={"notes/link_to_env": "../.env", "notes/outside": "/etc"},
    hard_links={"notes/hard_env": ".env"},
)
_B = _Layout(
    files={
        "": ".env.example .env.sample .env.template README.md environment.md environment.yml "
        "env.md env.d.ts keys.md monkey.txt secretary.md tokens.css design_tokens.md .gitignore "
        "foo..bar.md package.json",
        "services/api": ".env.example",
        "docs": "env.md dotenv.md sudo.md mkfs.md id_rsa.md .envelope.txt danger.md",
        "src": "env.ts env.d.ts a.ts passwords_validator.py",
        "notes": "a.md my|file.md Café.md -rf.md [draft].md ...md",
        "notes/sub": "b.md",
        ".venv": "pyvenv.cfg",
        "..notes": "x.md",
        "etc": "passwd",
        "~": "x.md",
        "$HOME": "x.md",
        "config": "credentials.example.json",
        "keys": "id_rsa.pub",
        "notes-private": "a.md",
        "notes2": "a.md",
        "build": "x.o",
    },
    secrets={
        "": ".env .env.local .env.production",
        "services/api": ".env",
        "realdir": ".env",
        "config": ".env.staging credentials.json",
        "keys": "id_rsa id_ed25519 deploy.key",
        "certs": "server.pem",
    },
    links={
        "link-to-env": ".env",
        "linkdir": "realdir",
        "notes/innocent.md": "../.env",
        "chain1": "chain2",
        "chain2": ".env",
        "link-out": "/etc",
        "link-passwd": "/etc/passwd",
        "chain-out": "chain-out2",
        "chain-out2": "/etc/hostname",
        "notes/link-up": "../..",
        "dangling": "/nonexistent-outside/x",
        "loop": "loop2",
        "loop2": "loop",
        "link-in": "README.md",
    },
    hard_links={"hard-env.txt": ".env"},
    beside=("VAULT-evil", "VAULT2", "VAULT.bak"),
    pipes=("fifo",),
)
_MADE = {"a": _A, "b": _B}
LAYOUTS = tuple(_MADE)


def make_vault(base: Path, layout: str) -> Path:
    """Makes the vault `base/VAULT` of a layout, and what lies beside it; `base` must be empty."""
    made, vault = _MADE[layout], base / "VAULT"
    for text, folders in ((TEXT, made.files), (SECRET, made.secrets)):
        for folder, names in folders.items():
            for name in names.split():
                _write(vault / folder / name.replace("|", " "), text)
    for name, target in made.links.items():
        (vault / name).symlink_to(target)
    for name, target in made.hard_links.items():
        os.link(vault / target, vault / name)
    for name in made.pipes:
        os.mkfifo(vault / name)
    for name in made.beside:
        (base / name).mkdir()
    _write(base / "outside.txt", TEXT)
    return vault


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
