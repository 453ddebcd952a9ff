"""Our own labelled calls, in `tests/policy_cases`: each is judged as labelled."""

import json
from pathlib import Path

import pytest

from supervisor.gate.cases import run_cases
from supervisor.gate.policy_files import PolicySource
from tests.worlds.policy_world import SHIPPED

FILES = sorted((Path(__file__).resolve().parents[2] / "policy_cases").glob("*.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_case_is_judged_as_labelled(path: Path) -> None:
    found = run_cases(path, PolicySource(SHIPPED))
    commands = {
        case["id"]: case["input"] for case in map(json.loads, path.read_text("utf-8").splitlines())
    }
    assert [(commands[wrong.id], wrong.got, wrong.rule) for wrong in found.wrong] == []


def test_there_are_some_hundreds_of_them() -> None:
    assert sum(len(path.read_text("utf-8").splitlines()) for path in FILES) > 500
