"""What waits for a person, and what people granted."""

from collections.abc import Generator, Mapping, Sequence

from supervisor.api.grant_bodies import GrantBody, GrantedView, GrantsView, GrantView
from supervisor.api.waiting_bodies import (
    AnswerBody,
    AnsweredView,
    DeclineBody,
    DeniedView,
    DenyBody,
    OpenPermission,
    OpenQuestion,
    PermissionsView,
    QuestionsView,
)
from supervisor.approvals.given import Given
from supervisor.policy.permissions import GrantKind, GrantScope
from trustfloor.heard import Heard
from trustfloor.sync.lasting import Feed
from trustfloor.sync.typed import Typed
from trustfloor.wire import at, body_of


class Permissions(Typed):
    """Calls that wait for a person's permission."""

    def list(
        self,
        session_id: str | None = None,
        *,
        workspace: str | None = None,
        agent: str | None = None,
        tool: str | None = None,
    ) -> PermissionsView:
        """The requests that wait, the oldest first."""
        wanted = {"sessionId": session_id, "workspace": workspace, "agent": agent, "tool": tool}
        return self._get(PermissionsView, at("/api/permissions", **wanted))

    def get(self, request_id: str) -> OpenPermission:
        """One that waits."""
        return self._get(OpenPermission, at("/api/permissions/{}", request_id))

    def watch(
        self,
        session_id: str | None = None,
        *,
        workspace: str | None = None,
        agent: str | None = None,
        tool: str | None = None,
    ) -> Generator[Heard]:
        """All that waits, questions too, as it changes, without end.

        First `open` with the `ids` of what is open; after a lost connection again, and then what
        isn't among them isn't open any more. Then `permission_request`, `user_question` and
        `permission_resolved`, as they come.
        """
        wanted = {"sessionId": session_id, "workspace": workspace, "agent": agent, "tool": tool}
        path = at("/api/permissions/stream", **wanted)
        return Feed(self._connection, path, None).events()

    def grant(  # noqa: PLR0913 - each is a part of the answer
        self,
        request_id: str,
        *,
        content_hash: str | None = None,
        scope: GrantScope | str | None = None,
        suggestion: str | Sequence[str] | None = None,
        pattern: str | None = None,
        kind: GrantKind | str | None = None,
        expires_in: float | None = None,
    ) -> GrantedView:
        """Let the call run as it was shown, and others like it, if you say so.

        `expires_in` are seconds.
        """
        several = suggestion if suggestion is None or isinstance(suggestion, str) else [*suggestion]
        body = body_of(
            GrantBody,
            content_hash=content_hash,
            scope=scope,
            suggestion=several,
            pattern=pattern,
            kind=kind,
            expires_in=expires_in,
        )
        return self._ask(GrantedView, "POST", at("/api/permissions/{}/grant", request_id), body)

    def deny(
        self,
        request_id: str,
        message: str | None = None,
        *,
        stop: bool | None = None,
        content_hash: str | None = None,
    ) -> DeniedView:
        """Refuse the call; the agent is told the message. With `stop`, its turn is ended too."""
        body = body_of(DenyBody, message=message, stop=stop, content_hash=content_hash)
        return self._ask(DeniedView, "POST", at("/api/permissions/{}/deny", request_id), body)


class Questions(Typed):
    """Questions of agents that wait for a person."""

    def list(
        self,
        session_id: str | None = None,
        *,
        workspace: str | None = None,
        agent: str | None = None,
    ) -> QuestionsView:
        """The questions that wait, the oldest first."""
        wanted = {"sessionId": session_id, "workspace": workspace, "agent": agent}
        return self._get(QuestionsView, at("/api/questions", **wanted))

    def get(self, request_id: str) -> OpenQuestion:
        """One that waits."""
        return self._get(OpenQuestion, at("/api/questions/{}", request_id))

    def answer(self, request_id: str, answers: Mapping[str, Given]) -> AnsweredView:
        """Answer all parts, each by its text."""
        body = body_of(AnswerBody, answers=dict(answers))
        return self._ask(AnsweredView, "POST", at("/api/questions/{}/answer", request_id), body)

    def decline(self, request_id: str, message: str | None = None) -> AnsweredView:
        """Leave the question without an answer."""
        body = body_of(DeclineBody, message=message)
        return self._ask(AnsweredView, "POST", at("/api/questions/{}/decline", request_id), body)


class Grants(Typed):
    """What was granted beyond single calls."""

    def list(
        self, *, session_id: str | None = None, agent: str | None = None, ended: bool = False
    ) -> GrantsView:
        """The grants that count, the newest first; with `ended`, old ones too."""
        path = at("/api/grants", sessionId=session_id, agent=agent, ended=ended or None)
        return self._get(GrantsView, path)

    def revoke(self, grant_id: str) -> GrantView:
        """Take a grant back."""
        return self._ask(GrantView, "DELETE", at("/api/grants/{}", grant_id))
