"""Search: words in sessions, journals and documents; and the index that they are found by."""

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from supervisor.api.bodies import Body, View
from supervisor.api.caller import Calling, Scope
from supervisor.api.parts import Parts, Supervisor
from supervisor.search.asked import LONGEST
from supervisor.search.finding import MOST_TAGS, TYPES, Hit
from supervisor.search.index import PassReport, left_out

router = APIRouter(prefix="/search", tags=["search"])

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

    anew: bool = False


class BegunView(View):
    """The number of the pass that was asked for: done when `lastPass.number` has come to it."""

    number: int


@router.get("")
async def search(  # noqa: PLR0913 - each is a filter
    supervisor: Supervisor,
    caller: Calling,
    *,
    q: Annotated[
        str,
        Query(max_length=LONGEST, description='Words; `"a phrase"`, and `begin*` for beginnings'),
    ],
    content_type: Annotated[
        list[Kind] | None, Query(alias="type", max_length=len(TYPES), description="Any of these")
    ] = None,
    tag: Annotated[
        list[str] | None, Query(max_length=MOST_TAGS, description="Any of these")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: Annotated[str | None, Query(description="`next` of the page before")] = None,
) -> HitsView:
    """What holds all of these words, the best first: each content once, with its best place.

    Nothing in `q` is an operator but quotes and a star at a word's end. What the policy hides from
    sandboxes is neither indexed nor shown.
    """
    caller.require(Scope.CHAT)
    answer = await supervisor.search.find(
        q, types=tuple(content_type or ()), tags=tuple(tag or ()), limit=limit, after=after
    )
    return HitsView(
        hits=[_view(each) for each in answer.hits], next=answer.next, notes=list(answer.notes)
    )


@router.get("/index")
async def index(supervisor: Supervisor, caller: Calling) -> IndexView:
    """The index's state."""
    caller.require(Scope.CHAT)
    return await _index(supervisor)


@router.post("/index", status_code=HTTPStatus.ACCEPTED)
async def index_now(body: IndexBody, supervisor: Supervisor, caller: Calling) -> BegunView:
    """Bring the index up to date now, in the background; it is kept so by itself as well."""
    caller.require(Scope.ADMIN)
    return BegunView(number=supervisor.index.begin(anew=body.anew))


async def _index(supervisor: Parts) -> IndexView:
    last = supervisor.index.last
    return IndexView(
        running=supervisor.index.is_running,
        contents=await supervisor.index.counts(),
        last_pass=None if last is None else _pass(last),
    )


def _pass(report: PassReport) -> PassView:
    both = (report.sessions, report.texts)
    return PassView(
        number=report.number,
        seconds=report.seconds,
        unchanged=sum(each.unchanged for each in both),
        read=sum(each.read for each in both),
        moved=sum(each.moved for each in both),
        removed=sum(each.removed for each in both),
        pieces_written=sum(each.pieces_written for each in both),
        pieces_removed=sum(each.pieces_removed for each in both),
        left_out=dict(left_out(report)),
        error=report.error,
    )


def _view(hit: Hit) -> HitView:
    found = hit.found
    return HitView(
        rank=hit.rank,
        score=found.score,
        content_type=found.content_type,
        content_id=found.content_id,
        title=found.title,
        snippet=hit.shown.text,
        marks=list(hit.shown.marks),
        matches=found.matches,
        session_id=found.content_id if hit.is_session else None,
        message=hit.message,
        path=found.source_path,
        heading=found.heading or None,
        line=hit.line,
    )
