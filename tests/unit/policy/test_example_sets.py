"""The sets in `policies/examples`: each loads beside the shipped file, and does what it says."""

import json
from importlib import resources
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from supervisor.errors import ConfigurationError
from supervisor.policy.compile import compile_policy
from supervisor.policy.examples import failing_examples
from supervisor.policy.json_schema import policy_schema
from supervisor.policy.schema import PolicyDocument, read_document
from tests.worlds.policy_world import SHIPPED

EDITOR = Draft202012Validator(policy_schema())
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


REFUSED = [
    {"foo": {"zzz": 1}},
    {"programs": []},
    {"programs": {"mine": {"frob": {"zzz": 1}}}},
    {"programs": {"mine": {"frob": {"operands": "nonsense"}}}},
    {"programs": {"mine": {"frob": "raed..."}}},
    {"programs": {"mine": {"frob": {"options": {"nonsense": "-x"}}}}},
    {"programs": {"mine": {"frob": {"options": {"read": ["-x"]}}}}},
    {"programs": {"mine": {"frob": {"style": "mine"}}}},
    {"programs": {"mine": {"frob": {"reader": "mine"}}}},
    {"programs": {"mine": {"frob": {"does": {"nonsense": "why"}}}}},
    {"programs": {"mine": {"frob": {"when": {"a": {"style": "gnu"}}}}}},
    {"programs": {"mine": {"frob": {"when": {"a": {"turn": {"read": "x"}}}}}}},
    {"programs": {"mine": {"frob": {"commands": {"go": {"zzz": 1}}}}}},
    {"programs": {"mine": {"frob": {"default": "nonsense ."}}}},
    {"variables": {"FROB": {"zzz": 1}}},
    {"variables": {"FROB": {"is": "nonsense"}}},
    {"languages": {"frob": {"zzz": 1}}},
    {"folders": ["/opt/bin"]},
]


@pytest.mark.parametrize("commands", REFUSED, ids=json.dumps)
def test_what_the_reader_refuses_of_commands_an_editor_marks_too(commands: object) -> None:
    content = {"version": 1, "commands": commands}
    with pytest.raises(ConfigurationError):
        compile_policy(
            [document(SHIPPED / "default.yaml"), read_document("x", json.dumps(content).encode())]
        )
    assert not EDITOR.is_valid(content)


def test_control_it_takes_all_of_the_shipped_table() -> None:
    text = resources.files("supervisor.policy.bash").joinpath("commands.yaml").read_text("utf-8")
    content = {"version": 1, "commands": yaml.safe_load(text)}
    assert [each.message for each in EDITOR.iter_errors(content)] == []


@pytest.mark.parametrize("path", [SHIPPED / "default.yaml", *SETS], ids=lambda path: path.stem)
def test_it_takes_each_file_that_is_shipped(path: Path) -> None:
    assert EDITOR.is_valid(yaml.safe_load(path.read_text()))
