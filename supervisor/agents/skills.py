"""Finds skills (`.claude/skills/NAME/SKILL.md`): packages of instructions that agents read."""

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.agents.definition import Skill
from supervisor.agents.frontmatter import LARGEST_FILE, read_markdown, settings_of
from supervisor.errors import ConfigurationError
from supervisor.policy.fault import PolicyFault
from supervisor.storage.beneath import inside, read_inside

FOLDER: Final = PurePosixPath(".claude/skills")
FILE: Final = "SKILL.md"
MOST_SKILLS: Final = 200
LONGEST_DESCRIPTION: Final = 1_024
"""Characters; it goes into the prompt of every turn."""


@dataclass(frozen=True, slots=True)
class Skills:
    """What was found, and what is wrong with the rest."""

    good: tuple[Skill, ...] = ()
    broken: tuple[PolicyFault, ...] = ()


def read_skills(vault: Path) -> Skills:
    """The vault's skills as they are on the disk now. Blocks; follows no link."""
    good: list[Skill] = []
    broken: list[PolicyFault] = []
    if not inside(vault, FOLDER):
        return Skills(broken=(PolicyFault(str(FOLDER), "links aren't followed to skills"),))
    try:
        names = sorted(os.listdir(vault / FOLDER))  # noqa: PTH208  (names, in bulk)
    except OSError:
        return Skills()
    for name in names[:MOST_SKILLS]:
        path = FOLDER / name / FILE
        try:
            opened = read_inside(vault, path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            broken.append(PolicyFault(str(path), f"can't be read: {error.strerror}"))
            continue
        with opened as file:
            content = file.read(LARGEST_FILE + 1)
        try:
            good.append(_skill(str(path), name, content))
        except ConfigurationError as error:
            broken.append(PolicyFault.of(error))
    if len(names) > MOST_SKILLS:
        broken.append(PolicyFault(str(FOLDER), f"at most {MOST_SKILLS} skills are read"))
    return Skills(tuple(good), tuple(broken))


def _skill(path: str, folder: str, content: bytes) -> Skill:
    parts = read_markdown(path, content)
    if parts.head is None or not parts.head.strip():
        raise ConfigurationError(
            "a skill needs frontmatter with `name` and `description`", where=f"{path}:1"
        )
    root = settings_of(path, parts)
    settings = {key.text(): value for key, value in root.entries()}
    if "description" not in settings:
        raise root.wrong("the key `description`", "say in it when the skill is of use")
    described = " ".join(settings["description"].text().split())
    if len(described) > LONGEST_DESCRIPTION:
        raise settings["description"].wrong(f"at most {LONGEST_DESCRIPTION} characters")
    name = settings["name"].text().strip() if "name" in settings else folder
    return Skill(name, described, path)
