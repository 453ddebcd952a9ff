"""The vault's MCP servers: list, add, change, allow, remove, test. Only the test starts anything.

All of it is for an admin: a server is a program that runs on this machine.
"""

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header
from fastapi import Body as RequestBody
from pydantic import BeforeValidator
from starlette.responses import Response

from supervisor.agents.definition import AgentDefinition
from supervisor.api.agent_bodies import FaultView
from supervisor.api.caller import Caller, Calling
from supervisor.api.mcp_bodies import (
    AllowBody,
    McpServersView,
    McpServerView,
    McpTestBody,
    McpTestView,
    McpToolView,
)
from supervisor.api.parts import Parts, Supervisor
from supervisor.api.refusals import refusals
from supervisor.api.tellable import require_tellable
from supervisor.errors import AlreadyThere, ConfigurationError, InvalidRequest, NotFound
from supervisor.mcp.chosen import Wanted
from supervisor.mcp.file import ChangedMeanwhile
from supervisor.mcp.hidden import shown
from supervisor.mcp.servers import Listed

router = APIRouter(prefix="/mcp", tags=["mcp"])


_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/McpServerBody"}}},
    }
}
_CHANGED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": McpServerView, "description": "It was there, and is changed"},
    **refusals(ChangedMeanwhile, AlreadyThere, ConfigurationError),
}
_TAG: Final = Header(alias="If-Match", description="The `ETag` of the list that was read")
IfMatch = Annotated[str | None, _TAG]
_NEW: Final = Header(alias="If-None-Match", description="`*`: only if there is none of this name")
IfNoneMatch = Annotated[str | None, _NEW]
_ANY: Final = "*"


@router.get("")
async def list_servers(supervisor: Supervisor, response: Response) -> McpServersView:
    """The servers of `.mcp.json`, with those that have a mistake. Its `ETag` is the file's."""
    servers, broken, tag = await asyncio.to_thread(supervisor.mcp.all)
    response.headers["ETag"] = f'"{tag}"'
    return McpServersView(
        servers=[_view(each) for each in servers],
        broken=[
            FaultView(
                file=each.file,
                line=each.line,
                column=each.column,
                field=each.field,
                reason=each.expected,
                remedy=each.remedy,
            )
            for each in broken
        ],
    )


@router.get("/{name}", responses=refusals(NotFound, InvalidRequest))
async def get_server(name: str, supervisor: Supervisor) -> McpServerView:
    """One server. 422 with the mistake if its entry has one."""
    return _view(await asyncio.to_thread(supervisor.mcp.get, name))


@router.post("/{name}", status_code=HTTPStatus.CREATED, openapi_extra=_BODY, responses=_CHANGED)
async def put_server(  # noqa: PLR0913, PLR0917  (what FastAPI passes in)
    name: str,
    body: Annotated[dict[str, Any], BeforeValidator(require_tellable), RequestBody()],
    caller: Calling,
    supervisor: Supervisor,
    response: Response,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> McpServerView:
    """Add a server, or change it (200); nothing is started. It is allowed as it is given.

    A value that is sent back masked stays as it is. With `If-Match`, 412 if the file was changed;
    with `If-None-Match: *`, 412 if there is one of this name.
    """
    only_new = _is_only_new(if_none_match)
    save = partial(supervisor.mcp.save, only_new=only_new)
    listed, is_new = await asyncio.to_thread(save, name, body, _tag(if_match))
    await _record(supervisor, caller, "saved", name)
    if not is_new:
        response.status_code = HTTPStatus.OK
    return _view(listed)


@router.delete(
    "/{name}",
    status_code=HTTPStatus.NO_CONTENT,
    responses=refusals(NotFound, ChangedMeanwhile),
)
async def delete_server(
    name: str, caller: Calling, supervisor: Supervisor, if_match: IfMatch = None
) -> None:
    """Remove a server from the file; a turn that runs keeps it to its end."""
    await asyncio.to_thread(supervisor.mcp.remove, name, _tag(if_match))
    await _record(supervisor, caller, "removed", name)


@router.post(
    "/{name}/allow",
    responses=refusals(NotFound, ChangedMeanwhile, ConfigurationError),
)
async def allow_server(
    name: str,
    body: AllowBody,
    caller: Calling,
    supervisor: Supervisor,
    if_match: IfMatch = None,
) -> McpServerView:
    """Let turns use a server as it is now: one that was put into a file by hand, or changed there.

    With `sandboxed` sandboxes use it too; without, not (any more). With `If-Match`, 412 if
    `.mcp.json` isn't any more what was looked at.
    """
    wanted = None
    if body.agent_path is not None:
        agents = await asyncio.to_thread(supervisor.agents)
        wanted = _wanted(agents.find(body.agent_path))
    what = "allowed in sandboxes" if body.sandboxed else "allowed"
    await _record(supervisor, caller, what, name)
    allow = supervisor.mcp.allow
    tag = _tag(if_match)
    listed = await asyncio.to_thread(allow, name, wanted, sandboxed=body.sandboxed, expected=tag)
    return _view(listed)


@router.post("/{name}/test", responses=refusals(NotFound))
async def test_server(
    name: str, body: McpTestBody, caller: Calling, supervisor: Supervisor
) -> McpTestView:
    """Start a server, or call it, list its tools, and end it again.

    It runs on this machine as it would at `full`. Takes a server that is allowed as it is (422).
    """
    listed = await asyncio.to_thread(supervisor.mcp.allowed, name)
    given = supervisor.mcp.given(listed.entry)
    await _record(supervisor, caller, "tested", name)
    trial = await supervisor.mcp_trials.of(given, body.seconds)
    found = trial.found
    return McpTestView(
        ok=found is not None,
        seconds=trial.seconds,
        server_name=found.name if found else None,
        server_version=found.version if found else None,
        protocol=found.protocol if found else None,
        tools=[
            McpToolView(name=each.name, description=each.description)
            for each in (found.tools if found else ())
        ],
        more=found.more if found else False,
        failure=trial.failure,
        complaint=trial.complaint,
    )


def _wanted(agent: AgentDefinition) -> Wanted:
    return Wanted(agent.mcp_servers, agent.own_servers, agent.path)


def _tag(if_match: str | None) -> str | None:
    """The tag that the file must have; None: any."""
    said = (if_match or "").strip().removeprefix("W/").strip('"')
    return said if said not in ("", _ANY) else None


def _is_only_new(if_none_match: str | None) -> bool:
    """Whether one that is there is left alone. A single server has no tag that could be given."""
    said = (if_none_match or "").strip()
    if said not in ("", _ANY):
        raise InvalidRequest("only * can be given here", where="If-None-Match")
    return said == _ANY


async def _record(supervisor: Parts, caller: Caller, what: str, name: str) -> None:
    body = {"what": what, "server": name, "by": caller.name}
    await supervisor.record("mcp", None, None, body)


def _view(listed: Listed) -> McpServerView:
    entry, told = listed.entry, shown(listed.entry)
    return McpServerView(
        name=entry.name,
        type=entry.transport,
        command=told.get("command"),
        args=told.get("args"),
        env=told.get("env"),
        url=told.get("url"),
        headers=told.get("headers"),
        references=entry.references,
        other_keys=told["otherKeys"],
        allowed=listed.allowed.local,
        sandboxed=listed.allowed.sandboxed,
    )
