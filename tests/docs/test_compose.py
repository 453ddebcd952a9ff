"""The demo of compose.yaml plays a script that its image has, and the page's messages are in it."""

import re
from pathlib import Path

import pytest
import yaml

from supervisor.gateway.scenario import parse_scenario

ROOT = Path(__file__).parents[2]
APP = "/opt/trustfloor/app/"
PAGES = ("README.md", "docs/compose.md")
SAID = {
    message
    for page in PAGES
    for message in re.findall(
        r"compose exec demo trustfloor chat (?:--trust \w+ )?'([^']+)'",
        (ROOT / page).read_text("utf-8"),
    )
}


def script() -> str:
    """The demo's script, as a path in this repository."""
    demo = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["demo"]
    kind, _, file = demo["environment"]["TRUSTFLOOR_MODEL"].partition(":")
    assert (kind, file.startswith(APP)) == ("scripted", True)
    return str(file.removeprefix(APP))


def test_the_demo_plays_a_script_that_its_image_has() -> None:
    assert (ROOT / script()).is_file()
    builds = (ROOT / "scripts" / "supervisor-image").read_text("utf-8")
    (copied,) = re.findall(r"^code=\((.*)\)$", builds, re.MULTILINE)
    assert script().split("/")[0] in copied.split()


@pytest.mark.parametrize("message", sorted(SAID))
def test_a_message_of_the_pages_has_an_answer_of_its_own(message: str) -> None:
    scenario = parse_scenario((ROOT / script()).read_text("utf-8"), file=script())
    answers = [each.when for each in scenario.scripts if each.when and each.when.fits(message)]
    assert not answers[0].always


def test_what_a_proxy_before_it_takes_is_handed_on() -> None:
    """Or all its clients would count as one, and the console's cookie would not be kept to TLS."""
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    page = (ROOT / "docs" / "compose.md").read_text("utf-8")
    for name in ("TRUSTFLOOR_ALLOWED_HOSTS", "TRUSTFLOOR_TRUSTED_PROXIES"):
        assert services["supervisor"]["environment"][name] == f"${{{name}:-}}"
        assert f"`{name}`" in page


def test_the_pages_say_what_to_try() -> None:
    assert len(SAID) == 3
