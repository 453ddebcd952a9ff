"""The tour's script: readable by the scripted model, with one script for each message."""

import inspect
import re

from supervisor.cli import demo
from supervisor.cli.tour import sandbox_steps, session_steps, trust_steps
from supervisor.gateway.scenario import parse_scenario

TEXT = demo.SCENARIO.read_text(encoding="utf-8")
SCENARIO = parse_scenario(TEXT, file="scenario.yaml")


def messages() -> list[str]:
    sources = map(inspect.getsource, (sandbox_steps, trust_steps, session_steps))
    return [found for source in sources for found in re.findall(r'play\(\s*"([^"]+)"', source)]


def handed_over(message: str) -> str:
    """What the model gets of it: in an imported conversation, with what was said there."""
    imported = message == "Where did we want to go?"
    return session_steps.EXPORT.read_text(encoding="utf-8") + message if imported else message


def test_each_message_of_the_tour_is_answered_by_a_script_of_its_own() -> None:
    answered = [
        [
            script.name
            for script in SCENARIO.scripts
            if script.when and script.when.fits(handed_over(message))
        ]
        for message in messages()
    ]
    assert [len(names) for names in answered] == [1] * len(SCENARIO.scripts)
    assert [names[0] for names in answered] == [script.name for script in SCENARIO.scripts]


def test_no_script_holds_what_it_looks_for() -> None:
    assert "sk-ant-demo-canary" not in TEXT
    assert "not-a-real-secret" not in TEXT


def test_every_script_ends_with_an_answer() -> None:
    for script in SCENARIO.scripts:
        assert script.steps[-1].text
        assert not script.steps[-1].tools
