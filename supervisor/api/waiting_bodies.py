"""What is sent and got about requests that wait for a person: permissions and questions."""

from typing import Literal

from supervisor.api.bodies import Body, Flag, View, for_example
from supervisor.approvals.given import Given
from supervisor.events.schema import (
    Event,
    PermissionRequestEvent,
    PermissionResolvedEvent,
    UserQuestionEvent,
)


class Waits(Event):
    """Whose an open request is. `agent` is the session's agent; `agentName` a sub-agent of it.

    `secondsLeft` is the time left when this was said, so that no clock needs to be right.
    """

    session_id: str
    turn_id: str
    workspace: str | None
    agent: str | None
    seconds_left: float


class OpenPermission(PermissionRequestEvent, Waits):
    """A permission request that waits, and whose it is."""


class PermissionsView(View):
    """Permission requests that wait, the oldest first."""

    permissions: list[OpenPermission]


class OpenQuestion(UserQuestionEvent, Waits):
    """A question that waits, and whose it is."""


class QuestionsView(View):
    """Questions that wait, the oldest first."""

    questions: list[OpenQuestion]


class OpenList(Event):
    """The beginning of a stream: the ids of all that is open, the oldest first.

    What a client has beside these, from an earlier stream, isn't open any more.
    """

    type: Literal["open"] = "open"
    ids: tuple[str, ...]


class NoLongerOpen(PermissionResolvedEvent):
    """How a request ended that this stream has told of, and whose it was."""

    session_id: str
    turn_id: str


class AnsweredView(View):
    """The request that was answered, and how."""

    id: str
    decision: str


class DeniedView(AnsweredView):
    """The request that was refused; `stopped`: its turn was told to end as well."""

    stopped: bool


class DenyBody(Body):
    """A permission is refused; the agent is told `message`.

    With `stop` the turn ends too (`aborted`). `contentHash`, if sent, must be that of the request.
    """

    model_config = for_example(message="Read the copy in Archive instead.")

    message: str | None = None
    stop: Flag = False
    content_hash: str | None = None


class AnswerBody(Body):
    """Answers to all parts: the question's text → an option's label or `{"other": "own words"}`.

    A list of these where several may be chosen.
    """

    model_config = for_example(
        answers={"Which month?": "May", "What for?": ["Garden", {"other": "the bees"}]}
    )

    answers: dict[str, Given]


class DeclineBody(Body):
    """Questions stay without an answer; the agent is told `message` as the reason."""

    model_config = for_example(message="I can't say yet.")

    message: str | None = None
