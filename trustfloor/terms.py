"""What may come along with a message."""

from collections.abc import Sequence
from typing import TypedDict

from supervisor.trust.levels import TrustLevel
from trustfloor.wire import File


class Terms(TypedDict, total=False):
    """Each as the API has it; what is left out, or None, is up to the session or the supervisor.

    `key` makes it the same message when it is sent again; left out, each is a new one.
    """

    session_id: str | None
    workspace: str | None
    trust_level: TrustLevel | str | None
    working_directory: str | None
    model: str | None
    system_prompt: str | None
    agent_path: str | None
    initial_context: str | None
    attachments: Sequence[File]
    key: str | None
