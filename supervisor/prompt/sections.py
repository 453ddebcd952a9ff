"""What is put behind the system prompt: instructions from the vault, and the skills there are."""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.agents.definition import Skill

CHARS_PER_TOKEN: Final = 4
"""As a rule of thumb; what a model really counts isn't known here."""
INSTRUCTIONS: Final = ("AGENTS.md", "CLAUDE.md")
"""Files that hold instructions for agents, in the order in which they are told."""
CONTEXT_TOKENS: Final = 50_000
"""Tokens of context files in a prompt, at most."""
_CUT: Final = "\n\n[cut here: the files are longer than a prompt takes]"


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A file that goes into the prompt: its path relative to the vault, and what it holds."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Sections:
    """The text behind the system prompt, and what it was made of. `tokens` are estimated."""

    text: str | None = None
    files: tuple[str, ...] = ()
    tokens: int = 0
    truncated: bool = False


def sections(
    files: Sequence[ContextFile],
    skills: Sequence[Skill] = (),
    *,
    cwd: str = ".",
    max_tokens: int = CONTEXT_TOKENS,
) -> Sections:
    """The text of the files, in their order, and the list of skills.

    Where the files have more than `max_tokens`, the last ones count most: they lie nearest to the
    work. `cwd` is the working directory relative to the vault, from which paths are told.
    """
    kept, cut = _within(files, max_tokens * CHARS_PER_TOKEN)
    parts = []
    if kept:
        told = "\n\n".join(f"### {each.path}\n\n{each.text.strip()}" for each in kept)
        parts.append(f"## Instructions from the vault\n\n{told}")
    if skills:
        parts.append(_skills(skills, cwd))
    text = "\n\n".join(parts) or None
    return Sections(
        text=text,
        files=tuple(each.path for each in kept),
        tokens=sum(len(each.text) for each in kept) // CHARS_PER_TOKEN,
        truncated=cut,
    )


def _within(files: Sequence[ContextFile], most: int) -> tuple[list[ContextFile], bool]:
    kept: list[ContextFile] = []
    rest = most
    for each in reversed(files):
        if rest <= 0:
            return kept[::-1], True
        if len(each.text) > rest:
            kept.append(ContextFile(each.path, each.text[:rest] + _CUT))
            return kept[::-1], True
        rest -= len(each.text)
        kept.append(each)
    return kept[::-1], False


def _skills(skills: Sequence[Skill], cwd: str) -> str:
    lines = [
        f"- **{each.name}** (`{posixpath.relpath(each.path, cwd)}`): {each.description}"
        for each in skills
    ]
    head = (
        "## Skills\n\nEach is a folder of instructions. Where one fits the task, read its file "
        "first and do as it says.\n\n"
    )
    return head + "\n".join(lines)
