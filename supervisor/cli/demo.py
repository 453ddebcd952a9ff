"""`trustfloor demo`: the tour. A real supervisor, a scripted model, and what must not happen."""

import asyncio
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Annotated, Final

import httpx
import typer

from supervisor.cli.tour import sandbox_steps, session_steps, trust_steps
from supervisor.cli.tour.claims import Claim
from supervisor.cli.tour.ending import closes_the_books
from supervisor.cli.tour.host import running_supervisor
from supervisor.cli.tour.stage import Stage
from supervisor.cli.tour.teller import Teller
from supervisor.cli.tour.witness import Engine, instance_of
from supervisor.cli.tour.world import tour_world
from supervisor.errors import TrustfloorError
from supervisor.settings import Settings

SAMPLE: Final = Path(__file__).resolve().parents[2] / "sample-vault"
INTRODUCTION: Final = (
    "Trustfloor: a tour. Every line is something that happened just now.",
    "",
    "An agent works on a person's folder of files, the vault, and goes for what it must not have.",
    "What it says and which tools it calls comes from a script, in place of a model. All the rest",
    "is real: supervisor, agent program, tools, sandbox, files, and each refusal.",
    "",
    "   person   what the person says: a message to the agent, or an answer to its request",
    "   agent    what the agent does or answers; with the message it makes up a turn",
    "   asks     a call of the agent's that waits until the person has allowed or refused it",
    "   tour     what the tour does or explains besides",
    "   held     a promise that was kept, with the fact that it is judged by",
)
"""Said at once, while the supervisor starts."""
SCENARIO: Final = Path(__file__).resolve().parent / "tour" / "scenario.yaml"

Step = Callable[[Stage], Awaitable[list[Claim]]]

STEPS: Final[tuple[tuple[str, Step], ...]] = (
    ("An agent in a sandbox reads notes and answers", sandbox_steps.reads_and_answers),
    ("The same agent goes for the secrets in the vault", sandbox_steps.finds_no_secret),
    ("It tries to write into the vault", sandbox_steps.cannot_write),
    ("It reaches for the network", sandbox_steps.reaches_no_network),
    ("It looks for the key to the model's API", sandbox_steps.finds_no_key),
    ("It prints what stands in a secret's place", sandbox_steps.trips_over_a_decoy),
    ("It wants to use a tool that needs a person's approval", sandbox_steps.asks_a_person),
    (
        "A floor, the least strictness of a workspace, holds",
        trust_steps.keeps_the_floor,
    ),
    ("The two looser levels: full without a cage, vault in one", trust_steps.runs_in_process),
    ("An agent is a file, which can only take away", session_steps.keeps_agents_to_their_files),
    ("A conversation from elsewhere goes on here", session_steps.goes_on_from_elsewhere),
    ("Search finds what was said, and nothing denied", session_steps.finds_words_and_no_secret),
    ("The supervisor is started anew", session_steps.goes_on_after_a_restart),
)


def demo(
    pause: Annotated[
        bool, typer.Option("--pause", help="Wait for a key after each step (at a terminal).")
    ] = False,
    policies: Annotated[
        Path | None,
        typer.Option(
            help="Play it under these policy files, not the shipped ones.",
            exists=True,
            file_okay=False,
            resolve_path=True,
        ),
    ] = None,
) -> None:
    """Play the tour: an agent in a sandbox, and what it must not be able to do.

    Needs the container engine and the runner image (scripts/demo sees to both); no API key, and no
    network. Exit status 0 only if every claim held and nothing was left behind.
    """
    teller = Teller(sys.stdout)
    wait = pause and sys.stdin.isatty() and sys.stdout.isatty()
    try:
        held = asyncio.run(_tour(teller, policies, wait=wait))
    except KeyboardInterrupt:
        raise _interrupted(teller, signal.SIGINT) from None
    except _Ended as ended:
        raise _interrupted(teller, ended.signal) from None
    raise typer.Exit(0 if held else 1)


class _Ended(Exception):
    """The tour was told to end."""

    def __init__(self, signal: signal.Signals) -> None:
        super().__init__(signal.name)
        self.signal = signal


def _interrupted(teller: Teller, by: signal.Signals) -> typer.Exit:
    with suppress(OSError):  # a terminal that was closed takes no more
        teller.line("the tour was interrupted; what it had started is gone", "yellow")
    return typer.Exit(128 + by)


async def _tour(teller: Teller, policies: Path | None, *, wait: bool) -> bool:
    """Play it; a signal that ends programs ends it in good order. Raises _Ended."""
    playing = asyncio.ensure_future(_play(teller, policies, wait=wait))
    told: list[signal.Signals] = []

    def end(by: signal.Signals) -> None:
        told.append(by)
        playing.cancel()

    for each in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(each, end, each)
    try:
        return await playing
    except asyncio.CancelledError:
        if told:
            raise _Ended(told[0]) from None
        raise


async def _play(teller: Teller, policies: Path | None, *, wait: bool) -> bool:
    claims: list[Claim] = []
    began = time.time()
    left = 0
    for line in INTRODUCTION:
        teller.line(line)
    with tour_world(SAMPLE, SCENARIO) as world:
        try:
            async with running_supervisor(world, policies) as host, aclosing(_engine()) as engine:
                await host.require_sandbox()
                instance = instance_of(world.data)
                async with engine.creations(instance, began) as creations:
                    stage = Stage(host.client, world, teller, host.process.pid, host.restart)
                    teller.line()
                    teller.line(f"The supervisor is process {host.process.pid}.", "dim")
                    teller.line(f"The vault, a copy of sample-vault, is {world.vault}", "dim")
                    await _play_steps(stage, claims, wait=wait)
                    teller.step("What was started, and what is left")
                    ending = await closes_the_books(stage, host, engine, instance, creations)
                left = ending.left.total
                for claim in ending.claims:
                    teller.claim(claim)
                claims.extend(ending.claims)
        except (TrustfloorError, httpx.HTTPError, OSError) as error:
            if not claims:  # nothing was played, so nothing can be claimed
                teller.line()
                teller.failure(error)
                return False
            claims.append(_broke_off(error))
            teller.claim(claims[-1])
    left += world.root.exists()
    held = sum(claim.held for claim in claims)
    took = time.time() - began
    teller.line()
    teller.line(f"it took {took:.1f} s; the folder of the tour is {_gone(world.root)}", "dim")
    whole = held == len(claims) and left == 0
    teller.line(
        f"tour: {held} of {len(claims)} held, {left} left behind",
        "bold green" if whole else "bold red",
    )
    return whole


async def _play_steps(stage: Stage, claims: list[Claim], *, wait: bool) -> None:
    for title, step in STEPS:
        stage.teller.step(title)
        try:
            found, broke_off = await step(stage), False
        except (TrustfloorError, TimeoutError) as error:
            found, broke_off = [_broke_off(error)], True
        for claim in found:
            stage.teller.claim(claim)
        claims.extend(found)
        if broke_off:  # what comes after would hold for the reason that nothing ran
            return
        if wait:
            await asyncio.to_thread(input, "   (Enter goes on) ")


def _broke_off(error: Exception) -> Claim:
    parts = [str(error) or type(error).__name__]
    if isinstance(error, TrustfloorError):
        parts += [f"{error.where}"] * bool(error.where)
        parts += [f"what to do: {error.remedy}"] * bool(error.remedy)
    return Claim("the tour could go on", held=False, evidence="\n            ".join(parts))


def _engine() -> Engine:
    return Engine(Settings().engine_socket)


def _gone(folder: Path) -> str:
    return "still there" if folder.exists() else "gone"
