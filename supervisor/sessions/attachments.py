"""What comes along with a message: texts become part of it, pictures and PDFs stay what they are.

What something is, its first bytes say, never its name or whoever sent it.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from supervisor.errors import InvalidRequest

MOST: Final = 20
"""Attachments of one message."""
LARGEST: Final = 5 * 1024 * 1024
"""Bytes of one attachment: what the model's API takes of a picture."""
LARGEST_TOGETHER: Final = 8 * 1024 * 1024
"""Bytes of all attachments of one message."""
LONGEST_NAME: Final = 255

_PICTURES: Final[tuple[tuple[re.Pattern[bytes], str], ...]] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
)
_PDF: Final = (b"%PDF-", "application/pdf")
_TEXT: Final = "text/plain"
_FENCES: Final = re.compile(r"`{3,}")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file as a client sent it; its name is data."""

    name: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Attached:
    """An attachment that is understood: a `text` for the message, or a `block` of its own.

    `block` stands beside the message, in the form of the model's API.
    """

    name: str
    media_type: str
    size: int
    text: str | None = field(default=None, repr=False)
    block: Mapping[str, Any] | None = field(default=None, repr=False)


def attached(attachments: Sequence[Attachment]) -> tuple[Attached, ...]:
    """What the attachments are. Raises InvalidRequest, naming the first that can't come along."""
    if len(attachments) > MOST:
        raise InvalidRequest(
            f"the message has {len(attachments)} attachments",
            where="attachments",
            remedy=f"send at most {MOST}",
        )
    together = sum(len(each.content) for each in attachments)
    if together > LARGEST_TOGETHER:
        raise InvalidRequest(
            f"the attachments have {together} bytes together",
            where="attachments",
            remedy=f"send at most {LARGEST_TOGETHER}, or put the files into the vault",
        )
    return tuple(_one(each, f"attachments.{at}") for at, each in enumerate(attachments))


def with_texts(text: str, files: Sequence[Attached]) -> str:
    """The message with the texts that came along behind it, each fenced and under its name."""
    parts = [text] if text.strip() else []
    for each in files:
        if each.text is not None:
            runs = _FENCES.findall(each.text)
            fence = "`" * max(3, 1 + max(map(len, runs), default=0))
            parts.append(f"## Attached: {each.name}\n\n{fence}\n{each.text}\n{fence}")
    return "\n\n".join(parts)


def _one(given: Attachment, where: str) -> Attached:
    name, content = given.name.strip(), given.content
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidRequest(
            f"a name has 1 to {LONGEST_NAME} characters, none of them invisible",
            where=f"{where}.filename",
        )
    if not content:
        raise InvalidRequest("the attachment is empty", where=f"{where}.content")
    if len(content) > LARGEST:
        raise InvalidRequest(
            f"the attachment has {len(content)} bytes",
            where=f"{where}.content",
            remedy=f"send at most {LARGEST}, or put the file into the vault",
        )
    kind = next((kind for form, kind in _PICTURES if form.match(content)), None)
    if kind is not None:
        return Attached(name, kind, len(content), block=_block("image", kind, content))
    if content.startswith(_PDF[0]):
        block = {**_block("document", _PDF[1], content), "title": name}
        return Attached(name, _PDF[1], len(content), block=block)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InvalidRequest(
            "this is neither UTF-8 text nor a PNG, JPEG, GIF, WebP or PDF",
            where=f"{where}.content",
            remedy="put the file into the vault, and name it in the message",
        )
    return Attached(name, _TEXT, len(content), text=text)


def _block(kind: str, media_type: str, content: bytes) -> dict[str, Any]:
    data = base64.b64encode(content).decode()
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}}
