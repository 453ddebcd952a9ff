"""Search: words in sessions, journals and documents; and the index that they are found by."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query

from supervisor.api.parts import Parts, Supervisor
from supervisor.api.search_bodies import (
    BegunView,
    HitsView,
    HitView,
    IndexBody,
    IndexView,
    Kind,
    PassView,
)
from supervisor.search.asked import LONGEST
from supervisor.search.finding import MOST_TAGS, TYPES, Hit
from supervisor.search.index import PassReport, left_out

router = APIRouter(prefix="/search", tags=["search"])


@router.get("")
async def search(  # noqa: PLR0913 - each is a filter
    supervisor: Supervisor,
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
    answer = await supervisor.search.find(
        q, types=tuple(content_type or ()), tags=tuple(tag or ()), limit=limit, after=after
    )
    return HitsView(
        hits=[_view(each) for each in answer.hits], next=answer.next, notes=list(answer.notes)
    )


@router.get("/index")
async def index(supervisor: Supervisor) -> IndexView:
    """The index's state."""
    return await _index(supervisor)


@router.post("/index", status_code=HTTPStatus.ACCEPTED)
async def index_now(body: IndexBody, supervisor: Supervisor) -> BegunView:
    """Bring the index up to date now, in the background; it is kept so by itself as well."""
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
