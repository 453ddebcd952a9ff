"""Agents are found where the vault's owner put them, and the broken ones are shown."""

from pathlib import Path

import pytest

from supervisor.agents.discover import AgentFiles
from supervisor.agents.skills import read_skills
from supervisor.errors import InvalidRequest, NotFound


def put(vault: Path, path: str, text: str) -> Path:
    file = vault / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    put(tmp_path, "agents/writer.md", "---\nname: Writer\n---\n")
    put(tmp_path, "agents/deep/er/reader.md", "---\nname: Reader\n---\n")
    put(tmp_path, ".claude/agents/helper.md", "---\nname: helper\ncolor: red\n---\n")
    put(tmp_path, "agents/README.md", "# About\n")
    put(tmp_path, "agents/broken.md", "---\nname: x\ntoolz: []\n---\n")
    return tmp_path


def test_good_ones_are_read_and_broken_ones_told_with_their_place(vault: Path) -> None:
    found = AgentFiles(vault).read()
    assert [each.path for each in found.good] == [
        "agents/deep/er/reader.md",
        "agents/writer.md",
        ".claude/agents/helper.md",
    ]
    (fault,) = found.broken
    assert (fault.file, fault.line, fault.field) == ("agents/broken.md", 3, "toolz")


def test_an_agent_is_found_by_path_with_or_without_its_ending_and_by_name(vault: Path) -> None:
    found = AgentFiles(vault).read()
    for wanted in ("agents/writer.md", "/agents/writer.md", "agents/writer", "writer", "WRITER"):
        assert found.find(wanted).path == "agents/writer.md"


def test_a_broken_one_says_why_and_a_missing_one_where_to_look(vault: Path) -> None:
    found = AgentFiles(vault).read()
    with pytest.raises(InvalidRequest, match=r"agents/broken\.md:3:1"):
        found.find("agents/broken.md")
    with pytest.raises(NotFound):
        found.find("agents/nobody.md")


def test_a_broken_one_that_is_called_by_its_files_name_says_why(vault: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"agents/broken\.md:3"):
        AgentFiles(vault).read().find("Broken")
    put(vault, "agents/other.md", "---\nname: Broken\n---\n")
    assert AgentFiles(vault).read().find("Broken").path == "agents/other.md"


def test_a_name_that_two_have_is_none(vault: Path) -> None:
    put(vault, "agents/other.md", "---\nname: writer\n---\n")
    with pytest.raises(InvalidRequest, match="several agents"):
        AgentFiles(vault).read().find("Writer")


def test_a_link_to_an_agent_is_not_followed(vault: Path, tmp_path: Path) -> None:
    outside = put(tmp_path / "elsewhere", "loose.md", "---\nname: Loose\n---\n")
    (vault / "agents" / "loose.md").symlink_to(outside)
    (vault / "agents" / "folder").symlink_to(outside.parent)
    found = AgentFiles(vault).read()
    assert "Loose" not in [each.name for each in found.good]
    assert "agents/loose.md" in [each.file for each in found.broken]


def test_a_good_one_that_becomes_broken_is_no_agent_any_more(vault: Path) -> None:
    files = AgentFiles(vault)
    assert files.read().find("writer")
    put(vault, "agents/writer.md", "---\nname: Writer\ntools: Read]\n---\n")
    with pytest.raises(InvalidRequest):
        files.read().find("agents/writer.md")
    put(vault, "agents/writer.md", "---\nname: Writer\ntools: [Glob]\n---\n")
    assert files.read().find("writer").bounds.tools == ("Glob",)


def test_a_vault_without_agents_has_none(tmp_path: Path) -> None:
    found = AgentFiles(tmp_path).read()
    assert found.good == ()
    assert found.broken == ()


def test_skills_are_found_by_their_file_and_told_of_if_broken(tmp_path: Path) -> None:
    put(
        tmp_path,
        ".claude/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Fill\n  forms\n---\nX",
    )
    put(tmp_path, ".claude/skills/bad/SKILL.md", "---\nname: bad\n---\n")
    put(tmp_path, ".claude/skills/empty/notes.md", "nothing")
    found = read_skills(tmp_path)
    assert [(each.name, each.description, each.path) for each in found.good] == [
        ("pdf", "Fill forms", ".claude/skills/pdf/SKILL.md")
    ]
    assert [each.file for each in found.broken] == [".claude/skills/bad/SKILL.md"]
