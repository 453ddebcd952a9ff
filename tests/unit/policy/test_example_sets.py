"""The sets in `policies/examples`: each loads beside the shipped file, and does what it says."""

import json
from pathlib import Path

import pytest

from supervisor.policy.compile import compile_policy
from supervisor.policy.examples import failing_examples
from supervisor.policy.json_schema import policy_schema
from supervisor.policy.schema import PolicyDocument, read_document
from tests.worlds.policy_world import SHIPPED

SETS = sorted((SHIPPED / "examples").glob("*.yaml"))


def document(path: Path) -> PolicyDocument:
    return read_document(path.name, path.read_bytes())


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_an_example_set_loads_with_the_shipped_file_and_its_examples_hold(path: Path) -> None:
    policy = compile_policy([document(SHIPPED / "default.yaml"), document(path)])
    assert failing_examples(policy) == ()


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_every_rule_of_an_example_set_has_examples_of_both_kinds(path: Path) -> None:
    read = document(path)
    every = [
        *(entry.examples for entry in read.deny),
        *(entry.examples for entry in read.dangerous),
        *(entry.examples for entry in read.rules),
    ]
    assert all(each.deny and each.allow for each in every)


def test_there_are_the_three_sets_that_are_promised() -> None:
    assert [path.stem for path in SETS] == ["developer", "strict", "team"]


def test_the_schema_for_editors_is_the_one_that_the_reader_has() -> None:
    path = SHIPPED / "schema.json"
    made = json.dumps(policy_schema(), indent=2) + "\n"
    if not path.exists() or path.read_text() != made:
        path.write_text(made)
        pytest.fail("policies/schema.json was out of date and has been written anew; commit it")


@pytest.mark.parametrize("path", [SHIPPED / "default.yaml", *SETS], ids=lambda path: path.stem)
def test_each_file_names_its_schema_for_editors(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (path.parent / first.rpartition("=")[2]).resolve() == SHIPPED / "schema.json"
