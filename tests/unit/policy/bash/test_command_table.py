"""The table of commands: whole, without contradictions, and open to an admin's additions."""

import re
from collections.abc import Iterable
from importlib import resources

import pytest
import yaml

from supervisor.errors import ConfigurationError
from supervisor.policy.bash.effect import ShellContext
from supervisor.policy.bash.effects import analyse
from supervisor.policy.bash.entries import READERS
from supervisor.policy.bash.little_languages import LITTLE
from supervisor.policy.bash.readers import READ_BY
from supervisor.policy.bash.roles import HANDLERS
from supervisor.policy.bash.table import ROLES, Command
from supervisor.policy.bash.table_reading import extend, read_table, shipped_table

TEXT = resources.files("supervisor.policy.bash").joinpath("commands.yaml").read_text("utf-8")


def commands_below(command: Command) -> list[Command]:
    found = [command]
    for each in command.commands.values():
        found.extend(commands_below(each))
    return found


def all_commands() -> list[Command]:
    table = shipped_table()
    roots = [*table.commands.values(), *(command for _, command in table.prefixes)]
    return [each for root in roots for each in commands_below(root)]


def test_the_shipped_table_knows_hundreds_of_programs() -> None:
    assert len(shipped_table().commands) > 400


def test_every_reader_that_the_table_may_name_exists() -> None:
    assert set(READ_BY) == READERS


def test_every_language_that_the_table_names_can_be_read() -> None:
    languages = set(LITTLE) | set(shipped_table().languages) | {"lisp"}
    named = set(re.findall(r"code:(\w+)", TEXT))
    assert named <= languages


def test_every_role_that_is_used_means_something() -> None:
    told_apart_by_readers = {
        "argument", "bound", "command", "items", "module", "mount", "number", "replace", "root",
        "signal", "split", "text", "unset", "code",
    }  # fmt: skip
    assert set(ROLES) == set(HANDLERS) | told_apart_by_readers


def test_every_tag_that_a_condition_asks_for_can_be_set() -> None:
    always = {"alone", "bare", "help"}
    for command in all_commands():
        settable = set(command.tags) | always
        for option in command.options.values():
            settable.update(option.tags)
        for overlay in command.when:
            assert overlay.needs | overlay.without <= settable | {"recursive", "hard"}, overlay


def test_no_key_of_the_file_comes_twice() -> None:
    def check(node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value]
            assert len(keys) == len(set(keys)), [key for key in keys if keys.count(key) > 1]
            for _, value in node.value:
                check(value)
        elif isinstance(node, yaml.SequenceNode):
            for each in node.value:
                check(each)

    root = yaml.compose(TEXT, Loader=yaml.CSafeLoader)
    assert root is not None
    check(root)


def twice(names: Iterable[object]) -> list[str]:
    words = [word for each in names for word in str(each).split()]
    return sorted({each for each in words if words.count(each) > 1})


def options_twice(place: str, entry: object) -> list[str]:
    if not isinstance(entry, dict):
        return []
    found = [f"{place} {each}" for each in twice(entry.get("options", {}).values())]
    for name, below in entry.get("commands", {}).items():
        found.extend(options_twice(f"{place} {name}", below))
    return found


def test_no_option_of_a_command_is_given_two_meanings() -> None:
    themes = yaml.load(TEXT, Loader=yaml.CSafeLoader)["programs"].values()
    assert [
        each for theme in themes for name, entry in theme.items()
        for each in options_twice(name, entry)
    ] == []  # fmt: skip


def test_no_variable_and_no_call_of_a_language_is_given_two_meanings() -> None:
    table = yaml.load(TEXT, Loader=yaml.CSafeLoader)
    assert twice(table["variables"]) == []
    for language, entry in table["languages"].items():
        assert twice(entry["calls"]) == [], language
        assert set(entry.get("plain", "").split()).isdisjoint(" ".join(entry["calls"]).split())


def test_an_admin_adds_a_program() -> None:
    mapping = {
        "programs": {"ours": {"deploy": {"operands": "read...", "does": {"lose": "goes live"}}}}
    }
    table = extend(shipped_table(), mapping, "ours.yaml commands")
    context = ShellContext("/v", "/h", {})
    acts = [str(each.act) for each in analyse("deploy a", context, table).effects]
    assert acts == ["executes", "reads", "may lose work"]
    assert shipped_table().find("deploy") is None


def test_an_admin_says_otherwise_of_a_program() -> None:
    table = extend(shipped_table(), {"programs": {"ours": {"rm": "text"}}}, "ours.yaml")
    assert len(analyse("rm -rf x", ShellContext("/v", "/h", {}), table).effects) == 1


def of_x(entry: dict[str, object]) -> dict[str, object]:
    return {"programs": {"t": {"x": entry}}}


@pytest.mark.parametrize(
    ("mapping", "where", "expected"),
    [
        ({"program": {}}, "f", "program"),
        ({"programs": []}, "f programs", "mapping"),
        ({"programs": {"t": {"x": {"operand": "read"}}}}, "f programs.t.x", "operand"),
        ({"programs": {"t": {"x": "raed..."}}}, "f programs.t.x.operands", "raed"),
        (of_x({"options": {"raed": "-f"}}), "f programs.t.x.options.raed", "raed"),
        (of_x({"options": {"read": ["-f"]}}), "f programs.t.x.options.read", "words"),
        ({"programs": {"t": {"x": {"style": "dos"}}}}, "f programs.t.x.style", "gnu"),
        ({"programs": {"t": {"x": {"reader": "none"}}}}, "f programs.t.x.reader", "sqlite"),
        ({"programs": {"t": {"x": {"does": {"harm": "a"}}}}}, "f programs.t.x.does.harm", "send"),
        (of_x({"when": {"a": {"turns": {}}}}), "f programs.t.x.when.a", "turns"),
        ({"programs": {"t": {"x": "read", "y x": "read"}}}, "f programs.t.y x", "x came before"),
        ({"programs": {"t": {"x": "like nothing"}}}, "f programs.t.x", "nothing"),
        ({"variables": {"X": {"is": "magic"}}}, "f variables.X.is", "magic"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(mapping: object, where: str, expected: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        extend(shipped_table(), mapping, "f")
    assert told.value.where == where
    assert expected in f"{told.value.message} {told.value.remedy}"


def test_text_that_is_no_yaml_is_told_as_such() -> None:
    with pytest.raises(ConfigurationError, match="not YAML"):
        read_table("a: [", "f")
