"""What is sent and got about sessions: their rows, their messages, their numbers."""

from typing import Any

from pydantic import Field

from supervisor.api.bodies import Body, Flag, Name, SessionView, View, for_example
from supervisor.money import Dollars
from supervisor.sessions.spoken import Role


class MessageView(View):
    """What was said: `content` is the words alone, `blocks` all of it."""

    id: str
    role: Role
    content: str
    blocks: list[dict[str, Any]]
    timestamp: str
    model: str | None = None


class SessionWithMessagesView(SessionView):
    """A session with a page of what was said in it, the latest last.

    `before` is the cursor of the page before; null: this one begins with the first message.
    """

    messages: tuple[MessageView, ...] = ()
    before: str | None = None
    notes: tuple[str, ...] = Field(
        (), description="What couldn't be read: `torn_last_line`, `unreadable_lines`"
    )


class SessionChangeBody(Body):
    """What is to change; what is left out stays. `tags` replaces all of them.

    A `title` of null takes it away.
    """

    model_config = for_example(title="May", tags=["plans"])

    title: Name | None = Field(None, max_length=500)
    archived: Flag | None = None
    tags: list[Name] | None = Field(None, max_length=100)


class ClearBody(Body):
    """Which session is deleted."""

    model_config = for_example(sessionId="0d8f6a1e-6f2c-4d0b-9c3e-2f5f1f0f9a11")

    session_id: str


class ArchivedView(View):
    """Whether a session is put away."""

    id: str
    archived: bool


class DeletedView(View):
    """A session that is gone; `transcript_deleted`: its transcript too."""

    id: str
    deleted: bool = True
    transcript_deleted: bool = False


class SessionCountsView(View):
    """How many sessions there are; `running`: in which a turn runs."""

    total: int
    active: int
    archived: int
    running: int


class TagView(View):
    """A tag, and how many sessions have it."""

    tag: str
    sessions: int


class SpentView(View):
    """What sessions have used, and what was paid for it in US dollars: nothing for a script."""

    sessions: int
    tokens: int
    cost_usd: Dollars


class WaitingCountsView(View):
    """What waits for a person now."""

    permissions: int
    questions: int


class DayView(View):
    """A day of UTC: the turns that ended on it, by how, what they had used and what was paid."""

    day: str
    turns: dict[str, int]
    tokens: int
    cost_usd: Dollars


class StatsView(View):
    """Numbers of this supervisor; memory in MiB."""

    sessions: SessionCountsView
    sessions_by_trust: dict[str, int]
    turns: dict[str, int]
    """By how they ended, and those that are `running`."""
    spent_by_model: dict[str, SpentView]
    """Of the sessions that are there, by the model that each asks for."""
    days: list[DayView]
    """Today and those before it, the newest last, a day without a turn too."""
    waiting: WaitingCountsView
    grants: int
    tags: list[TagView]
    memory_mib: float
    uptime_seconds: float
