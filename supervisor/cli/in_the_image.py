"""Whether an MCP server's program can be expected in the runner image: a hint, before it is tried.

What the image really holds is known where it is built (`Dockerfile.runner`), and a person may have
built another; so this says where to look, and forbids nothing.
"""

from pathlib import PurePosixPath
from typing import Final

_IN_IT: Final = frozenset(
    {"awk", "bash", "cat", "env", "git", "perl", "python3", "rg", "sed", "sh", "timeout"}
)
"""What Dockerfile.runner puts there, of what starts servers."""
_FETCHES: Final = frozenset(
    {"bunx", "docker", "npm", "npx", "pip", "pipx", "pnpm", "podman", "uv", "uvx", "yarn"}
)
"""What would fetch the server first."""
_THERE: Final = ("/bin", "/sbin", "/usr", "/lib", "/opt", "/vault")


def why_not_in_the_image(command: str | None) -> str | None:
    """Why this command may not start in a sandbox; None: nothing speaks against it."""
    if not command:  # a server by its URL
        return None
    path = PurePosixPath(command)
    if path.name in _FETCHES:
        return (
            f"{path.name} fetches what it runs, and a sandbox has no network: put the server itself"
            " into the runner image"
        )
    if path.is_absolute() and not any(path.is_relative_to(each) for each in _THERE):
        return f"{command} is a path of this machine; in a sandbox the vault is /vault"
    if path.name not in _IN_IT and not path.is_relative_to("/vault"):
        return f"{command} has to be in the runner image, which has python3, git and a shell"
    return None
