"""Vaults and folders of ours under names that trip up formats: all work, all masked (S07)."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import a_house, bash, calls, prompt, step

pytestmark = pytest.mark.engine

ODD = [
    "2026-03-01T10:00 notes",
    "a,b=c;ro,source=x",
    'it\'s "so" $HOME `x` {a,b} [c]*?',
    "back\\slash\\040",
    "ü é Ω 日本",
    "e\u0301-emoji-🙂",
    "tab\tand line\nbreak",
    " -leading and trailing ",
    "%2e%2e%2f#&+",
]


@pytest.mark.parametrize("name", ODD)
async def test_a_vault_under_an_odd_name_works_and_its_denied_files_stay_masked(name: str) -> None:
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as own:
        # Sockets' paths are short, so the runtime folder has the name's oddest part only.
        run = Path(own) / name.encode()[:14].decode(errors="ignore")
        root = Path(own) / f"of {name}"
        root.mkdir()
        async with a_house(root, fill=lambda vault: fill(vault / name), runtime_dir=run) as house:
            sandboxed, full = await asyncio.gather(
                *(
                    house.send(script(vault, name), level, working_directory=name)
                    for level, vault in (
                        (TrustLevel.SANDBOXED, "/vault"),
                        (TrustLevel.FULL, str(house.vault)),
                    )
                )
            )
        assert full.events[0]["workingDirectory"] == name
        assert sandboxed.events[0]["workingDirectory"] == name
        for turn in (sandboxed, full):
            assert turn.end["type"] == "done", turn.end
            assert turn.results()[0].split() == ["inside.md"]
            assert "Buy oat milk." in turn.results()[1]
            assert "written by the test" in turn.results()[2]
            assert [denied["rule"] for denied in turn.of("permission_denied")] == ["env-files"] * 2
            assert "CANARY-of" not in repr(turn.events)
        assert sandboxed.results()[-1] == "0"  # files anywhere in the vault that hold a canary


def fill(folder: Path) -> None:
    folder.mkdir()
    (folder / "inside.md").write_text("written by the test\n")
    (folder / ".env").write_text("PASSWORD=CANARY-of-the-folder\n")


def script(vault: str, name: str) -> str:
    """List the working directory, read two plain files and two denied ones; then look again."""
    reads = ("notes/today.md", f"{name}/inside.md", ".env", f"{name}/.env")
    return prompt(
        bash("ls"),
        *(calls(("Read", {"file_path": f"{vault}/{path}"})) for path in reads),
        *((bash("grep -rlZ CANARY /vault | tr -cd '\\0' | wc -c"),) if vault == "/vault" else ()),
        step("ok"),
    )
