"""What errors, scripts and pages tell a person to run or to set exists in this repository."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.cli.main import COMMANDS
from supervisor.settings import Settings
from supervisor.variables import _OTHER_VARIABLES

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "supervisor").rglob("*.py"))
SCRIPTS = sorted(each for each in (ROOT / "scripts").iterdir() if each.is_file())
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"(?:`|run: )trustfloor ([a-z][a-z-]*)")


def texts_of(source: Path) -> Iterator[str]:
    """The strings of a module that are no docstrings: what it can say to a person."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    silent = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in silent
        ):
            yield node.value


@pytest.mark.parametrize("source", SOURCES, ids=lambda each: str(each.relative_to(ROOT)))
def test_all_that_a_module_tells_to_run_or_to_set_exists(source: Path) -> None:
    settings = {f"TRUSTFLOOR_{name.upper()}" for name in Settings.model_fields}
    for text in texts_of(source):
        for script in re.findall(r"scripts/([a-z-]+)", text):
            assert (ROOT / "scripts" / script).is_file(), text
        for command in COMMAND.findall(text):
            assert command in COMMANDS, text
        for variable in re.findall(r"TRUSTFLOOR_[A-Z_]*[A-Z]", text):
            assert variable in settings | _OTHER_VARIABLES, text


def test_what_is_missing_has_one_remedy_wherever_it_is_told() -> None:
    """People know `scripts/engine` and `scripts/images`; how these do it is their business."""
    for source in SOURCES:
        for text in texts_of(source):
            assert "runner-image" not in text, source
            assert "dockerd" not in text, source


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda each: each.name)
def test_all_that_a_script_tells_to_run_exists(script: Path) -> None:
    for name in re.findall(r"scripts/([a-z-]+[a-z])", script.read_text(encoding="utf-8")):
        assert (ROOT / "scripts" / name).exists() or name == "shell", name


@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.name)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    for command in COMMAND.findall(page.read_text(encoding="utf-8")):
        assert command in COMMANDS, command


def test_the_readme_says_what_a_workspace_is_not_and_lists_all_that_can_be_left() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "not a wall around the folder" in readme
    removal = readme.split("\n## Removal\n")[1].split("\n## ")[0]
    for place in ("`Chat`", "`.claude/projects`", "data folder", "runtime folder", "trustfloor/*"):
        assert place in removal
