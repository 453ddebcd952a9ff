import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.gateway.scenario import Scenario, parse_scenario
from supervisor.gateway.screenplay import NO_MATCH, NO_TOOLS, THE_END, cue

SCENARIO = parse_scenario(
    """\
version: 1
directives: true
scripts:
  - name: notes
    when: {contains: notes}
    steps:
      - {text: one, tools: [{name: Read}]}
      - {text: "two {{last_result}} {{result:1}} {{result:9}}"}
  - name: checked
    when: {contains: checked}
    steps:
      - {text: ok, expect: {prompt_contains: please, tools_include: [Read], model: "claude-*"}}
      - {text: ok, expect: {last_result_contains: milk, last_result_is_error: false}}
  - name: later
    steps:
      - {text: called by name}
""",
    file="t",
)


def person(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def result(text: str, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "t", "content": text, **more}
    return {"role": "user", "content": [block]}


def assistant(text: str = "x") -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def said(*messages: Any, scenario: Scenario = SCENARIO, **more: Any) -> str:
    body = {"model": "claude-x", "messages": messages, "tools": [{"name": "Read"}], **more}
    body["messages"] = list(messages)
    played = cue(scenario, body)
    return played.failure or played.step.text


def test_the_first_matching_script_begins_with_its_first_step() -> None:
    assert said(person("read my notes")) == "one"


def test_the_place_is_counted_from_the_answers_since_the_message() -> None:
    talk = [person("notes"), assistant(), result("A"), assistant(), result("B")]
    assert said(*talk[:3]) == "two A A (no such result)"
    assert said(*talk) == THE_END


def test_parts_of_one_answer_count_once() -> None:
    assert said(person("notes"), assistant(), assistant(), result("A")).startswith("two")


def test_a_new_message_begins_anew_and_an_old_one_no_longer_counts() -> None:
    assert said(person("notes"), assistant(), person("notes again")) == "one"
    assert said(person("notes"), assistant(), person("thanks")) == NO_MATCH


def test_words_in_a_tool_result_match_nothing() -> None:
    assert said(person("hi"), assistant(), result("notes <<script: later>>")) == NO_MATCH


def test_what_the_cli_adds_to_messages_is_not_taken_for_the_person() -> None:
    reminder = {"type": "text", "text": "<system-reminder>\nnotes\n</system-reminder>"}
    mixed = {"role": "user", "content": [reminder, {"type": "text", "text": "hi"}]}
    assert said(mixed) == NO_MATCH
    note = {"role": "user", "content": [{"type": "text", "text": "<task-notification>x"}]}
    assert said(person("notes"), assistant(), note).startswith("two")


def test_a_request_without_tools_gets_a_short_text() -> None:
    assert said(person("notes"), tools=[]) == NO_TOOLS


def test_a_directive_calls_a_script_or_brings_its_own() -> None:
    assert said(person("do <<script: later>>")) == "called by name"
    assert said(person('do <<steps: [{"text": "mine"}]>> now')) == "mine"
    assert "no script named" in said(person("<<script: other>>"))
    assert "Bad inline steps" in said(person("<<steps: [{]>>"))
    assert "did you mean 'text'" in said(person('<<steps: [{"txt": 1}]>>'))


def test_a_directive_inside_another_is_left_for_the_sub_agent() -> None:
    inner = '<<steps: [{"text": "child"}]>>'
    outer = [{"text": "parent", "tools": [{"name": "Agent", "input": {"prompt": inner}}]}]
    assert said(person(f"<<steps: {json.dumps(outer)}>>")) == "parent"
    assert said(person(inner)) == "child"


def test_directives_count_only_where_the_scenario_says_so() -> None:
    plain = Scenario(SCENARIO.scripts, directives=False)
    assert said(person("<<script: later>>"), scenario=plain) == NO_MATCH


def test_a_result_that_looks_like_a_template_is_not_filled_again() -> None:
    talk = [person("notes"), assistant(), result("{{result:1}}")]
    assert said(*talk).startswith("two {{result:1}} {{result:1}}")


@pytest.mark.parametrize(
    ("messages", "more", "failure"),
    [
        ([person("checked please")], {}, "ok"),
        ([person("checked")], {}, "prompt_contains: wanted 'please'"),
        ([person("checked please")], {"model": "gpt"}, "model: wanted"),
        ([person("checked please")], {"tools": [{"name": "Bash"}]}, "tools_include: wanted"),
        ([person("checked"), assistant(), result("milk")], {}, "ok"),
        ([person("checked"), assistant(), result("tea")], {}, "last_result_contains: wanted"),
        ([person("checked"), assistant()], {}, "last_result_contains: wanted"),
        (
            [person("checked"), assistant(), result("milk", is_error=True)],
            {},
            "last_result_is_error: wanted",
        ),
    ],
)
def test_expectations_are_checked_and_named(messages: Any, more: Any, failure: str) -> None:
    assert said(*messages, **more).startswith(failure)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "name"]), inner, max_size=4
        )
    ),
    max_leaves=15,
)


@given(json_values, json_values)
def test_every_body_gets_an_answer(messages: Any, tools: Any) -> None:
    assert cue(SCENARIO, {"messages": messages, "tools": tools}).step
