"""Questions of agents that wait for a person: see them, answer or decline them."""

from typing import Annotated

from fastapi import APIRouter, Query

from supervisor.api.bodies import (
    AnswerBody,
    AnsweredView,
    DeclineBody,
    OpenQuestion,
    QuestionsView,
)
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.errors import AlreadyAnswered, NotFound, RequestVoid
from supervisor.ids import SessionId

router = APIRouter(prefix="/questions", tags=["questions"])

_ANSWERED = refusals(NotFound, AlreadyAnswered, RequestVoid)


@router.get("")
async def list_questions(
    supervisor: Supervisor, session_id: Annotated[str | None, Query(alias="sessionId")] = None
) -> QuestionsView:
    """The questions that wait for an answer, the oldest first; of one session, if it is named."""
    of_session = None if session_id is None else SessionId(session_id)
    session_of = supervisor.questions.session_of
    return QuestionsView(
        questions=[
            OpenQuestion.model_validate(
                {**dict(event), "session_id": session_of(event.request_id) or ""}
            )
            for event in supervisor.questions.pending(of_session)
        ]
    )


@router.post("/{request_id}/answer", responses=_ANSWERED)
async def answer(request_id: str, body: AnswerBody, supervisor: Supervisor) -> AnsweredView:
    """Answer all of the question's parts; the first answer counts."""
    await supervisor.questions.answer(request_id, body.answers)
    return AnsweredView(id=request_id, decision="answered")


@router.post("/{request_id}/decline", responses=_ANSWERED)
async def decline(
    request_id: str, supervisor: Supervisor, body: DeclineBody | None = None
) -> AnsweredView:
    """Leave the question without an answer, at once; the agent is told so and goes on."""
    message = (body or DeclineBody()).message
    await supervisor.questions.decline(request_id, message)
    return AnsweredView(id=request_id, decision="declined")
