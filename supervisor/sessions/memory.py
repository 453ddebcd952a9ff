"""What a turn may know of its session's earlier turns, and in which form.

A transcript is a file that a CLI wrote and a CLI obeys: what stands in it can make the next one
read files or change folders before any tool call. So a transcript from inside a sandbox is resumed
in sandboxes only, and the one of in-process turns only in-process. Where a session changes sides,
the other side's messages come along as plain text, taken from the supervisor's own events.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from supervisor.ids import TurnId
from supervisor.prompt.sections import CHARS_PER_TOKEN
from supervisor.trust.levels import TrustLevel

MAX_EARLIER_CHARS: Final = 200_000
"""About 50,000 tokens: as much of what was said as is given along, the newest first."""
SPOKEN: Final = ("user_message", "done", "aborted", "error")
"""The events that hold what person and agent said to each other."""

_SANDBOXED_FOLDER = "sandboxed"
_HEADING: Final = (
    "## Earlier in this conversation\n\n(What was said, without tool calls and their results. Lines"
    " with `> ` in front are somebody's words.)\n\n"
)
_BEGINNING: Final = _HEADING.partition("(")[0]
"""How transcripts begin that were made when the rest of the heading was another, too."""
_REQUEST: Final = "\n\n---\n\n## Request\n\n"


@dataclass(frozen=True, slots=True)
class Earlier:
    """What was said before, as text; `messages` is how many messages it holds."""

    text: str
    messages: int

    @property
    def tokens(self) -> int:
        """About how many tokens it is."""
        return len(self.text) // CHARS_PER_TOKEN


@dataclass(frozen=True, slots=True)
class PastTurn:
    """An earlier turn of the session, and the level it ran at."""

    turn_id: TurnId
    level: TrustLevel


def transcript_for(pointer: PurePosixPath, level: TrustLevel) -> PurePosixPath:
    """The session's transcript of this level's side."""
    if level is TrustLevel.SANDBOXED:
        return pointer.parent / _SANDBOXED_FOLDER / pointer.name
    return pointer


def missed_turns(past: Sequence[PastTurn], level: TrustLevel, *, resumes: bool) -> set[TurnId]:
    """The turns, oldest first in `past`, that this side's transcript doesn't hold.

    `resumes` says whether there is such a transcript at all.
    """
    missed: set[TurnId] = set()
    for turn in reversed(past):
        if resumes and _is_same_side(turn.level, level):
            break
        missed.add(turn.turn_id)
    return missed


def earlier(said: Iterable[dict[str, Any]]) -> Earlier | None:
    """The text of what was said, oldest first; None if nothing was.

    `said` are events of the `SPOKEN` types in order. What goes over the limit is left out from the
    beginning, and that is said.
    """
    messages = [text for event in said if (text := _spoken(event))]
    kept: list[str] = []
    left_out = False
    room = MAX_EARLIER_CHARS
    for message in reversed(messages):
        if len(message) > room:
            left_out = True
            break
        kept.append(message)
        room -= len(message)
    if not messages:
        return None
    note = ["[earlier messages are left out]"] if left_out else []
    return Earlier("\n\n".join([*note, *reversed(kept)]), len(kept))


def with_earlier(message: str, before: Earlier | None) -> str:
    """The message as it is handed over, with what was said before in front of it."""
    if before is None:
        return message
    return f"{_HEADING}{before.text}{_REQUEST}{message}"


def without_earlier(message: str) -> str:
    """What the person said of a message that was handed over so."""
    if not message.startswith(_BEGINNING):
        return message
    _, found, said = message.partition(_REQUEST)
    return said if found else message


def _is_same_side(one: TrustLevel, other: TrustLevel) -> bool:
    return (one is TrustLevel.SANDBOXED) == (other is TrustLevel.SANDBOXED)


def words_of(event: dict[str, Any]) -> tuple[bool, str]:
    """Whether a person said it, and what one of the `SPOKEN` events says; empty for nothing."""
    by_person = event.get("type") == "user_message"
    text = _with_names(event) if by_person else event.get("response")
    if not by_person and not text:
        text = event.get("partialResponse")
    return by_person, text if isinstance(text, str) and text.strip() else ""


def _with_names(event: dict[str, Any]) -> str | None:
    """A person's words, and what came along of which they don't say what it is."""
    text, along = event.get("content"), event.get("attachments") or ()
    pictures = [each["name"] for each in along if not each["mediaType"].startswith("text/")]
    names = [f"[attached: {name}]" for name in pictures]
    return "\n\n".join([text, *names] if text else names)


def as_spoken(text: str, timestamp: str, *, by_person: bool) -> dict[str, Any]:
    """Words in the form of an event that holds them."""
    if by_person:
        return {"type": "user_message", "content": text, "ts": timestamp}
    return {"type": "done", "response": text, "ts": timestamp}


def _spoken(event: dict[str, Any]) -> str:
    """Who said it, and what, line by line: no words can pass for those of somebody else."""
    by_person, text = words_of(event)
    if not text:
        return ""
    lines = "\n".join(f"> {line}" for line in text.splitlines())
    return f"{'Person' if by_person else 'Agent'}:\n{lines}"
