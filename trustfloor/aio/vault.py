"""What lies in and around the vault: workspaces, agents, MCP servers, policy, captures, search."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from supervisor.api.agent_bodies import AgentDetailsView, AgentsView, SkillsView
from supervisor.api.bodies import WorkspaceBody, WorkspacesView, WorkspaceView
from supervisor.api.capture_bodies import CapturesView, CaptureView
from supervisor.api.mcp_bodies import (
    AllowBody,
    McpServerBody,
    McpServersView,
    McpServerView,
    McpTestBody,
    McpTestView,
)
from supervisor.api.policy_bodies import ExplainBody, ExplanationView, PermissionsBody, PolicyView
from supervisor.api.search_bodies import BegunView, HitsView, IndexBody, IndexView
from supervisor.trust.levels import TrustLevel
from trustfloor.aio.typed import AsyncTyped
from trustfloor.wire import File, at, body_of, form_of

_UPLOAD_SECONDS: Final = 120.0
_MARGIN_SECONDS: Final = 30.0


class AsyncWorkspaces(AsyncTyped):
    """Named parts of the vault, each with its floor."""

    async def list(self) -> WorkspacesView:
        """All workspaces, by slug."""
        return await self._get(WorkspacesView, "/api/workspaces")

    async def put(
        self,
        slug: str,
        *,
        name: str | None = None,
        folder: str | None = None,
        floor: TrustLevel | str | None = None,
    ) -> WorkspaceView:
        """Make a workspace, or change what is given of it."""
        body = body_of(WorkspaceBody, name=name, folder=folder, floor=floor)
        return await self._ask(WorkspaceView, "PUT", at("/api/workspaces/{}", slug), body)

    async def delete(self, slug: str) -> None:
        """Remove a workspace; its folder stays."""
        await self._connection.answer("DELETE", at("/api/workspaces/{}", slug), json={})


class AsyncAgents(AsyncTyped):
    """The vault's agents and skills."""

    async def list(self) -> AgentsView:
        """The agents, and the files that would be some but for a mistake."""
        return await self._get(AgentsView, "/api/agents")

    async def get(self, path: str) -> AgentDetailsView:
        """One agent by its path or name."""
        wanted = quote(path, safe="/", errors="replace")
        return await self._get(AgentDetailsView, f"/api/agents/{wanted}")

    async def skills(self) -> SkillsView:
        """The skills."""
        return await self._get(SkillsView, "/api/skills")


class AsyncMcp(AsyncTyped):
    """The vault's MCP servers."""

    async def list(self) -> McpServersView:
        """The servers, and the entries that have a mistake."""
        return await self._get(McpServersView, "/api/mcp")

    async def get(self, name: str) -> McpServerView:
        """One server."""
        return await self._get(McpServerView, at("/api/mcp/{}", name))

    async def put(
        self,
        name: str,
        server: McpServerBody | Mapping[str, Any],
        *,
        only_new: bool = False,
    ) -> McpServerView:
        """Add a server, or change it; nothing is started.

        `only_new`: one that is there is left alone (Refused, `already_there`).
        """
        body = (
            server.model_dump(mode="json", exclude_unset=True)
            if isinstance(server, McpServerBody)
            else server
        )
        headers = {"If-None-Match": "*"} if only_new else {}
        path = at("/api/mcp/{}", name)
        return await self._ask(McpServerView, "POST", path, body, headers=headers)

    async def delete(self, name: str) -> None:
        """Remove a server from the file."""
        await self._connection.answer("DELETE", at("/api/mcp/{}", name), json={})

    async def allow(
        self, name: str, *, sandboxed: bool = False, agent_path: str | None = None
    ) -> McpServerView:
        """Let turns use a server as it is now."""
        body = body_of(AllowBody, sandboxed=sandboxed, agent_path=agent_path)
        return await self._ask(McpServerView, "POST", at("/api/mcp/{}/allow", name), body)

    async def test(self, name: str, *, seconds: float = 20.0) -> McpTestView:
        """Start a server, list its tools, and end it again."""
        body = body_of(McpTestBody, seconds=seconds)
        path = at("/api/mcp/{}/test", name)
        patience = seconds + _MARGIN_SECONDS
        return await self._ask(McpTestView, "POST", path, body, seconds=patience)


class AsyncPolicy(AsyncTyped):
    """The policy in force."""

    async def get(self) -> PolicyView:
        """Its rules, and the last mistake in its files."""
        return await self._get(PolicyView, "/api/policy")

    async def explain(  # noqa: PLR0913 - the fields of the request
        self,
        tool: str,
        input: Mapping[str, Any],
        *,
        trust_level: TrustLevel | str | None = None,
        working_directory: str | None = None,
        permissions: PermissionsBody | None = None,
        session_id: str | None = None,
    ) -> ExplanationView:
        """What would become of a call now, and why. Nothing is run.

        With `session_id` it is one of that session, with all that this may do unasked.
        """
        body = body_of(
            ExplainBody,
            tool=tool,
            input=dict(input),
            trust_level=trust_level,
            working_directory=working_directory,
            permissions=permissions,
            session_id=session_id,
        )
        return await self._ask(ExplanationView, "POST", "/api/policy/explain", body)


class AsyncCaptures(AsyncTyped):
    """Documents that clients put into the vault."""

    async def list(self) -> CapturesView:
        """All captures, the latest first."""
        return await self._get(CapturesView, "/api/captures")

    async def add(
        self,
        file: File,
        *,
        title: str | None = None,
        context: str | None = None,
        timestamp: datetime | None = None,
    ) -> CaptureView:
        """Store a document, given by its path, or its name and bytes."""
        made = None if timestamp is None else timestamp.isoformat()
        form = form_of(title=title, context=context, timestamp=made)
        return await self._upload(CaptureView, "/api/captures", file, form, seconds=_UPLOAD_SECONDS)

    async def read(self, name: str) -> bytes:
        """The bytes of a capture."""
        return (await self._connection.answer("GET", at("/api/captures/{}", name))).content

    async def delete(self, name: str) -> CaptureView:
        """Delete a capture for good; which it was."""
        return await self._ask(CaptureView, "DELETE", at("/api/captures/{}", name))


class AsyncSearch(AsyncTyped):
    """Words in sessions, journals and documents."""

    async def find(
        self,
        words: str,
        *,
        types: Sequence[str] = (),
        tags: Sequence[str] = (),
        limit: int | None = None,
        after: str | None = None,
    ) -> HitsView:
        """What holds all of these words, the best first."""
        path = at(
            "/api/search",
            q=words,
            type=[*types] or None,
            tag=[*tags] or None,
            limit=limit,
            after=after,
        )
        return await self._get(HitsView, path)

    async def index(self) -> IndexView:
        """The index's state."""
        return await self._get(IndexView, "/api/search/index")

    async def index_now(self, *, anew: bool = False) -> BegunView:
        """Bring the index up to date now, in the background."""
        body = body_of(IndexBody, anew=anew)
        return await self._ask(BegunView, "POST", "/api/search/index", body)
