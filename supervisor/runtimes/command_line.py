"""How a cage starts the CLI: its command line, its environment, and where it finds things.

Facts this rests on (SDK 0.2.189, CLI 2.1.332): a `--system-prompt-file` has no length limit, and
what the environment names is read once, at the start.
"""

from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Final

from claude_agent_sdk import ClaudeAgentOptions
from claude_agent_sdk import __version__ as SDK_VERSION  # noqa: N812
from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport
from claude_agent_sdk.types import SystemPromptFile

from supervisor.runtimes.contract import RunPlan

PLACEHOLDER_KEY: Final = "held-by-the-gateway"
"""What the CLI is told is its key; the gateway drops it and adds the real one."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the CLI finds things, as it sees them in its cage."""

    cli: str
    cwd: PurePosixPath
    config: PurePosixPath
    scratch: PurePosixPath
    model_socket: PurePosixPath
    prompt_file: PurePosixPath | None
    """Holds the system prompt, or what is appended to the preset: files have no length limit."""
    transcript: PurePosixPath | None
    """An earlier conversation to take up."""
    servers_file: PurePosixPath | None = None
    """Describes the MCP servers; not in the arguments, which others on the machine can read."""

    @property
    def projects(self) -> PurePosixPath:
        """Where the CLI writes its transcripts."""
        return self.config / "projects"

    def resuming(self, transcript: PurePosixPath) -> "Places":
        """The same places, with an earlier conversation to take up."""
        return replace(self, transcript=transcript)

    def resumed(self, plan: RunPlan) -> PurePosixPath:
        """Where a copy of the kept transcript is put for the CLI to resume from."""
        return self.projects / "resumed" / f"{plan.session_id}.jsonl"


def prompt_text(plan: RunPlan) -> str | None:
    """What goes into the prompt file, if anything."""
    return plan.system_prompt if plan.system_prompt is not None else plan.append_system_prompt


def arguments(plan: RunPlan, places: Places) -> list[str]:
    """The CLI's whole command line, program included."""
    options = ClaudeAgentOptions(
        cli_path=places.cli,
        system_prompt=_system_prompt(plan, places),
        tools=list(plan.tools) if plan.tools is not None else None,
        model=plan.model,
        permission_mode="default",
        permission_prompt_tool_name="stdio",
        setting_sources=[],
        strict_mcp_config=True,
        mcp_servers=str(places.servers_file) if places.servers_file else {},
        include_partial_messages=True,
        resume=str(places.transcript) if places.transcript else None,
        session_id=None if places.transcript else plan.session_id,
        extra_args=_extra(plan, places),
    )
    # The SDK has no public way to ask for the command line; its version is pinned by hash.
    return SubprocessCLITransport("", options)._build_command()  # noqa: SLF001


def _system_prompt(plan: RunPlan, places: Places) -> Any:
    if plan.system_prompt is not None and places.prompt_file is not None:
        return SystemPromptFile(type="file", path=str(places.prompt_file))
    return {"type": "preset", "preset": "claude_code"}


def _extra(plan: RunPlan, places: Places) -> dict[str, str | None]:
    extra: dict[str, str | None] = {
        "session-mirror": None,
        "system-prompt-snapshot": "off",  # or a transcript would say a resumed session's prompt
    }
    if plan.system_prompt is None and places.prompt_file is not None:
        extra["append-system-prompt-file"] = str(places.prompt_file)
    return extra


def environment(places: Places) -> dict[str, str]:
    """What the CLI needs of the environment; a cage adds PATH and HOME, never a secret."""
    return {
        "ANTHROPIC_API_KEY": PLACEHOLDER_KEY,
        "ANTHROPIC_BASE_URL": "http://gateway",
        "ANTHROPIC_UNIX_SOCKET": str(places.model_socket),
        # A command would begin where the last one's `cd` led, and be judged, and shown to a person,
        # as if it began in the session's folder; of calls side by side nobody could tell.
        "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR": "1",
        "CLAUDE_AGENT_SDK_VERSION": SDK_VERSION,
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
        "CLAUDE_CODE_MAX_RETRIES": "4",  # an API that can't be reached is said so within a minute
        "CLAUDE_CODE_TMPDIR": str(places.scratch),
        "CLAUDE_CONFIG_DIR": str(places.config),
        "DISABLE_AUTOUPDATER": "1",
        "PWD": str(places.cwd),
        "TMPDIR": str(places.scratch),
    }
