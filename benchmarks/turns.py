"""A sandboxed turn beside the in-process one and beside a bare `docker run` of the same CLI.

    python -m benchmarks.turns [ROUNDS] [FILES]

A supervisor runs in a process of its own, as `trustfloor serve` starts it, and gets its messages
over HTTP; each is the first of a new session, and so cold, but for those that are sent into a
sandbox that waits: these are the second ones. A second supervisor keeps a spare sandbox ready, with
nothing in it, for the first message of whichever session. In each round all ways take turns, so
that whatever else the machine does falls on all of them. FILES is how many notes the vault holds.
"""

import asyncio
import sys
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

from benchmarks._bare import run_bare
from benchmarks._figures import machine, median, percentile, spread, table
from benchmarks._house import Mark, Supervisor, Turn, make_vault, supervisor, workplace
from benchmarks._model import Model, recording_model
from supervisor.runtimes.container.image import RUNNER_IMAGE

PROMPT = "hello"
WARM_UPS = 2
QUIET = 0.2  # on a machine that others use, the least disturbed turns tell most
SETTLE_SECONDS = 0.5  # what is swept after a turn is not to fall on the next one

BARE = "docker run"
SPARE = "sandboxed, spare"
WAITED = "sandboxed, waited"
WAYS = ("full", "sandboxed", SPARE, WAITED, BARE)
TARGETS = {
    "first request": {"sandboxed": 1.5, SPARE: 1.5, WAITED: 0.3},
    "first text": {},
    "done": {"sandboxed": 1.1, SPARE: 1.1},
}
ORDERS = tuple(permutations(WAYS))


class Figures:
    """What was measured: seconds from the beginning, by way and milestone."""

    def __init__(self) -> None:
        self.reached: dict[tuple[str, str], list[float]] = {}
        self.steps: dict[str, dict[str, list[tuple[float, float]]]] = {}

    def note(self, way: str, milestone: str, seconds: float) -> None:
        self.reached.setdefault((way, milestone), []).append(seconds * 1000)

    def note_steps(self, way: str, marks: list[Mark], turn: Turn) -> None:
        for mark in marks:
            if mark.begin <= turn.done:
                span = (mark.begin - turn.posted) * 1000, (mark.end - turn.posted) * 1000
                firsts = self.steps.setdefault(way, {}).setdefault(mark.name, [])
                firsts.append(span)


async def settled(house: Supervisor) -> None:
    """Wait until nothing is done any more, so that no way pays for the one before it."""
    await asyncio.sleep(SETTLE_SECONDS)
    await house.until_all_wait()
    await asyncio.sleep(SETTLE_SECONDS)


async def sent(
    figures: Figures, house: Supervisor, model: Model, way: str, level: str | None = None
) -> None:
    """One turn through the supervisor."""
    turn = await house.send(PROMPT, level or way)
    await settled(house)
    if (way == SPARE) is not ("waitedSeconds" in turn.isolation.get("receipt", {})):
        raise RuntimeError("a sandbox was made ahead, or none was, against what was asked for")
    figures.note(way, "first request", model.first(turn.session) - turn.posted)
    figures.note(way, "first text", turn.events["text"] - turn.posted)
    figures.note(way, "done", turn.done - turn.posted)
    figures.note_steps(way, house.marks(turn.posted), turn)


async def sent_again(figures: Figures, house: Supervisor, model: Model) -> None:
    """The second turn of a session, whose sandbox waits by then."""
    first = await house.send(PROMPT, "sandboxed")
    await settled(house)
    turn = await house.send(PROMPT, "sandboxed", sessionId=first.session)
    if "waitedSeconds" not in turn.isolation["receipt"]:
        raise RuntimeError("the sandbox that waited was not used")
    await settled(house)
    figures.note(
        WAITED, "first request", model.first_after(first.session, turn.posted) - turn.posted
    )
    figures.note(WAITED, "first text", turn.events["text"] - turn.posted)
    figures.note(WAITED, "done", turn.done - turn.posted)
    figures.note_steps(WAITED, house.marks(turn.posted), turn)


async def bare(figures: Figures, model: Model, place: Path) -> None:
    """One turn without any supervisor."""
    run = await run_bare(RUNNER_IMAGE, place / "vault", model.socket.parent, PROMPT)
    await asyncio.sleep(SETTLE_SECONDS)
    figures.note(BARE, "first request", model.first(run.session) - run.began)
    figures.note(BARE, "first text", run.result - run.began)
    figures.note(BARE, "done", run.ended - run.began)


def upstream(model: Model) -> dict[str, Any]:
    """What both supervisors are told of the model."""
    return {"api_url": model.url, "api_key": "a-benchmark's"}


async def measure(rounds: int, files: int) -> Figures:
    """All ways by turns."""
    figures = Figures()
    with workplace() as place:
        (place / "m").mkdir()
        make_vault(place / "vault", files)
        make_vault(place / "b" / "vault", files)
        async with (
            recording_model(place / "m") as model,
            supervisor(place, **upstream(model), waiting_sandboxes="1") as house,
            supervisor(place / "b", **upstream(model), spare_sandboxes="1") as spares,
        ):
            for number in range(-WARM_UPS, rounds):
                into = Figures() if number < 0 else figures
                ways = {
                    "full": partial(sent, into, house, model, "full"),
                    "sandboxed": partial(sent, into, house, model, "sandboxed"),
                    SPARE: partial(sent, into, spares, model, SPARE, "sandboxed"),
                    WAITED: partial(sent_again, into, house, model),
                    BARE: partial(bare, into, model, place),
                }
                # Each way follows each other one in turn: none is always the one after a full turn.
                for way in ORDERS[number % len(ORDERS)]:
                    await ways[way]()
    return figures


def show_milestones(figures: Figures) -> None:
    """Each way's milestones, and how they compare."""
    print("\nFrom POST (or the command's start); ms: median [smallest..largest]\n")
    rows = []
    for milestone, targets in TARGETS.items():
        base = figures.reached[("full", milestone)]
        for way in WAYS:
            values = figures.reached[(way, milestone)]
            pairs = [value / other for value, other in zip(values, base, strict=True)]
            ratio = f"{median(values) / median(base):.2f}"
            undisturbed = f"{percentile(values, QUIET) / percentile(base, QUIET):.2f}"
            wanted = f"{targets.get(way, '')}"
            rows.append(
                [milestone, way, spread(values), ratio, spread(pairs, 2), undisturbed, wanted]
            )
    heads = ["milestone", "way", "ms", "x full", "x full, per round", "quiet fifth", "target"]
    table(heads, rows)


def show_steps(figures: Figures, way: str) -> None:
    """When each step of a turn began and how long it took."""
    whole = median(figures.reached[(way, "done")])
    print(f"\nSteps of a `{way}` turn, ms after POST, medians; share of the time to done\n")
    spans = {
        name: (median(begin for begin, _ in each), median(end - begin for begin, end in each))
        for name, each in figures.steps[way].items()
    }
    rows = [
        [name, f"{begin:.0f}", f"{took:.1f}", f"{took / whole:.1%}"]
        for name, (begin, took) in sorted(spans.items(), key=lambda item: item[1][0])
    ]
    table(["step", "begins", "takes", "share"], rows)


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    files = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    print(f"{machine()}; {rounds} rounds, a vault of {files} files")
    figures = asyncio.run(measure(rounds, files))
    print(f"load afterwards: {machine().partition('load ')[2]}")
    show_milestones(figures)
    show_steps(figures, "full")
    show_steps(figures, "sandboxed")
    show_steps(figures, SPARE)
    show_steps(figures, WAITED)


if __name__ == "__main__":
    main()
