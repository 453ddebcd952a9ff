"""The client: messages, events, and by their names all else that the API has."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

from supervisor.api.bodies import ChatBody, HealthView, ReadinessView
from supervisor.api.container_bodies import ContainersView
from supervisor.api.import_bodies import ImportView
from supervisor.api.session_bodies import StatsView
from supervisor.events.schema import DoneEvent
from supervisor.trust.levels import TrustLevel
from trustfloor.aio.access import AsyncLogins, AsyncTokens
from trustfloor.aio.approvals import AsyncGrants, AsyncPermissions, AsyncQuestions
from trustfloor.aio.audit import AsyncAudit
from trustfloor.aio.connection import AsyncConnection
from trustfloor.aio.lasting import AsyncFeed
from trustfloor.aio.sessions import AsyncSessions
from trustfloor.aio.turn import AsyncTurn
from trustfloor.aio.typed import AsyncTyped
from trustfloor.aio.vault import (
    AsyncAgents,
    AsyncCaptures,
    AsyncMcp,
    AsyncPolicy,
    AsyncSearch,
    AsyncWorkspaces,
)
from trustfloor.errors import document
from trustfloor.finding import find_token, find_url
from trustfloor.heard import Heard, Page
from trustfloor.terms import Terms
from trustfloor.wire import File, at, attached, body_of, form_of


class AsyncClient(AsyncTyped):
    """One supervisor; as a context manager its connection is closed at the end.

    Without `url` and `token` they are found as the command line finds them: by the environment
    (`TRUSTFLOOR_URL`, `TRUSTFLOOR_TOKEN`), or in the supervisor's data folder, where its socket is.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        super().__init__(AsyncConnection(url or find_url(), token or find_token()))
        connection = self._connection
        self.sessions = AsyncSessions(connection)
        self.permissions = AsyncPermissions(connection)
        self.questions = AsyncQuestions(connection)
        self.grants = AsyncGrants(connection)
        self.workspaces = AsyncWorkspaces(connection)
        self.agents = AsyncAgents(connection)
        self.mcp = AsyncMcp(connection)
        self.policy = AsyncPolicy(connection)
        self.audit = AsyncAudit(connection)
        self.captures = AsyncCaptures(connection)
        self.search = AsyncSearch(connection)
        self.tokens = AsyncTokens(connection)
        self.logins = AsyncLogins(connection)

    async def __aenter__(self) -> Self:
        await self._connection.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._connection.__aexit__(kind, error, trace)

    def send(self, message: str = "", **terms: Unpack[Terms]) -> AsyncTurn:
        """A message, as a turn that begins when its events are first asked for.

        Raises Refused for what the supervisor would refuse without looking further.
        """
        key, files = terms.pop("key", None), terms.pop("attachments", ())
        body = body_of(
            ChatBody,
            message=message or None,
            attachments=[attached(each) for each in files] or None,
            **terms,
        )
        return AsyncTurn(self._connection, body, key)

    async def ask(self, message: str = "", **terms: Unpack[Terms]) -> DoneEvent:
        """Send a message and wait for the turn's `done`; any other end is raised as Refused."""
        return await self.send(message, **terms).answer()

    def events(
        self,
        *,
        after: int | None = None,
        types: Sequence[str] = (),
        session_id: str | None = None,
    ) -> AsyncGenerator[Heard]:
        """What happens in all sessions, as it comes, without end; from `after` on, or from now on.

        Left out, `types` are milestones: all but pieces of text, and results of tools.
        """
        path = at("/api/events/stream", type=[*types] or None, session=session_id)
        return AsyncFeed(self._connection, path, after).events()

    async def stored_events(
        self,
        *,
        after: int = 0,
        limit: int | None = None,
        types: Sequence[str] = (),
        session_id: str | None = None,
    ) -> Page:
        """A page of what happened in all sessions; each `seq` is the number in its session."""
        path = at(
            "/api/events", after=after, limit=limit, type=[*types] or None, session=session_id
        )
        found: Mapping[str, Any] = document(await self._connection.answer("GET", path))
        events = tuple(Heard(int(each["seq"]), each["type"], each) for each in found["events"])
        numbers = tuple(int(each) for each in found["numbers"])
        return Page(events, int(found["next"]), bool(found["more"]), bool(found["gap"]), numbers)

    async def import_conversations(
        self,
        file: File,
        *,
        workspace: str | None = None,
        trust_level: TrustLevel | str | None = None,
        seconds: float = 1_800.0,
    ) -> ImportView:
        """Make sessions of an export, given by its path, or its name and bytes.

        `seconds`: how long the answer is waited for.
        """
        form = form_of(workspace=workspace, trustLevel=trust_level)
        return await self._upload(ImportView, "/api/import", file, form, seconds=seconds)

    async def health(self) -> HealthView:
        """That the supervisor answers, and whether its policy files are in force."""
        return await self._get(HealthView, "/api/health")

    async def ready(self) -> ReadinessView:
        """Whether work can be done at every level, and why not."""
        return await self._get(ReadinessView, "/api/ready")

    async def metrics(self) -> str:
        """The supervisor's metrics in Prometheus' text format."""
        return (await self._connection.answer("GET", "/metrics")).text

    async def containers(self) -> ContainersView:
        """The containers of the supervisor's that exist now."""
        return await self._get(ContainersView, "/api/containers")

    async def stats(self, days: int = 7) -> StatsView:
        """How many sessions there are, their tags, and what the supervisor takes."""
        return await self._get(StatsView, at("/api/stats", days=days))
