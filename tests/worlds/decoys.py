"""What stands in the place of denied files, as a test notes it, and where it must not be."""

import asyncio
import contextlib
import re
from typing import Final

import pytest

from supervisor.runtimes.honeytokens import Honeytokens
from tests.worlds.house import House

NAMED: Final = "n=$(ls -A /vault | awk '/nv/'); "
"""Finds the denied file's name as it runs: no reading of the command can tell it."""
TOKEN: Final = re.compile(rb"[a-z0-9]{44}")


def noted_decoys(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The decoys that are made from now on, by path; nothing is changed."""
    made: dict[str, bytes] = {}
    decoy = Honeytokens.decoy

    def noting(self: Honeytokens, path: str) -> bytes:
        made[path] = decoy(self, path)
        return made[path]

    monkeypatch.setattr(Honeytokens, "decoy", noting)
    return made


def tokens_of(decoys: dict[str, bytes]) -> set[bytes]:
    """The tokens that are in them."""
    return {token for content in decoys.values() for token in TOKEN.findall(content)}


async def appears_nowhere(house: House, decoys: dict[str, bytes], elsewhere: str) -> None:
    """No token is in what is stored, streamed, kept as a transcript, logged or sent."""
    data = house.parts.settings.data_dir
    kept = [path for path in data.iterdir() if path.is_file()]
    kept += [path for path in (house.vault / ".claude").rglob("*") if path.is_file()]
    kept += [path for path in (house.vault / "Chat").rglob("*") if path.is_file()]
    contents = {}
    for path in kept:
        with contextlib.suppress(FileNotFoundError):  # the audit log's head is replaced meanwhile
            contents[str(path)] = await asyncio.to_thread(path.read_bytes)
    assert any("events" in path for path in contents)
    tokens = tokens_of(decoys)
    assert tokens
    for name, content in {**contents, "elsewhere": elsewhere.encode()}.items():
        assert not any(token in content for token in tokens), name
