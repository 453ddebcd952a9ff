"""The bare way: `docker run --rm` of the runner image with the CLI alone, as hardened as ours."""

import asyncio
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from supervisor.runtimes.container.spec import AGENT_USER, CLI, HOME, Limits, Tmpfs

LIMITS = Limits().fitting(2)


@dataclass(frozen=True)
class BareRun:
    """One run; seconds on the monotonic clock."""

    session: str
    began: float
    result: float
    ended: float


def command(image: str, vault: Path, socket_folder: Path, session: str, prompt: str) -> list[str]:
    """The whole command line."""
    tmpfs = (
        Tmpfs("/tmp", ("rw", "exec", "nosuid", "nodev", "mode=1777")),  # noqa: S108
        Tmpfs(HOME, ("rw", "exec", "nosuid", "nodev", "mode=0700", "uid=10001", "gid=10001")),
    )
    environment = {
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "ANTHROPIC_API_KEY": "placeholder",
        "ANTHROPIC_BASE_URL": "http://gateway",
        "ANTHROPIC_UNIX_SOCKET": "/run/trustfloor/model.sock",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": f"{HOME}/.claude",
        "DISABLE_AUTOUPDATER": "1",
    }
    return [
        *("docker", "run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL"),
        *("--security-opt", "no-new-privileges", "--ipc", "none", "--log-driver", "none"),
        *("--pids-limit", str(LIMITS.pids), "--memory", str(LIMITS.memory_bytes)),
        *("--memory-swap", str(LIMITS.memory_bytes), "--cpus", str(LIMITS.cpus)),
        *("--ulimit", "core=0", "--user", AGENT_USER, "--workdir", "/vault"),
        *(
            part
            for each in tmpfs
            for part in ("--tmpfs", f"{each.target}:{','.join(each.options)}")
        ),
        *("--mount", f"type=bind,source={vault},target=/vault,readonly"),
        *("--mount", f"type=bind,source={socket_folder},target=/run/trustfloor,readonly"),
        *(part for each in environment.items() for part in ("--env", "=".join(each))),
        *("--entrypoint", CLI, image, "-p", prompt, "--session-id", session),
        *("--output-format", "stream-json", "--verbose"),
    ]


async def run_bare(image: str, vault: Path, socket_folder: Path, prompt: str) -> BareRun:
    """Run it once, to its removal."""
    session = str(uuid.uuid4())
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *command(image, vault, socket_folder, session, prompt),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    assert process.stdout is not None
    result = 0.0
    async for line in process.stdout:
        if b'"type":"result"' in line:
            result = time.monotonic()
    status = await process.wait()
    if status != 0 or not result:
        raise RuntimeError(f"docker run ended with status {status}")
    return BareRun(session, began, result, time.monotonic())
