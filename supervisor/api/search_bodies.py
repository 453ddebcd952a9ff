"""What is sent and got about search and its index."""

from typing import Literal

from pydantic import Field

from supervisor.api.bodies import Body, Flag, View, for_example

Kind = Literal["session", "journal", "document"]


class HitView(View):
    """A content that was found, with the best place in it."""

    rank: int = Field(description="1 is the best")
    score: float = Field(description="Higher is better; comparable within one answer only")
    content_type: Kind
    content_id: str = Field(description="The session's id, or the path")
    title: str
    snippet: str = Field(description="On one line, as it stands there: not to be taken for markup")
    marks: list[tuple[int, int]] = Field(
        description="Where in the snippet found words are: start and end, in characters"
    )
    matches: int = Field(description="How many pieces of the content were found")
    session_id: str | None = None
    message: int | None = Field(None, description="Of a session: the message's number, from 1")
    path: str | None = Field(None, description="Of a text: relative to the vault")
    heading: str | None = Field(None, description="What the place stands under")
    line: int | None = Field(None, description="Of a text: the line's number, from 1")


class HitsView(View):
    """Hits, the best first; `next` is the cursor of the following ones, null at the end."""

    hits: list[HitView]
    next: str | None = None
    notes: list[str] = Field(
        description="What the answer lacks: `no_words` (the question has none),"
        " `texts_are_being_judged` (the policy has changed: only sessions for now),"
        " `no_similarity` (no vector could be had: words alone count)"
    )


class PassView(View):
    """A pass over all that is indexed; `error`: why it did not come to its end."""

    number: int
    seconds: float
    unchanged: int
    read: int = Field(description="Contents that were new or changed")
    moved: int = Field(description="Contents that have another name, and were not written again")
    removed: int
    pieces_written: int
    pieces_removed: int
    left_out: dict[str, int] = Field(description="Files that aren't indexed, by cause")
    error: str | None = None


class IndexView(View):
    """The index: how many contents it has of each type, and the pass that ended last."""

    running: bool
    contents: dict[str, int]
    last_pass: PassView | None


class IndexBody(Body):
    """`anew`: everything is read again, whether it has changed or not."""

    model_config = for_example(anew=True)

    anew: Flag = False


class BegunView(View):
    """The number of the pass that was asked for: done when `lastPass.number` has come to it."""

    number: int
