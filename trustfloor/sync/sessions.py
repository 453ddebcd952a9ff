"""Sessions: list, read, change, fork, put away, delete; their trust and their folders."""

from collections.abc import Generator, Sequence

from supervisor.api.bodies import (
    AbortBody,
    AbortView,
    ActiveView,
    SessionsView,
    SessionView,
    TrustBody,
)
from supervisor.api.context_bodies import ContextsBody, ContextsView
from supervisor.api.session_bodies import (
    ArchivedView,
    ClearBody,
    DeletedView,
    SessionChangeBody,
    SessionWithMessagesView,
)
from supervisor.events.schema import TrustReport
from supervisor.trust.levels import TrustLevel
from trustfloor.heard import Heard
from trustfloor.sync.lasting import Feed
from trustfloor.sync.typed import Typed
from trustfloor.wire import at, body_of

_ONE = "/api/chat/session/{}"


class Sessions(Typed):
    """What can be asked about sessions."""

    def list(  # noqa: PLR0913 - each is a filter
        self,
        *,
        limit: int | None = None,
        before: str | None = None,
        archived: bool | None = None,
        workspace: str | None = None,
        module: str | None = None,
        agent: str | None = None,
        tag: str | None = None,
        id: str | None = None,
    ) -> SessionsView:
        """A page of sessions, the last used first; `before` is the `next` of the page before.

        `id`: those alone whose id begins so, by at least 4 characters, whatever else is asked for.
        """
        path = at(
            "/api/chat/sessions",
            limit=limit,
            before=before,
            archived=archived,
            workspace=workspace,
            module=module,
            agent=agent,
            tag=tag,
            id=id,
        )
        return self._get(SessionsView, path)

    def get(
        self, session_id: str, *, limit: int | None = None, before: str | None = None
    ) -> SessionWithMessagesView:
        """A session and the last messages of it; `before` leads to earlier ones."""
        return self._get(SessionWithMessagesView, at(_ONE, session_id, limit=limit, before=before))

    def change(
        self,
        session_id: str,
        *,
        title: str | None = None,
        archived: bool | None = None,
        tags: Sequence[str] | None = None,
    ) -> SessionView:
        """Change what is given; `tags` replaces all of them."""
        body = body_of(
            SessionChangeBody,
            title=title,
            archived=archived,
            tags=None if tags is None else [*tags],
        )
        return self._ask(SessionView, "PATCH", at(_ONE, session_id), body)

    def fork(self, session_id: str) -> SessionView:
        """A new session that goes on from this one."""
        return self._ask(SessionView, "POST", at(_ONE + "/fork", session_id))

    def archive(self, session_id: str) -> ArchivedView:
        """Put a session away."""
        return self._ask(ArchivedView, "POST", at(_ONE + "/archive", session_id))

    def unarchive(self, session_id: str) -> ArchivedView:
        """Take a session back that was put away."""
        return self._ask(ArchivedView, "POST", at(_ONE + "/unarchive", session_id))

    def delete(self, session_id: str, *, transcript: bool = False) -> DeletedView:
        """Delete a session for good; with `transcript` what was said, too."""
        path = at(_ONE, session_id, transcript=transcript or None)
        return self._ask(DeletedView, "DELETE", path)

    def clear(self, session_id: str) -> DeletedView:
        """Delete a session as earlier clients do; the transcript stays."""
        body = body_of(ClearBody, session_id=session_id)
        return self._ask(DeletedView, "DELETE", "/api/chat/session", body)

    def abort(self, session_id: str, reason: str | None = None) -> AbortView:
        """End the session's turn."""
        body = body_of(AbortBody, reason=reason)
        return self._ask(AbortView, "POST", at(_ONE + "/abort", session_id), body)

    def running(self) -> ActiveView:
        """The sessions in which a turn runs."""
        return self._get(ActiveView, "/api/chat/active-streams")

    def follow(self, session_id: str, *, after: int = 0) -> Generator[Heard]:
        """The session's events behind that number, and then as they come, without end."""
        return Feed(self._connection, at(_ONE + "/stream", session_id), after).events()

    def trust(self, session_id: str) -> TrustReport:
        """The level at which the next message would run, and who demands what."""
        return self._get(TrustReport, at("/api/sessions/{}/trust", session_id))

    def set_trust(self, session_id: str, level: TrustLevel | str) -> TrustReport:
        """Set the level that the session asks for."""
        path = at("/api/sessions/{}/trust", session_id)
        return self._ask(TrustReport, "PUT", path, body_of(TrustBody, trust_level=level))

    def contexts(self, session_id: str) -> ContextsView:
        """The folders whose instructions the session is told of."""
        return self._get(ContextsView, at("/api/sessions/{}/contexts", session_id))

    def set_contexts(self, session_id: str, folders: Sequence[str]) -> ContextsView:
        """Put these folders in the place of those that it has."""
        body = body_of(ContextsBody, folders=[*folders])
        return self._ask(ContextsView, "PUT", at("/api/sessions/{}/contexts", session_id), body)
