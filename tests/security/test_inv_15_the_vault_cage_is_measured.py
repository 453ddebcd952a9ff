"""Invariant 15 at `vault`: the cage is measured from inside, and a weaker one gets no message."""

from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor.runtimes.local import availability, cage, runtime
from supervisor.runtimes.local.availability import CageAvailability, vault_cage_available
from supervisor.runtimes.local.bubblewrap import CageSpec, arguments
from tests.worlds.house import a_house, noted_requests
from tests.worlds.vault_cage import CANARY, fill, receipt, run


async def test_the_receipt_says_what_was_measured() -> None:
    async with a_house(fill=fill) as house:
        event = receipt(await run(house, "sh look.sh"))
        assert (event["cage"], event["accepted"], event["shortfalls"]) == ("bubblewrap", True, [])
        facts = event["receipt"]
        assert facts["noNewPrivileges"] == 1
        assert facts["seccomp"] == 2
        assert int(facts["capabilities"]["CapEff"], 16) == 0
        assert facts["covered"] >= 4
        assert "DONE" not in facts["acts"].values()
        assert facts["network"] == "the host's"
        assert CANARY not in repr(event)


def without(*words: str) -> Callable[[list[str]], list[str]]:
    """The arguments, with the first place where these follow each other left out."""

    def left_out(given: list[str]) -> list[str]:
        for at in range(len(given)):
            if given[at : at + len(words)] == list(words):
                return given[:at] + given[at + len(words) :]
        raise AssertionError(f"{words} are not in {given}")

    return left_out


def without_the_mask(given: list[str]) -> list[str]:
    at = next(i for i, word in enumerate(given) if word.endswith("/vault/.env"))
    return given[: at - 2] + given[at + 1 :]


def with_the_shadow_file(given: list[str]) -> list[str]:
    return ["--ro-bind", "/etc/shadow", "/etc/shadow", *given]


WEAKENED: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "a mask is missing": (without_the_mask, "isn't masked"),
    "the root can be written": (without("--remount-ro", "/"), "write at the root: DONE"),
    "other processes are there": (without("--unshare-pid"), "processes is"),
    "the shadow file is there": (with_the_shadow_file, "read the shadow file: DONE"),
    "kernel settings can be written": (
        without("--ro-bind-try", "/proc/sys", "/proc/sys"),
        "write a kernel setting: DONE",
    ),
}


@pytest.mark.parametrize(("weaken", "said"), WEAKENED.values(), ids=WEAKENED)
async def test_a_weaker_cage_gets_no_message(
    weaken: Callable[[list[str]], list[str]], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def weakened(spec: CageSpec, seccomp_fd: int) -> list[str]:
        return weaken(arguments(spec, seccomp_fd))

    monkeypatch.setattr(cage, "arguments", weakened)
    requests = noted_requests(monkeypatch)
    async with a_house(fill=fill) as house:
        turn = await run(house, "sh look.sh")
        assert turn.end["code"] == "isolation_refused", turn.end
        assert not turn.of("init")
        assert receipt(turn)["accepted"] is False
        assert any(said in each for each in receipt(turn)["shortfalls"]), receipt(turn)
        assert requests == []


async def test_a_cage_that_is_not_filtered_gets_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def unfiltered(spec: CageSpec, seccomp_fd: int) -> list[str]:
        return arguments(spec, seccomp_fd)[:-2]

    monkeypatch.setattr(cage, "arguments", unfiltered)
    async with a_house(fill=fill) as house:
        turn = await run(house, "sh look.sh")
        assert turn.end["code"] == "isolation_refused"
        assert "seccomp is 0" in turn.end["error"]


async def test_where_bubblewrap_works_and_then_fails_nothing_looser_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho no namespaces today >&2\nexit 1\n")
    broken.chmod(0o755)
    async with a_house(fill=fill) as house:
        assert vault_cage_available().works
        for program in (str(broken), None):
            monkeypatch.setattr(cage, "bubblewrap_program", lambda program=program: program)
            turn = await run(house, "sh look.sh")
            assert turn.end["code"] == "isolation_refused", turn.end
            assert not turn.of("init")
        assert "bubblewrap is gone" in turn.end["error"]


async def test_where_there_is_no_bubblewrap_the_receipt_health_and_log_say_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(availability, "bubblewrap_program", lambda: None)
    vault_cage_available.cache_clear()
    try:
        async with a_house(fill=fill) as house:
            turn = await run(house, "sh look.sh")
            assert turn.end["type"] == "done"
            event = receipt(turn)
            assert event["cage"] == "none"
            assert "bubblewrap isn't installed" in event["receipt"]["held_by"]
            checks = (await house.parts.readiness()).checks
            (found,) = [check for check in checks if check.name == "vault confinement"]
            assert found.ok is None
            assert "Bash always asks" in found.detail
        assert "`vault` has no cage, so each command there asks: bubblewrap isn't" in caplog.text
    finally:
        vault_cage_available.cache_clear()


async def test_control_on_this_machine_health_says_that_there_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with a_house(fill=fill) as house:
        checks = (await house.parts.readiness()).checks
        (found,) = [check for check in checks if check.name == "vault confinement"]
        assert found.ok is True
        monkeypatch.setattr(
            runtime, "vault_cage_available", lambda: CageAvailability(works=False, detail="no")
        )
        turn = await run(house, "sh look.sh")
        assert receipt(turn)["cage"] == "none"
