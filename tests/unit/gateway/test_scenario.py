import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from supervisor.errors import ConfigurationError
from supervisor.gateway.scenario import (
    Expectation,
    ScriptedError,
    Step,
    ToolCall,
    When,
    parse_scenario,
    read_steps,
)

WHOLE = """\
version: 1
directives: true
scripts:
  - name: read-notes
    when: {contains: "read my notes"}
    steps:
      - text: "Let me look."
        tools: [{name: Read, input: {file_path: /vault/today.md, on: 2026-01-02}}]
      - text: "It says: {{last_result}}"
        expect: {last_result_contains: milk}
  - name: busy
    when: {matches: "(?i)^busy"}
    steps:
      - error: {status: 529, type: overloaded_error, message: busy, headers: {retry-after: "1"}, times: 2}
      - {text: abc, delay_s: 1, chunk_delay_s: 0.5, chunks: 3, stall_s: 2, cut: true, bad_json: true}
      - {sse_error: {type: api_error, message: oh}, usage: {output_tokens: 5}, stop_reason: max_tokens}
      - {raw: "", thinking: hm}
  - name: rest
    when: {always: true}
    steps: []
"""  # noqa: E501


def test_a_whole_file_is_read() -> None:
    scenario = parse_scenario(WHOLE, file="x.yaml")
    notes, busy, rest = scenario.scripts
    assert scenario.directives
    assert notes.steps[0] == Step(
        text="Let me look.",
        tools=(ToolCall("Read", {"file_path": "/vault/today.md", "on": "2026-01-02"}),),
    )
    assert busy.steps[0].error == ScriptedError(
        529, "overloaded_error", "busy", {"retry-after": "1"}, times=2
    )
    assert busy.when is not None
    assert busy.when.fits("BUSY now")
    assert rest.when is not None
    assert rest.when.fits("")


def one_step(text: str) -> str:
    return (
        f"version: 1\nscripts:\n  - name: a\n    when: {{always: true}}\n    steps:\n      - {text}"
    )


@pytest.mark.parametrize(
    ("source", "where", "message"),
    [
        (one_step("{txt: x}"), "f:6:10 scripts[0].steps[0].txt", "did you mean 'text'"),
        (one_step("{tools: [{nam: x}]}"), "f:6:19 scripts[0].steps[0].tools[0].nam", "'name'"),
        (one_step("{tools: [{input: {}}]}"), "f:6:18 scripts[0].steps[0].tools[0]", "is missing"),
        (one_step("{text: 3}"), "f:6:10 scripts[0].steps[0].text", "expected text, found 3"),
        (one_step("{cut: 1}"), "f:6:10 scripts[0].steps[0].cut", "true or false"),
        (one_step("{stall_s: -1}"), "f:6:10 scripts[0].steps[0].stall_s", "seconds"),
        (one_step("{stall_s: .nan}"), "f:6:19 scripts[0].steps[0].stall_s", "JSON"),
        (one_step("{raw: !!binary aGk=}"), "f:6:15 scripts[0].steps[0].raw", "JSON"),
        (one_step("{chunks: 0}"), "f:6:10 scripts[0].steps[0].chunks", "from 1"),
        (one_step("{error: {}}"), "f:6:10 scripts[0].steps[0].error", "status is missing"),
        (one_step("{error: {status: 200}}"), "f:6:18 scripts[0].steps[0].error.status", "400"),
        (one_step("{text: a, text: b}"), "f:6:19 scripts[0].steps[0].text", "twice"),
        ("version: 2", "f:1:1 version", "found 2"),
        ("scripts: []", "f:1:1", "version is missing"),
        ("", "f:1:1", "found nothing"),
        ("version: 1\nscript: []", "f:2:1 script", "did you mean 'scripts'"),
        ("version: [", "f:1:11", "expected a value"),
        ("&a [*a]", "f:1:1", "nested too deeply"),
        ("version: 1\n---\nversion: 1", "f:2:1", "expected one document"),
        (
            "version: 1\nscripts:\n- {name: a, steps: [], when: {contains: a, always: true}}",
            "f:3:24 scripts[0].when",
            "exactly one",
        ),
        (
            "version: 1\nscripts:\n- {name: a, steps: [], when: {matches: '('}}",
            "f:3:31 scripts[0].when.matches",
            "not a regular expression",
        ),
        ("version: 1\nscripts:\n- {name: a, steps: []}", "f:3:3 scripts[0]", "when is missing"),
        (
            "directives: true\nversion: 1\nscripts: [{name: a, steps: []}, {name: a, steps: []}]",
            "f:3:34 scripts[1].name",
            "a second script",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(source: str, where: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_scenario(source, file="f")
    assert caught.value.where == where
    assert message in caught.value.message


def test_aliases_can_not_make_a_file_grow_without_bound() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(ConfigurationError, match="more than 100000 values"):
        parse_scenario("\n".join(lines), file="f")


def test_python_tags_make_nothing() -> None:
    with pytest.raises(ConfigurationError):
        parse_scenario("version: !!python/object/apply:os.getcwd []", file="f")


def test_every_example_in_the_documentation_is_a_scenario() -> None:
    page = (Path(__file__).parents[3] / "docs" / "scripted-model.md").read_text()
    examples = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert len(examples) >= 2
    for example in examples:
        assert parse_scenario(example, file="example").scripts


def test_every_key_of_a_step_and_an_expectation_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "scripted-model.md").read_text()
    for kind in (Step, Expectation, When, ScriptedError):
        for each in fields(kind):
            assert f"`{each.name}`" in page, each.name


def test_steps_can_be_read_from_plain_data() -> None:
    assert read_steps([{"text": "x"}]) == (Step(text="x"),)


@pytest.mark.parametrize("data", [None, {}, [1], [{"txt": "x"}], "x"])
def test_wrong_plain_data_is_a_configuration_error(data: Any) -> None:
    with pytest.raises(ConfigurationError):
        read_steps(data)
