"""Markdown → its frontmatter and its body, whatever wrote the file: BOMs, CRLF, UTF-16."""

import codecs
import re
from dataclasses import dataclass
from typing import Final

from supervisor.errors import ConfigurationError
from supervisor.policy.document import Node, parse_document

LARGEST_FILE: Final = 1_048_576
"""Bytes of an agent file."""

_FENCE: Final = re.compile(r"---[ \t]*\Z")
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_WIDE: Final = (
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Markdown:
    """A file in two: `head` is the YAML between the fences (None: there are none), `body` the rest.

    `first_line` is the number of the head's first line. Nothing of the body is changed, its line
    ends neither.
    """

    head: str | None
    body: str
    first_line: int = 2


def read_markdown(file: str, content: bytes) -> Markdown:
    """Split a file. Raises ConfigurationError with file and line.

    The frontmatter opens with `---` alone on the very first line and ends at the next such line;
    later ones belong to the body.
    """
    if len(content) > LARGEST_FILE:
        raise ConfigurationError(
            f"the file has {len(content)} bytes, and at most {LARGEST_FILE} are read",
            where=f"{file}:1",
            remedy="move what is long into files that it names under `context`",
        )
    text = _decoded(file, content)
    first = _LINE.match(text)
    if first is None or not _is_fence(first.group()):
        return Markdown(None, text)
    at, lines = first.end(), 1
    while at < len(text):
        line = _LINE.match(text, at)
        if line is None or not line.group():
            break
        lines += 1
        if _is_fence(line.group()):
            return Markdown(text[first.end() : at], text[line.end() :])
        at = line.end()
    raise ConfigurationError(
        "the frontmatter that begins here never ends",
        where=f"{file}:1",
        remedy="put a line `---` after its last key",
    )


def settings_of(file: str, parts: Markdown) -> Node:
    """The frontmatter as YAML whose places are those in the file. Raises ConfigurationError."""
    # Blank lines in front make the reader's line numbers those of the file.
    return parse_document(file, ("\n" * (parts.first_line - 1) + (parts.head or "")).encode())


def _is_fence(line: str) -> bool:
    return _FENCE.match(line.rstrip("\r\n")) is not None


def _decoded(file: str, content: bytes) -> str:
    encoding = next((name for bom, name in _WIDE if content.startswith(bom)), "utf-8-sig")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(
            "the text isn't valid UTF-8", where=f"{file}:{line}", remedy="save it as UTF-8"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ConfigurationError(
            "the text holds a NUL", where=f"{file}:{line}", remedy="save it as UTF-8"
        )
    return text
