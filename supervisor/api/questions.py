"""Questions of agents that wait for a person: see them, answer or decline them."""

from fastapi import APIRouter

from supervisor.api.caller import Calling
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.api.waiting import (
    Filter,
    OfAgent,
    OfSession,
    OfWorkspace,
    require_seen,
    view_of,
    wanted,
)
from supervisor.api.waiting_bodies import (
    AnswerBody,
    AnsweredView,
    DeclineBody,
    OpenQuestion,
    QuestionsView,
)
from supervisor.errors import AlreadyAnswered, NotFound, RequestVoid

router = APIRouter(prefix="/questions", tags=["questions"])

_ANSWERED = refusals(NotFound, AlreadyAnswered, RequestVoid)


@router.get("")
async def list_questions(
    supervisor: Supervisor,
    caller: Calling,
    *,
    session_id: OfSession = None,
    workspace: OfWorkspace = None,
    agent: OfAgent = None,
) -> QuestionsView:
    """The questions that wait for an answer, the oldest first."""
    wants = wanted(caller, Filter(session_id, workspace, agent))
    now = supervisor.approvals.now()
    found = [view_of(each, now) for each in supervisor.board.open() if wants(each)]
    return QuestionsView(questions=[each for each in found if isinstance(each, OpenQuestion)])


@router.get("/{request_id}", responses=_ANSWERED)
async def show_question(request_id: str, supervisor: Supervisor, caller: Calling) -> OpenQuestion:
    """One question that waits for an answer."""
    require_seen(supervisor.board, caller, request_id)
    request = await supervisor.questions.find(request_id)
    view = view_of(request, supervisor.approvals.now())
    assert isinstance(view, OpenQuestion)  # noqa: S101 - what questions keep is one
    return view


@router.post("/{request_id}/answer", responses=_ANSWERED)
async def answer(
    request_id: str, body: AnswerBody, supervisor: Supervisor, caller: Calling
) -> AnsweredView:
    """Answer all of the question's parts; the first answer counts."""
    require_seen(supervisor.board, caller, request_id)
    await supervisor.questions.answer(request_id, body.answers, caller.name)
    return AnsweredView(id=request_id, decision="answered")


@router.post("/{request_id}/decline", responses=_ANSWERED)
async def decline(
    request_id: str, supervisor: Supervisor, caller: Calling, body: DeclineBody | None = None
) -> AnsweredView:
    """Leave the question without an answer, at once; the agent is told so and goes on."""
    require_seen(supervisor.board, caller, request_id)
    message = (body or DeclineBody()).message
    await supervisor.questions.decline(request_id, message, caller.name)
    return AnsweredView(id=request_id, decision="declined")
