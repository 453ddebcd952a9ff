"""The tour's end: stop the supervisor, count what was started, and look for what is left."""

from dataclasses import dataclass

from supervisor.cli.tour.claims import (
    Claim,
    nothing_came_out,
    numbered_without_gaps,
    own_containers,
)
from supervisor.cli.tour.host import Host
from supervisor.cli.tour.stage import Stage
from supervisor.cli.tour.witness import Creations, Engine, Left, files_with, leftovers


@dataclass(frozen=True, slots=True)
class Ending:
    """What the books say."""

    claims: list[Claim]
    left: Left


async def closes_the_books(
    stage: Stage, host: Host, engine: Engine, instance: str, creations: Creations
) -> Ending:
    """Stop the supervisor and settle the account with the engine, the kernel and the disk."""
    sandboxed = [each for each in stage.told if each.first("isolation").get("cage") == "container"]
    stage.teller.line(
        f"   started  1 supervisor, {len(sandboxed)} containers,"
        f" {len(stage.told) - len(sandboxed)} agents as processes of this machine"
    )
    status = await host.stop()
    left = await leftovers(engine, stage.world, instance)
    made = await creations.made()
    secrets = stage.secrets
    key_files = files_with(stage.world.root, {"the API key": stage.world.key})
    claims = [
        Claim(
            "asked to stop, the supervisor stopped in good order",
            status == 0,
            f"exit status {status}",
        ),
        own_containers(sandboxed, made),
        numbered_without_gaps(stage.told),
        nothing_came_out(stage.told, secrets, "nothing told in the whole tour has a secret in it"),
        Claim(
            "no database, transcript or log has the key in it",
            not key_files,
            f"in {', '.join(key_files)}" if key_files else f"searched all below {stage.world.root}",
        ),
        Claim("none of it is left", left.total == 0, str(left)),
    ]
    return Ending(claims, left)
