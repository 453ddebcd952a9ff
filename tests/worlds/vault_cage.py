"""A house whose sessions work at `vault`, with secrets in it and a script that looks for them.

The gate would refuse a command that names a denied file, so the commands are in files that the host
put there: what the kernel holds is tested, not what the gate sees. Each command is written so that
it asks; the test grants it when the host has done its part.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, Turn, bash, is_a, prompt, step

CANARY = "CANARY-inv-09"
SEARCH = (
    "grep -rs --binary-files=text 'CANARY-[i]nv-09' .;"
    " grep -s --binary-files=text 'CANARY-[i]nv-09' .env keys/id_rsa .ssh/config hard.md"
    " link moved/id_rsa notes/deep/server.pem notes/deep/.env.local secrets/plain.txt;"
    " grep -h oat notes/today.md; echo searched\n"
)

asking = is_a("permission_request")


def fill(vault: Path) -> None:
    """Secrets under denied names, and one under another name by a hard link and two soft ones."""
    (vault / ".env").write_text(f"A={CANARY}-1\n")
    (vault / "keys").mkdir()
    (vault / "keys" / "id_rsa").write_text(f"{CANARY}-2\n")
    (vault / ".ssh").mkdir()
    (vault / ".ssh" / "config").write_text(f"{CANARY}-3\n")
    (vault / "hard.md").hardlink_to(vault / "keys" / "id_rsa")
    (vault / "link").symlink_to(".env")
    (vault / "secrets").mkdir()
    (vault / "secrets" / "plain.txt").write_text(f"{CANARY}-4\n")
    (vault / "notes" / ".env").symlink_to("../secrets/plain.txt")
    (vault / "look.sh").write_text(SEARCH)


def with_script(name: str, text: str) -> Callable[[Path], None]:
    """`fill`, and a script of the test's own."""

    def filled(vault: Path) -> None:
        fill(vault)
        (vault / name).write_text(text)

    return filled


async def asked(house: House, *commands: str, level: TrustLevel = TrustLevel.VAULT) -> Turn:
    """Begin a turn that runs these commands, up to the first request (or its end)."""
    # With an unset variable where the program stands, nobody can tell what runs: that asks.
    script = [bash(f"$UNSET {command}") for command in commands]
    return await house.send(prompt(*script, step("ok")), level, until=asking)


async def grant(turn: Turn) -> Turn:
    """Say yes to what was asked last, and go on to the next request or the end."""
    if turn.end["type"] == "permission_request":
        await turn.house.parts.approvals.answer(turn.end["id"], "granted")
        await turn.go_on(asking)
    return turn


async def run(house: House, *commands: str, level: TrustLevel = TrustLevel.VAULT) -> Turn:
    """A turn that runs these commands, each granted, to its end."""
    turn = await asked(house, *commands, level=level)
    while turn.end["type"] == "permission_request":
        await grant(turn)
    return turn


def receipt(turn: Turn) -> dict[str, Any]:
    """The turn's isolation event."""
    (event,) = turn.of("isolation")
    return event
