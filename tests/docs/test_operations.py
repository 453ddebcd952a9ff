"""docs/operations.md names every setting, error code, command and script there is, and no other."""

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import supervisor
from supervisor.cli.main import COMMANDS
from supervisor.errors import TrustfloorError
from supervisor.settings import Settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
CLIENT_SETTINGS = {"TRUSTFLOOR_CA_FILE", "TRUSTFLOOR_URL", "TRUSTFLOOR_TOKEN"}
SCRIPTS_SETTINGS = {"TRUSTFLOOR_BASE", "TRUSTFLOOR_PULL_SECONDS"}
CLIENT = ("supervisor.cli", "trustfloor.")

for module in pkgutil.walk_packages(supervisor.__path__, "supervisor."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)  # so that every class of error is known


def settings() -> set[str]:
    return {f"TRUSTFLOOR_{name.upper()}" for name in Settings.model_fields}


def rows(heading: str) -> list[str]:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| `")]


def first_words(heading: str) -> list[str]:
    return [re.findall(r"`([^`]+)`", line.split("|")[1])[0] for line in rows(heading)]


def error_codes(kind: type[TrustfloorError] = TrustfloorError) -> set[str]:
    codes: set[str] = set() if kind.__module__.startswith(CLIENT) else {kind.code}
    return codes.union(*(error_codes(each) for each in kind.__subclasses__()))


def door_codes() -> set[str]:
    """Codes of problems that are made where HTTP is spoken, and are no errors elsewhere."""
    codes: set[str] = set()
    for file in (ROOT / "supervisor" / "api").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Problem":
                given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "code")]
                codes |= {str(each.value) for each in given if isinstance(each, ast.Constant)}
    return codes - error_codes()


@pytest.mark.parametrize("setting", sorted(settings()))
def test_every_setting_has_a_row(setting: str) -> None:
    assert setting in first_words("Settings")


@pytest.mark.parametrize("code", sorted(error_codes() | door_codes()))
def test_every_error_code_has_a_row(code: str) -> None:
    assert code in first_words("When something fails")


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_a_row(command: str) -> None:
    assert f"trustfloor {command}" in first_words("Commands")


def test_no_row_speaks_of_a_setting_or_an_error_that_is_not_there() -> None:
    assert set(first_words("Settings")) == settings()
    assert set(first_words("When something fails")) == error_codes() | door_codes()


def test_every_variable_that_the_page_mentions_exists() -> None:
    mentioned = set(re.findall(r"TRUSTFLOOR_[A-Z_]+", PAGE))
    assert mentioned <= settings() | CLIENT_SETTINGS | SCRIPTS_SETTINGS


def test_every_script_that_a_page_names_exists() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for name in re.findall(r"scripts/([a-z-]+)", page.read_text(encoding="utf-8")):
            assert (ROOT / "scripts" / name).is_file(), f"{page.name} names scripts/{name}"
