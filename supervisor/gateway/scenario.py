"""What a scripted model is to say: the scenario file, parsed with a place for every mistake.

A file is YAML; the inline form `<<steps: [...]>>` is a JSON list of the same steps. Both become
plain data first, and then one reader checks them against the tables below. The form is described in
docs/scripted-model.md.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import yaml

from supervisor.errors import ConfigurationError
from supervisor.gateway.described import (
    Mistake,
    Path,
    Plain,
    check_keys,
    flag,
    list_of,
    mapping,
    mapping_of,
    place_of,
    record,
    seconds,
    shown,
    text,
    whole,
)
from supervisor.policy.yaml_words import reworded

VERSION = 1


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that the model makes; an id is made up if none is given."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptedError:
    """An HTTP error in place of an answer; `times` None: each time, else that often."""

    status: int
    type: str = "api_error"
    message: str = "scripted error"
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the request must hold for the step to be played."""

    last_result_contains: str | None = None
    last_result_lacks: str | None = None
    last_result_is_error: bool | None = None
    prompt_contains: str | None = None
    system_contains: str | None = None
    model: str | None = None
    tools_include: tuple[str, ...] = ()
    tools_exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model. Times are in seconds."""

    text: str = ""
    thinking: str = ""
    tools: tuple[ToolCall, ...] = ()
    expect: Expectation | None = None
    delay_s: float = 0.0
    chunk_delay_s: float = 0.0
    chunks: int = 4
    error: ScriptedError | None = None
    stall_s: float = 0.0
    cut: bool = False
    bad_json: bool = False
    sse_error: ScriptedError | None = None
    raw: str | None = None
    stop_reason: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class When:
    """Which message a script answers; exactly one of the three is set."""

    contains: str | None = None
    matches: re.Pattern[str] | None = None
    always: bool = False

    def fits(self, message: str) -> bool:
        """Whether a person's message is one that the script answers."""
        if self.contains is not None:
            return self.contains in message
        if self.matches is not None:
            return self.matches.search(message) is not None
        return self.always


@dataclass(frozen=True, slots=True)
class Script:
    """A named list of answers to one message."""

    name: str
    when: When | None
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """All scripts of a model. `directives`: prompts may choose or bring their own script."""

    scripts: tuple[Script, ...] = ()
    directives: bool = False


def parse_scenario(source: str, *, file: str) -> Scenario:
    """The scenario that a file describes.

    Raises ConfigurationError; its `where` is `file:line:column field`, its message what was found
    and what was expected.
    """
    places: dict[Path, tuple[int, int]] = {(): (1, 1)}
    try:
        node = yaml.compose(source, Loader=yaml.SafeLoader)
        data = Plain(places).read(node, ()) if node is not None else None
        return _scenario(data, ())
    except yaml.YAMLError as error:
        fault = reworded(error, source)
        message = f"expected {fault.expected}" + (f"; {fault.remedy}" if fault.remedy else "")
        raise _complaint(file, (fault.line, fault.column), (), message) from error
    except RecursionError as error:
        raise _complaint(file, (1, 1), (), "nested too deeply") from error
    except Mistake as mistake:
        place = place_of(places, mistake.path)
        raise _complaint(file, place, mistake.path, mistake.message) from mistake


def read_steps(data: Any) -> tuple[Step, ...]:
    """The steps that a list of plain data describes. Raises ConfigurationError."""
    try:
        return list_of(_step)(data, ("steps",))
    except Mistake as mistake:
        raise ConfigurationError(mistake.message, where=shown(mistake.path)) from mistake


def _complaint(file: str, place: tuple[int, int], path: Path, message: str) -> ConfigurationError:
    where = f"{file}:{place[0]}:{place[1]} {shown(path)}".rstrip()
    return ConfigurationError(message, where=where, remedy="see docs/scripted-model.md")


def _pattern(value: Any, path: Path) -> re.Pattern[str]:
    try:
        return re.compile(text(value, path))
    except re.error as error:
        raise Mistake(path, f"not a regular expression: {error}") from error


_error = record(
    ScriptedError,
    ["status"],
    status=whole(400, 599),
    type=text,
    message=text,
    headers=mapping_of(text),
    times=whole(1, 1_000_000),
)
_sse_error = record(lambda **given: ScriptedError(200, **given), [], type=text, message=text)
_expectation = record(
    Expectation,
    [],
    last_result_contains=text,
    last_result_lacks=text,
    last_result_is_error=flag,
    prompt_contains=text,
    system_contains=text,
    model=text,
    tools_include=list_of(text),
    tools_exclude=list_of(text),
)
_step = record(
    Step,
    [],
    text=text,
    thinking=text,
    tools=list_of(record(ToolCall, ["name"], name=text, input=mapping, id=text)),
    expect=_expectation,
    delay_s=seconds,
    chunk_delay_s=seconds,
    chunks=whole(1, 10_000),
    error=_error,
    stall_s=seconds,
    cut=flag,
    bad_json=flag,
    sse_error=_sse_error,
    raw=text,
    stop_reason=text,
    usage=mapping_of(whole(0, 1_000_000_000)),
)


def _when(value: Any, path: Path) -> When:
    given = mapping(value, path)
    known = [each.name for each in fields(When)]
    check_keys(given, known, path)
    if len(given) != 1:
        raise Mistake(path, f"exactly one of {', '.join(known)} is needed")
    if given.get("always") is False:
        raise Mistake((*path, "always"), "always can only be true; leave `when` out instead")
    when: When = record(When, [], contains=text, matches=_pattern, always=flag)(value, path)
    return when


_script = record(
    lambda name, steps, when=None: Script(name, when, steps),
    ["name", "steps"],
    name=text,
    when=_when,
    steps=list_of(_step),
)


def _scenario(value: Any, path: Path) -> Scenario:
    def make(version: int, scripts: tuple[Script, ...] = (), *, directives: bool = False) -> Any:
        del version
        return Scenario(scripts, directives)

    scenario: Scenario = record(
        make,
        ["version"],
        version=whole(VERSION, VERSION),
        directives=flag,
        scripts=list_of(_script),
    )(value, path)
    names: set[str] = set()
    for index, script in enumerate(scenario.scripts):
        if script.name in names:
            raise Mistake(("scripts", index, "name"), f"a second script named {script.name!r}")
        if script.when is None and not scenario.directives:
            raise Mistake(("scripts", index), "when is missing (only directives could call it)")
        names.add(script.name)
    return scenario
