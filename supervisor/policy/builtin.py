"""Self-protection: what no policy file can remove, as data."""

from collections.abc import Iterable
from typing import Final

from wcmatch import glob as wcglob

from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.deny_list import DenyList, DenyRule

# Another vault may lie in this one: its database holds what was said there. Any other folder of
# the name may be moved and removed (see `Kept`, which stops at a star).
_BELOW: Final = "*/**/Chat/sessions.db*"
_DATABASES: Final = ("Chat/sessions.db*", "Chat/events.db*", "Chat/audit*", _BELOW)

PROTECTED: tuple[DenyRule, ...] = (
    DenyRule(
        id="own-databases",
        reason="the supervisor's own records can't be changed by an agent",
        names=(".trustfloor",),
        paths=_DATABASES,
    ),
    DenyRule(
        id="own-policy",
        reason="policy files steer agents, so no agent writes them; ask an admin",
        paths=("policies",),
    ),
    DenyRule(
        id="agent-steering",
        reason="this steers agents in later turns, so no agent writes it; ask the person to",
        names=(".mcp.json", ".claude.json"),
        paths=(
            "agents",
            "**/.claude/settings*.json",
            "**/.claude/hooks",
            "**/.claude/agents",
            "**/.claude/commands",
            "**/.claude/skills",
            "**/.claude/plugins",
            "**/.claude/.credentials.json",
        ),
    ),
    DenyRule(
        id="transcripts",
        reason="transcripts are a record; no agent changes them",
        paths=("**/.claude/projects",),
    ),
    DenyRule(
        id="git-steering",
        reason="git runs what stands there as the person; ask the person to change it",
        paths=(
            "**/.git/hooks",
            "**/.git/config",
            "**/.git/config.worktree",
            "**/.git/commondir",
            "**/.git/info/attributes",
            "**/.git/modules/**/hooks",
            "**/.git/modules/**/config",
            "**/.git/modules/**/config.worktree",
            "**/.git/modules/**/commondir",
            "**/.git/modules/**/info/attributes",
            "**/.git/worktrees/**/commondir",
            "**/.git/worktrees/**/config.worktree",
        ),
    ),
    DenyRule(
        id="version-control-steering",
        reason="version control runs what stands there as the person; ask the person to change it",
        paths=(
            "**/.hg/hgrc",
            "**/.hg/hgrc-not-shared",
            "**/.hg/sharedpath",
            "**/.jj/config.toml",
            "**/.jj/workspace-config.toml",
            "**/.jj/repo/config.toml",
        ),
    ),
)
"""What no tool may write, at any trust level."""

IN_REPOSITORIES: Final = frozenset({"git-steering", "version-control-steering"})
"""What stands in a repository may be removed with it: nobody is steered by what is gone."""

HIDDEN: tuple[DenyRule, ...] = (
    DenyRule(
        id="hidden-records",
        reason="transcripts and the supervisor's records are out of an agent's reach",
        names=(".trustfloor",),
        paths=(*_DATABASES, "**/.claude/projects"),
        copies=True,
    ),
    DenyRule(
        id="hidden-logins",
        reason="the file may hold keys; ask the person for the one value you need",
        names=(".claude.json",),
        paths=("**/.claude/.credentials.json", "**/.claude/settings*.json"),
        copies=True,
    ),
)
"""What an agent at `vault` or `sandboxed` may not even read; the vault view hides it."""


def own_folders(secret: Iterable[str], steering: Iterable[str]) -> tuple[DenyRule, DenyRule]:
    """Rules for folders that only the running supervisor knows, as absolute paths.

    `secret` (data and runtime folders: token, keys, audit log, sockets) may not be named at all,
    `steering` (policy files) may not be written.
    """
    return (
        DenyRule(
            id="own-folders",
            reason="this is the supervisor's own folder, out of an agent's reach",
            paths=_below_root(secret),
            absolute=True,
        ),
        DenyRule(
            id="own-policy-folder",
            reason="policy files steer agents, so no agent writes them; ask an admin",
            paths=_below_root(steering),
            absolute=True,
        ),
    )


def _below_root(folders: Iterable[str]) -> tuple[str, ...]:
    return tuple(wcglob.escape(folder.strip("/")) for folder in folders if folder.strip("/"))


def deny_list(policy: CompiledPolicy) -> DenyList:
    """The names that a vault view hides and that no tool below `full` may touch."""
    return policy.hidden
