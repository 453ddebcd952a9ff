"""What is sent and got about MCP servers."""

from pydantic import BaseModel, ConfigDict, Field

from supervisor.api.agent_bodies import FaultView
from supervisor.api.bodies import Body, Flag, View, for_example
from supervisor.mcp.patience import MOST_SECONDS, SECONDS
from supervisor.mcp.transports import Transport


class McpServerBody(BaseModel):
    """A server: `command`, `args`, `env` for one that is started, `url`, `headers` for others.

    Values may refer to variables of the supervisor as `${NAME}`; secrets must. Other keys are kept.
    """

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [{"command": "notes-mcp", "env": {"TOKEN": "${NOTES_TOKEN}"}}]
        },
    )

    type: str | None = Field(None, description="stdio, sse or http")
    command: str | None = None
    args: list[str] | None = None
    env: dict[str, str] | None = None
    url: str | None = None
    headers: dict[str, str] | None = None


class AllowBody(Body):
    """What to allow: the server as it is now, in sandboxes too, or one of an agent's file."""

    model_config = for_example(sandboxed=True)

    sandboxed: Flag = False
    agent_path: str | None = Field(None, description="The agent whose file describes the server")


class McpTestBody(Body):
    """How long the server is waited for."""

    model_config = for_example(seconds=10)

    seconds: float = Field(SECONDS, gt=0, le=MOST_SECONDS, allow_inf_nan=False)


class McpToolView(View):
    """A tool as the server describes it; agents call it `mcp__SERVER__TOOL`."""

    name: str
    description: str


class McpTestView(View):
    """How a server did. `failure`: why it is of no use; `complaint`: the last that it wrote itself.

    What it says is cut, and characters that draw something else are replaced. `more`: it has more
    tools than are listed.
    """

    ok: bool
    seconds: float
    server_name: str | None = None
    server_version: str | None = None
    protocol: str | None = None
    tools: list[McpToolView]
    more: bool = False
    failure: str | None = None
    complaint: str | None = None


class McpServerView(View):
    """A configured server. What might be a secret is masked; references are shown as they are.

    `allowed`: whether turns may use it as it is now, `sandboxed`: in sandboxes too.
    """

    name: str
    type: Transport
    command: str | None = None
    args: tuple[str, ...] | None = None
    env: dict[str, str] | None = None
    url: str | None = None
    headers: dict[str, str] | None = None
    references: tuple[str, ...] = Field(description="The variables that it refers to")
    other_keys: tuple[str, ...] = Field(description="Keys that are kept, and mean nothing to us")
    allowed: bool
    sandboxed: bool


class McpServersView(View):
    """The servers in the file's order; `broken` are entries, or the whole file, with a mistake."""

    servers: list[McpServerView]
    broken: list[FaultView]
