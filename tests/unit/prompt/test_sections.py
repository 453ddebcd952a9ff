"""What goes behind the system prompt, in which order, and what is cut."""

from pathlib import Path, PurePosixPath

from supervisor.agents.definition import Skill
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.prompt.context_files import chosen, instructions
from supervisor.prompt.sections import ContextFile, sections

NOTHING = DenyList(())


def test_the_files_come_in_order_and_are_told_by_their_paths() -> None:
    found = sections([ContextFile("CLAUDE.md", "outer"), ContextFile("a/CLAUDE.md", "inner")])
    assert found.text is not None
    assert found.text.index("outer") < found.text.index("inner")
    assert found.files == ("CLAUDE.md", "a/CLAUDE.md")
    assert not found.truncated


def test_over_the_budget_the_nearest_is_kept_and_it_is_said_that_something_is_cut() -> None:
    files = [ContextFile("far.md", "f" * 400), ContextFile("near.md", "n" * 200)]
    found = sections(files, max_tokens=75)
    assert found.truncated
    assert found.files == ("far.md", "near.md")
    assert found.text is not None
    assert found.text.count("n" * 200) == 1
    assert "f" * 101 not in found.text
    assert "cut here" in found.text


def test_skills_are_told_by_the_way_from_the_working_directory() -> None:
    skill = Skill("pdf", "Fill forms", ".claude/skills/pdf/SKILL.md")
    found = sections([], [skill], cwd="notes/deep")
    assert found.text is not None
    assert "`../../.claude/skills/pdf/SKILL.md`" in found.text


def test_nothing_to_say_is_no_text() -> None:
    assert sections([]).text is None


def test_instructions_come_from_the_vault_down_to_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "CLAUDE.md").write_text("root")
    (tmp_path / "AGENTS.md").write_text("root agents")
    (tmp_path / "a" / "b" / "CLAUDE.md").write_text("deep")
    (tmp_path / "a" / "b" / "AGENTS.md").write_text("deep")  # the same words once
    found = instructions(tmp_path, [PurePosixPath("a/b"), PurePosixPath("a")], NOTHING)
    assert [each.path for each in found] == ["AGENTS.md", "CLAUDE.md", "a/b/AGENTS.md"]


def test_links_hard_links_and_denied_names_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / ".env"
    secret.write_text("SECRET")
    (tmp_path / "CLAUDE.md").symlink_to(secret)
    (tmp_path / "AGENTS.md").hardlink_to(secret)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "CLAUDE.md").write_text("denied by name")
    hidden = DenyList((DenyRule("r", "a reason", paths=("a/claude.md",)),))
    assert instructions(tmp_path, [PurePosixPath("a")], hidden) == ()


def test_an_agent_s_globs_choose_and_leave_out(tmp_path: Path) -> None:
    for name in ("docs/a.md", "docs/deep/b.md", "docs/c.txt", ".hidden/d.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    found = chosen(tmp_path, ["docs/**/*.md", ".hidden/*"], ["docs/deep/*"], NOTHING)
    assert [each.path for each in found] == ["docs/a.md"]
