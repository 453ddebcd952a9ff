"""Where a session's conversation began, as it is stored and told."""

from enum import StrEnum


class SessionSource(StrEnum):
    """Where a session's conversation began."""

    PARACHUTE = "parachute"
    """Here, or in the earlier program whose name stays in its records."""
    CLAUDE_CODE = "claude-code"
    CLAUDE = "claude"
    CHATGPT = "chatgpt"
