"""The tour's first chapter, its end: a floor that nobody steps below, and the two looser levels."""

from http import HTTPStatus

from supervisor.cli.client import Refused
from supervisor.cli.tour.claims import (
    Claim,
    Told,
    nothing_came_out,
    outcome,
    ran_at,
    says,
    shortened,
)
from supervisor.cli.tour.stage import Stage

_WORKSPACE = "family"


async def keeps_the_floor(stage: Stage) -> list[Claim]:
    """A workspace demands `sandboxed`; whoever asks for less gets that, and is told why."""
    body = {"name": "Family", "folder": "family", "floor": "sandboxed"}
    await stage.client.put(f"/api/workspaces/{_WORKSPACE}", body)
    stage.teller.note("makes a workspace “family” whose floor is sandboxed: in it, nothing looser")
    told = await stage.play("When are we off?", workspace=_WORKSPACE, trust="full")
    trust = told.first("session").get("trust", {})
    why = str((trust.get("trace") or ["nothing"])[-1])
    refusal = await _refusal(stage, told.session_id)
    return [
        ran_at(told, "sandboxed", "container"),
        Claim(
            "the person asked for full, and was told whose floor speaks against it",
            trust.get("requested") == "full" and _WORKSPACE in why,
            shortened(why),
        ),
        says("the agent works there all the same", told.act("holidays.md"), "12 to 19 August"),
        Claim(
            "setting the session to full afterwards is refused, naming the floor",
            refusal.get("status") == HTTPStatus.CONFLICT and _WORKSPACE in str(refusal),
            shortened(
                f"HTTP status {refusal.get('status')}: {refusal.get('detail')}"
                if refusal
                else "it was accepted"
            ),
        ),
    ]


async def _refusal(stage: Stage, session: str) -> dict[str, object]:
    try:
        await stage.client.put(f"/api/sessions/{session}/trust", {"trustLevel": "full"})
    except Refused as refused:
        return dict(refused.problem)
    return {}


def _cage_of(vault: Told) -> str:
    """A machine may be unable to hold a cage at `vault`; then each command asks, as doctor says."""
    return "none" if vault.first("isolation").get("cage") == "none" else "bubblewrap"


async def runs_in_process(stage: Stage) -> list[Claim]:
    """`full` and `vault` run on this machine; the key is not theirs either."""
    stage.teller.note("full: no sandbox; the agent may do what the person's own programs may")
    full = await stage.play("Where are you running?", trust="full")
    environment = full.act("env")
    key = {"the API key": stage.world.key}
    stage.teller.note("vault: the vault itself, to read and to write, and nothing else")
    vault = await stage.play("Read me something.", trust="vault")
    beside = vault.act(str(stage.world.outside))
    letter = stage.world.outside.read_text(encoding="utf-8").strip()
    return [
        ran_at(full, "full", "none"),
        says("it is in the real folder, not in a copy", environment, f"PWD={stage.world.vault}"),
        nothing_came_out([full], key, "its environment, printed whole, has no key in it"),
        ran_at(vault, "vault", _cage_of(vault)),
        says("a file of the vault can be read", vault.act("garden.md"), "14 kg of tomatoes"),
        Claim(
            "a file beside the vault can't be read",
            beside.failed and beside.result is not None and letter not in vault.raw,
            outcome(beside),
        ),
    ]
