"""When an earlier conversation can't be taken up, and from where its transcript counts after that.

A transcript holds what a sandbox said, and a CLI may be unable to go on from it: it says that there
is none, or reads without end, or runs out of memory. The session goes on all the same: the agent is
told what was said, as text, and what it then says is taken up from there on. The earlier lines stay
where they are and are shown as before; no CLI is handed them again.
"""

from collections.abc import Mapping
from typing import Any, Final

from supervisor.errors import AgentProcessFailed, ModelFailed, SandboxOutOfMemory
from supervisor.trust.levels import TrustLevel

NOT_TAKEN_UP: Final = "conversation_not_taken_up"
"""The code of the warning."""
MOST_TAKEN_UP: Final = 256 * 1024 * 1024
"""Bytes of a transcript that are handed to a CLI; of a longer one, what was said is told."""
PATIENCE_SECONDS: Final = 60.0
"""How long a CLI that takes up a conversation may be silent towards the model."""

_LOCAL: Final = "resumes_from"
_SANDBOXED: Final = "resumes_from_sandboxed"
_MAY_LIE_IN_IT: Final = (AgentProcessFailed, SandboxOutOfMemory, ModelFailed)


def key_of(level: TrustLevel) -> str:
    """The key of a session's metadata under which the beginning of this side's is kept."""
    return _SANDBOXED if level is TrustLevel.SANDBOXED else _LOCAL


def begins_at(metadata: Mapping[str, Any], level: TrustLevel) -> int:
    """From which byte on this side's transcript is taken up."""
    kept = metadata.get(key_of(level))
    return kept if isinstance(kept, int) and not isinstance(kept, bool) and kept > 0 else 0


def may_lie_in_the_conversation(ending: object) -> bool:
    """Whether a turn that ended so, before it asked the model anything, may go well without it."""
    return isinstance(ending, _MAY_LIE_IN_IT)


def not_taken_up(why: str) -> str:
    """What the person is told."""
    return (
        f"the earlier conversation could not be taken up ({why}); the agent was told what was said"
        " in it, without tool calls and their results"
    )


TOO_LONG: Final = f"it is above {MOST_TAKEN_UP >> 20} MiB"
