"""Our own labelled calls, in `tests/policy_cases`: each is judged as labelled."""

import json
from pathlib import Path
from typing import NoReturn

import pytest

from supervisor.gate.cases import run_cases
from supervisor.gate.policy_files import PolicySource
from tests.worlds.policy_world import SHIPPED

FILES = sorted((Path(__file__).resolve().parents[2] / "policy_cases").glob("*.jsonl"))


def _fail(_call: object, error: Exception) -> NoReturn:
    raise error


@pytest.fixture
def _no_fault_passes_for_a_denial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the engine fails a call is denied: rightly, and not for the reason of its label."""
    for module in ("supervisor.policy.decide", "supervisor.gate.cases"):
        monkeypatch.setattr(f"{module}.internal_error", _fail)


@pytest.mark.usefixtures("_no_fault_passes_for_a_denial")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_case_is_judged_as_labelled(path: Path) -> None:
    found = run_cases(path, PolicySource(SHIPPED))
    commands = {
        case["id"]: case["input"] for case in map(json.loads, path.read_text("utf-8").splitlines())
    }
    assert [(commands[wrong.id], wrong.got, wrong.rule) for wrong in found.wrong] == []


def test_there_are_some_hundreds_of_them() -> None:
    assert sum(len(path.read_text("utf-8").splitlines()) for path in FILES) > 500
