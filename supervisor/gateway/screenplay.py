"""Which step of a scenario answers a request: pure, and without memory between requests.

The request carries the whole conversation, so the place in a script is counted from it. One server
therefore serves any number of sessions and sub-agents at once.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from supervisor.errors import ConfigurationError
from supervisor.gateway.scenario import Expectation, Scenario, Step, read_steps

NO_MATCH = "Hello from the scripted model: no script answers this message."
NO_TOOLS = "Scripted title"
THE_END = "Done."

_DIRECTIVE = re.compile(r"<<\s*(?:script:\s*(?P<script>[^<>]+?)\s*>>|steps:\s*)")
_RESULT = re.compile(r"\{\{(?:last_result|result:(?P<number>[0-9]{1,4}))\}\}")
_MACHINE_WRITTEN = (
    "<system-reminder>",
    "<task-notification>",
    "<command-",
    "<local-command-",
    "[Request interrupted by user",
)
"""How texts begin that the CLI adds to user messages; no person wrote them."""


@dataclass(frozen=True, slots=True)
class Cue:
    """What to play: the step, with its text filled in, and which one it is (number from 1)."""

    script: str
    number: int
    step: Step
    failure: str | None = None


def cue(scenario: Scenario, body: Mapping[str, Any]) -> Cue:
    """The answer to one request of the Messages API, which may be malformed: it is then empty."""
    if not body.get("tools"):
        return Cue("(no tools)", 1, Step(text=NO_TOOLS))
    messages = [m for m in _list(body.get("messages")) if isinstance(m, dict)]
    at, prompt = _newest_prompt(messages)
    found = _find(scenario, prompt)
    if found is None:
        return Cue("(no match)", 1, Step(text=NO_MATCH))
    name, steps = found
    since = messages[at + 1 :]
    number = 1 + _answers(since)
    if number > len(steps):
        return Cue(name, number, Step(text=THE_END))
    step = steps[number - 1]
    results = list(_results(since))
    failure = _check(step.expect, body, prompt, results) if step.expect else None
    return Cue(name, number, replace(step, text=_fill(step.text, results)), failure)


@dataclass(frozen=True, slots=True)
class _Result:
    text: str
    is_error: bool


def _newest_prompt(messages: Sequence[Mapping[str, Any]]) -> tuple[int, str]:
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.get("role") != "user":
            continue
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = [b for b in _list(blocks) if isinstance(b, dict)]
        if any(b.get("type") == "tool_result" for b in blocks):
            continue
        written = [t for t in map(_block_text, blocks) if t and not _is_machine_written(t)]
        if written:
            return at, "\n".join(written)
    return -1, ""


def _is_machine_written(text: str) -> bool:
    return text.lstrip().startswith(_MACHINE_WRITTEN)


def _answers(messages: Sequence[Mapping[str, Any]]) -> int:
    """Assistant messages, where several in a row are parts of one answer."""
    count, before = 0, None
    for message in messages:
        role = message.get("role")
        if role == "assistant" and before != "assistant":
            count += 1
        before = role
    return count


def _results(messages: Sequence[Mapping[str, Any]]) -> Iterator[_Result]:
    for message in messages:
        for block in _list(message.get("content")):
            if isinstance(block, dict) and block.get("type") == "tool_result":
                yield _Result(_content_text(block.get("content")), block.get("is_error") is True)


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [b for b in _list(content) if isinstance(b, dict)]
    texts = [_block_text(b) for b in parts if b.get("type") == "text"]
    return "\n".join(texts) if texts else json.dumps(content, ensure_ascii=False)


def _block_text(block: Mapping[str, Any]) -> str:
    text = block.get("text")
    return text if isinstance(text, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _find(scenario: Scenario, prompt: str) -> tuple[str, Sequence[Step]] | None:
    if scenario.directives and (directive := _directive(scenario, prompt)):
        return directive
    for script in scenario.scripts:
        if script.when is not None and script.when.fits(prompt):
            return script.name, script.steps
    return None


def _directive(scenario: Scenario, prompt: str) -> tuple[str, Sequence[Step]] | None:
    """The last directive of a message; those inside the JSON of another are for a sub-agent."""
    best: tuple[str, Sequence[Step]] | None = None
    at = 0
    while found := _DIRECTIVE.search(prompt, at):
        at = found.end()
        if name := found["script"]:
            by_name = {script.name: script.steps for script in scenario.scripts}
            best = name, by_name.get(name, (Step(text=f"There is no script named {name!r}."),))
            continue
        try:
            data, at = json.JSONDecoder().raw_decode(prompt, at)
            best = "(inline)", read_steps(data)
        except ConfigurationError as error:
            best = "(inline)", (Step(text=f"Bad inline steps: {error.where}: {error.message}"),)
        except (ValueError, RecursionError) as error:
            best = "(inline)", (Step(text=f"Bad inline steps: {error}"),)
    return best


def _fill(text: str, results: Sequence[_Result]) -> str:
    def value(found: re.Match[str]) -> str:
        at = int(found["number"]) - 1 if found["number"] else len(results) - 1
        return results[at].text if 0 <= at < len(results) else "(no such result)"

    return _RESULT.sub(value, text)


def _check(
    expect: Expectation, body: Mapping[str, Any], prompt: str, results: Sequence[_Result]
) -> str | None:
    """None if the request is as expected, else what is not, with what was found."""
    last = results[-1] if results else _Result("", is_error=False)
    model = str(body.get("model"))
    system = _content_text(body.get("system")) if body.get("system") else ""
    tools = [t.get("name") for t in _list(body.get("tools")) if isinstance(t, dict)]
    checks: list[tuple[str, bool, object, object]] = [
        (
            "last_result_contains",
            expect.last_result_contains is None or expect.last_result_contains in last.text,
            expect.last_result_contains,
            last.text,
        ),
        (
            "last_result_lacks",
            expect.last_result_lacks is None or expect.last_result_lacks not in last.text,
            expect.last_result_lacks,
            last.text,
        ),
        (
            "last_result_is_error",
            expect.last_result_is_error in (None, last.is_error),
            expect.last_result_is_error,
            last.is_error,
        ),
        (
            "prompt_contains",
            expect.prompt_contains is None or expect.prompt_contains in prompt,
            expect.prompt_contains,
            prompt,
        ),
        (
            "system_contains",
            expect.system_contains is None or expect.system_contains in system,
            expect.system_contains,
            f"{len(system)} other characters",
        ),
        (
            "model",
            expect.model is None or fnmatchcase(model, expect.model),
            expect.model,
            model,
        ),
        (
            "tools_include",
            set(expect.tools_include) <= set(tools),
            expect.tools_include,
            tools,
        ),
        (
            "tools_exclude",
            not set(expect.tools_exclude) & set(tools),
            expect.tools_exclude,
            tools,
        ),
    ]
    for name, holds, wanted, found in checks:
        if not holds:
            return f"{name}: wanted {wanted!r}, found {str(found)[:500]!r}"
    return None
