"""Every page's links lead somewhere; every dependency has its reason, its pin and its use."""

import ast
import functools
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)")
IMPORT_NAMES = {
    "claude-agent-sdk": "claude_agent_sdk",
    "httpx-sse": "httpx_sse",
    "prometheus-client": "prometheus_client",
    "pydantic-settings": "pydantic_settings",
    "pyyaml": "yaml",
    "tree-sitter": "tree_sitter",
    "tree-sitter-bash": "tree_sitter_bash",
}


def named_in(file: str) -> set[str]:
    text = (ROOT / "requirements" / file).read_text(encoding="utf-8")
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return {re.split(r"[=<>~ ]", line)[0] for line in lines if line and not line.startswith("-")}


@functools.cache
def imported() -> set[str]:
    names: set[str] = set()
    rooms = (ROOT / "supervisor", ROOT / "trustfloor")
    for file in (each for room in rooms for each in room.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {each.name.split(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("file", ["runtime.in", "embeddings.in", "dev.in"])
def test_every_dependency_says_what_it_is_for(file: str) -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    section = page.split(f"(`requirements/{file}`)")[1].split("\n## ")[0]
    rows = {line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")}
    assert rows - {"package"} == named_in(file)


def test_the_project_asks_for_the_packages_that_are_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["dependencies"]) == named_in("runtime.in") - {"setuptools"}
    assert set(project["optional-dependencies"]["embeddings"]) == named_in("embeddings.in")


def test_every_package_the_project_asks_for_is_imported() -> None:
    for package in (named_in("runtime.in") | named_in("embeddings.in")) - {"setuptools"}:
        assert IMPORT_NAMES.get(package, package) in imported(), package


@pytest.mark.parametrize("file", ["runtime.txt", "embeddings.txt", "dev.txt"])
def test_locked_requirements_name_no_host_and_no_path_and_hash_everything(file: str) -> None:
    text = (ROOT / "requirements" / file).read_text(encoding="utf-8")
    assert "://" not in text
    assert " @ " not in text
    assert not [line for line in text.splitlines() if line.startswith("-")]
    for block in re.split(r"\n(?=[a-z])", text.strip()):
        assert re.match(r"[a-z0-9.-]+==\S+ ", block), block.splitlines()[0]
        assert "--hash=sha256:" in block, block.splitlines()[0]


def test_the_tests_are_locked_to_the_versions_that_run() -> None:
    pins = {
        file: dict(
            re.findall(
                r"^([a-z0-9.-]+)==(\S+)",
                (ROOT / "requirements" / file).read_text(encoding="utf-8"),
                re.MULTILINE,
            )
        )
        for file in ("runtime.txt", "embeddings.txt", "dev.txt")
    }
    assert pins["runtime.txt"].items() <= pins["dev.txt"].items()
    assert pins["embeddings.txt"].items() <= pins["dev.txt"].items()


def test_the_readme_shows_the_end_of_a_tour_that_held() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    transcript = readme.split("<!-- tour:begin -->")[1].split("<!-- tour:end -->")[0]
    told = re.search(r"^tour: (\d+) of (\d+) held, 0 left behind$", transcript, re.MULTILINE)
    assert told
    played = transcript[transcript.index("\n1. ") :]
    assert told[1] == told[2] == str(len(re.findall(r"^   held  ", played, re.MULTILINE)))
    assert "NOT HELD" not in transcript
    # What is shown before the whole run is unfolded is its end, word for word.
    above = readme.split("<!-- tour:begin -->")[0]
    shown = re.findall(r"```text\n(.*?)```", above, re.DOTALL)
    assert len(shown) == 1
    assert transcript.rstrip().removesuffix("```").endswith(shown[0])
